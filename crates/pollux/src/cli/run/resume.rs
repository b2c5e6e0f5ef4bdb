//! Going on with a session without losing it.
//!
//! From 0.47 on a resumed session is deleted by the next start of the CLI, together with the stub that the resume has
//! left; resumed in the minute in which it was made, it loses what its messages held. So a copy is kept first, the
//! minute is waited for, and the stub is moved out of the CLI's sight.

use super::refused;
use crate::cli::sessions::catalog::Catalog;
use crate::config::Config;
use crate::report;
use pollux_agent::gemini::cli::{Cli, Version};
use pollux_agent::gemini::transcript::rescue::rescue;
use pollux_agent::gemini::transcript::store::{Kind, Risk};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Since this version the names of session files that fall into one minute clash.
const CLASHES: Version = Version::new(0, 39, 0);

/// A session that is gone on with.
#[derive(Debug)]
pub(in crate::cli) struct Kept {
    pub(in crate::cli) id: String,
    pub(in crate::cli) file: PathBuf,
    gemini: PathBuf,
    cwd: PathBuf,
}

impl Kept {
    /// Finds the session, and keeps a copy of it.
    pub(in crate::cli) async fn new(
        wanted: &str,
        cwd: &Path,
        config: &Config,
        cli: &Cli,
    ) -> anyhow::Result<Self> {
        let here = Config { cwd: cwd.to_path_buf(), ..config.clone() };
        let catalog = Catalog::read(&here).of_project(Some(cwd), &here);
        let session = catalog.find(wanted)?;
        if session.kind != Kind::Main {
            let message = format!("the session `{}` cannot be gone on with", session.id);
            return Err(refused("not_resumable", message, "nobody has said anything in it"));
        }
        rescue(session, &config.data.join("rescued"))?;
        let kept = Self {
            id: session.id.clone(),
            file: session.file.path.clone(),
            gemini: config.gemini.clone(),
            cwd: cwd.to_path_buf(),
        };
        if cli.at_least(CLASHES) {
            kept.wait_for_the_next_minute().await;
        }
        Ok(kept)
    }

    async fn wait_for_the_next_minute(&self) {
        let name = self.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let minute = |now: jiff::Timestamp| now.strftime("session-%Y-%m-%dT%H-%M-").to_string();
        let mut told = false;
        while name.starts_with(&minute(jiff::Timestamp::now())) {
            if !told {
                report::quiet(
                    "the session was made in this very minute; going on with it now would damage it: waiting",
                );
                told = true;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// The run is over: takes away what would make the next start of the CLI delete the session.
    pub(in crate::cli) fn settle(&self, config: &Config) {
        let here = Config { cwd: self.cwd.clone(), gemini: self.gemini.clone(), ..config.clone() };
        let catalog = Catalog::read(&here);
        let at_risk = catalog
            .sessions
            .iter()
            .find(|session| session.id == self.id && matches!(session.risk, Some(Risk::Stub(_))));
        let Some(session) = at_risk else { return };
        if let Err(error) = rescue(session, &config.data.join("rescued")) {
            let advice = format!("`pollux sessions rescue {}`", self.id);
            report::warn(&format!("the session is at risk ({error}): {advice}"));
        }
    }
}
