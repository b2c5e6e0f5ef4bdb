//! `pollux sessions rescue`.

use super::catalog::Catalog;
use crate::config::Config;
use crate::report::{self, human::count};
use crate::trouble::Trouble;
use anyhow::Context;
use dialoguer::Confirm;
use pollux_agent::gemini::transcript::rescue::{Rescued, rescue};
use pollux_agent::gemini::transcript::store::{Risk, Session};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(
    after_help = "At its next start, Gemini CLI 0.47 and later deletes a resumed session together with the empty stub file that \
    the resume left behind. A rescue copies the session and moves the stub away, so that Gemini CLI does not find it.\n\n\
    Example:\n  pollux sessions rescue --all --yes"
)]
pub(crate) struct Rescue {
    /// Session ID, unique prefix, or `latest` (the most recently changed session); default: all sessions at risk
    #[arg(value_name = "ID")]
    session: Option<String>,
    /// Back up all sessions at risk (the default)
    #[arg(long, conflicts_with = "session")]
    all: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    /// Directory for the copies
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What was done for one session.
#[derive(Debug, Serialize)]
struct Done {
    session_id: String,
    copy: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    stub_removed: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stub_kept_as: Option<PathBuf>,
}

pub(super) fn run(args: &Rescue, config: &Config) -> anyhow::Result<ExitCode> {
    let catalog = Catalog::read(config);
    let chosen: Vec<&Session> = match &args.session {
        Some(wanted) => vec![catalog.named(wanted, config)?],
        None => catalog.sessions.iter().filter(|session| session.risk.is_some()).collect(),
    };
    if chosen.is_empty() {
        report::note("no sessions at risk");
    } else if !args.yes {
        ask(&chosen)?;
    }
    let aside = args.to.clone().unwrap_or_else(|| config.data.join("rescued"));
    let mut done = Vec::new();
    for session in chosen {
        done.push(save(session, &aside, args.json)?);
    }
    if args.json {
        report::json(&done)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what will be done, and does not go on without a yes.
fn ask(sessions: &[&Session]) -> anyhow::Result<()> {
    for session in sessions {
        let title = session.digest.title().unwrap_or("(empty)");
        let what = match &session.risk {
            Some(Risk::Stub(stub)) => {
                format!("at risk; copy it and move the stub {} away", stub.display())
            }
            Some(Risk::Overwritten) => {
                "at risk; copy it while the file still has its earlier records".to_owned()
            }
            None => "not at risk; copy it anyway".to_owned(),
        };
        report::note(&format!("{}  {title}\n  {what}", session.short_id()));
    }
    let hint = "pass `--yes` to skip the confirmation";
    if !report::can_ask() {
        return Err(Trouble::refused("not_confirmed", "cannot ask for confirmation: no terminal")
            .hint(hint)
            .into());
    }
    let question = format!("Rescue {}?", count(sessions.len() as u64, "session"));
    if !Confirm::new().with_prompt(question).default(false).interact()? {
        return Err(Trouble::refused("not_confirmed", "cancelled; nothing was copied")
            .hint(hint)
            .into());
    }
    Ok(())
}

fn save(session: &Session, aside: &Path, quiet: bool) -> anyhow::Result<Done> {
    let Rescued { copy, stub } = rescue(session, aside).with_context(|| {
        Trouble::failed("rescue_failed", format!("could not back up session {}", session.id)).hint(
            format!("nothing was removed; check permissions and free space in {}", aside.display()),
        )
    })?;
    if !quiet {
        report::note(&format!("{}  copied to {}", session.short_id(), copy.display()));
        if let Some((stub, moved)) = &stub {
            let moved = moved.display();
            report::note(&format!("          moved the stub {} to {moved}", stub.display()));
        }
    }
    let (stub_removed, stub_kept_as) = stub.unzip();
    Ok(Done { session_id: session.id.clone(), copy, stub_removed, stub_kept_as })
}
