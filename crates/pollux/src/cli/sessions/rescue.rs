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
    after_help = "From 0.47 on, Gemini CLI deletes a resumed session at its next start, together with the stub that the \
    resume left behind. A rescue copies the session aside and moves the stub out of the CLI's sight.\n\n\
    Example:\n  pollux sessions rescue --all --yes"
)]
pub(crate) struct Rescue {
    /// The session to save: its id, the beginning of it, or `latest`; without one, all that are at risk
    #[arg(value_name = "ID")]
    session: Option<String>,
    /// All sessions at risk, as without an ID
    #[arg(long, conflicts_with = "session")]
    all: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Where the copies go
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// An array of what was done
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
        report::note("no session is at risk");
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
        let title = session.digest.title().unwrap_or("(nothing said)");
        let what = match &session.risk {
            Some(Risk::Stub(stub)) => {
                format!("copy it aside, move away the stub {}", stub.display())
            }
            Some(Risk::Overwritten) => {
                "copy it aside; its earlier records are still in it".to_owned()
            }
            None => "not at risk; copy it aside all the same".to_owned(),
        };
        report::note(&format!("{}  {title}\n  {what}", session.short_id()));
    }
    let hint = "`--yes` goes on without asking";
    if !report::can_ask() {
        return Err(Trouble::refused("not_confirmed", "there is nobody to ask").hint(hint).into());
    }
    let question = format!("Rescue {}?", count(sessions.len() as u64, "session"));
    if !Confirm::new().with_prompt(question).default(false).interact()? {
        return Err(Trouble::refused("not_confirmed", "nothing was done").hint(hint).into());
    }
    Ok(())
}

fn save(session: &Session, aside: &Path, quiet: bool) -> anyhow::Result<Done> {
    let Rescued { copy, stub } = rescue(session, aside).with_context(|| {
        Trouble::failed("rescue_failed", format!("could not rescue {}", session.id))
            .hint(format!("nothing was removed; is there room in {}?", aside.display()))
    })?;
    if !quiet {
        report::note(&format!("{}  copied to {}", session.short_id(), copy.display()));
        if let Some((stub, _)) = &stub {
            report::note(&format!("          the stub {} is gone from there", stub.display()));
        }
    }
    let (stub_removed, stub_kept_as) = stub.unzip();
    Ok(Done { session_id: session.id.clone(), copy, stub_removed, stub_kept_as })
}
