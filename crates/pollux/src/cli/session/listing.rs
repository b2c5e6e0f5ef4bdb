//! `pollux ls`.

use crate::api::Summary;
use crate::client::Client;
use crate::config::Config;
use crate::report;
use crate::report::human::{ago, now};
use crate::report::table::{Align, Cell, Table, printable};
use anstyle::{AnsiColor, Style};
use pollux_agent::model::SessionStatus;
use std::io::Write;
use std::process::ExitCode;

const SHOWN: usize = 30;
const MOST: usize = 1000;

/// List sessions, including those that Pollux did not start
///
/// `--all` adds ended sessions, and those found only in Gemini CLI's session files.
/// `pollux sessions list` reads these files directly.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Ls {
    /// Include ended sessions
    #[arg(long, short)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print only IDs
    #[arg(long, short)]
    quiet: bool,
}

pub(super) async fn run(args: Ls, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config).await?;
    let mut sessions = client.sessions(MOST).await?;
    if !args.all {
        sessions.retain(|session| session.status != SessionStatus::Exited);
    }
    if args.json {
        report::json(&sessions)?;
    } else if args.quiet {
        let ids: Vec<String> = sessions.iter().map(|session| printable(&session.id)).collect();
        report::text(&ids.join("\n"))?;
    } else {
        table(&sessions, args.all)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn table(sessions: &[Summary], all: bool) -> anyhow::Result<()> {
    let dim = Style::new().dimmed();
    let mut table = Table::new(&[
        ("id", Align::Left),
        ("status", Align::Left),
        ("mode", Align::Left),
        ("title", Align::Flexible),
        ("activity", Align::Flexible),
        ("updated", Align::Left),
    ])
    .less_needed(&["activity", "mode", "updated"]);
    let window = report::width().map_or(usize::MAX, |_| SHOWN);
    for session in sessions.iter().take(window) {
        let short = session.id.get(..8).unwrap_or(&session.id);
        let updated = ago(session.updated_at.as_millisecond(), now());
        table.row(vec![
            Cell::styled(short, AnsiColor::Cyan.on_default()),
            status(session),
            session.mode.upstream().into(),
            session.title.as_deref().unwrap_or("-").into(),
            Cell::styled(session.activity.as_deref().unwrap_or("-"), dim),
            Cell::styled(updated, dim),
        ]);
    }
    let mut out = report::out();
    table.write(&mut out, Some(report::table_width()))?;
    out.flush()?;
    if sessions.len() > window {
        let more = sessions.len() - window;
        report::note(&format!(
            "… and {more} more; `pollux ls --json` lists all of them, and so does a pipe"
        ));
    }
    if sessions.is_empty() {
        let (running, more) = if all {
            ("", "")
        } else {
            ("running ", ", or list ended ones with `pollux ls --all`")
        };
        report::note(&format!("no {running}sessions; start one with `pollux new`{more}"));
    }
    Ok(())
}

/// What it does, and since when where it does not go on.
pub(super) fn status(session: &Summary) -> Cell {
    let (text, colour) = match session.status {
        SessionStatus::Starting => ("starting", AnsiColor::Blue),
        SessionStatus::Idle => ("idle", AnsiColor::Green),
        SessionStatus::Working => ("working", AnsiColor::Yellow),
        SessionStatus::Waiting => ("waiting", AnsiColor::Magenta),
        SessionStatus::Error => ("error", AnsiColor::Red),
        SessionStatus::Exited => ("exited", AnsiColor::BrightBlack),
    };
    let unwritten = session.unwritten_since.map(|since| ("log outage", since));
    let stalled = session.stalled_since.map(|since| ("stalled", since));
    match unwritten.or(stalled) {
        Some((what, since)) => {
            let age = ago(since.as_millisecond(), now());
            Cell::styled(format!("{what}, {age}"), AnsiColor::Red.on_default())
        }
        None => Cell::styled(text, colour.on_default()),
    }
}
