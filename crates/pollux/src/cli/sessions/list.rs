//! `pollux sessions list`.

use super::catalog::Catalog;
use crate::config::Config;
use crate::report;
use crate::report::human::{ago, count, now, short};
use crate::report::table::{Align, Cell, Table};
use anstyle::{AnsiColor, Style};
use pollux_agent::gemini::transcript::Format;
use pollux_agent::gemini::transcript::store::{Kind, Risk, Session};
use pollux_agent::model::{At, Usage};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How many sessions a window shows, unless told otherwise.
const SHOWN: usize = 30;

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(
    after_help = "Examples:\n  pollux sessions list --project .\n  pollux sessions list --json | jq '.[0]'"
)]
pub(crate) struct List {
    /// List only this project directory's sessions
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Include empty and subagent sessions; no row limit
    #[arg(long)]
    all: bool,
    /// Maximum number of sessions (default in a terminal: 30)
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Include subagent sessions
    #[arg(long)]
    subagents: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A session in the JSON list.
#[derive(Debug, Serialize)]
struct Entry<'s> {
    session_id: &'s str,
    project: String,
    path: &'s Path,
    title: Option<&'s str>,
    started_at: Option<At>,
    updated_at: At,
    messages: u64,
    model: Option<&'s str>,
    usage: Usage,
    kind: Kind,
    format: Format,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'s str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_risk: Option<&'static str>,
}

pub(super) fn run(args: &List, config: &Config) -> anyhow::Result<ExitCode> {
    let catalog = Catalog::read(config).of_project(args.project.as_deref(), config);
    let kinds: &[Kind] = match (args.all, args.subagents) {
        (true, _) => &[Kind::Main, Kind::Subagent, Kind::Stub],
        (false, true) => &[Kind::Main, Kind::Subagent],
        (false, false) => &[Kind::Main],
    };
    let catalog = catalog.only(kinds);
    let window = if args.all || args.json { None } else { report::width().map(|_| SHOWN) };
    let limit = args.limit.or(window).unwrap_or(usize::MAX);
    let shown: Vec<&Session> = catalog.sessions.iter().take(limit).collect();
    if args.json {
        report::json(&shown.iter().map(|session| entry(session)).collect::<Vec<_>>())?;
    } else if shown.is_empty() && args.limit != Some(0) {
        return Ok(report::nothing(&catalog.nothing_of(args.project.as_deref())));
    } else {
        table(&shown, catalog.sessions.len())?;
    }
    // The program ends here: to give back each string of thousands of sessions first takes a tenth of its time.
    std::mem::forget(catalog);
    Ok(ExitCode::SUCCESS)
}

fn entry(session: &Session) -> Entry<'_> {
    Entry {
        session_id: &session.id,
        project: session.project_name(),
        path: &session.file.path,
        title: session.digest.title(),
        started_at: session.digest.started_at.map(At),
        updated_at: At(session.updated_at()),
        messages: session.digest.messages,
        model: session.digest.model.as_deref(),
        usage: session.digest.usage(),
        kind: session.kind,
        format: session.digest.format,
        parent: session.file.parent.as_deref(),
        at_risk: session.risk.as_ref().map(risk),
    }
}

fn risk(risk: &Risk) -> &'static str {
    match risk {
        Risk::Stub(_) => "stub",
        Risk::Overwritten => "overwritten",
    }
}

fn table(sessions: &[&Session], all: usize) -> anyhow::Result<()> {
    let dim = Style::new().dimmed();
    let alarm = AnsiColor::Red.on_default().bold();
    let mut table = Table::new(&[
        ("id", Align::Left),
        ("project", Align::Flexible),
        ("title", Align::Flexible),
        ("messages", Align::Right),
        ("model", Align::Flexible),
        ("tokens", Align::Right),
        ("updated", Align::Left),
    ])
    .less_needed(&["project", "model", "messages", "tokens"]);
    let now = now();
    for session in sessions {
        let title = session.digest.title().unwrap_or("(empty)");
        let title = match (&session.risk, session.kind) {
            (Some(_), _) => Cell::styled(format!("at risk: {title}"), alarm),
            (None, Kind::Subagent) => Cell::styled(format!("↳ {title}"), dim),
            (None, Kind::Stub) => Cell::styled(title, dim),
            (None, Kind::Main) => title.into(),
        };
        table.row(vec![
            Cell::styled(session.short_id(), AnsiColor::Cyan.on_default()),
            Cell::styled(home_shortened(&session.project_name()), dim),
            title,
            session.digest.messages.to_string().into(),
            session.digest.model.as_deref().unwrap_or("-").into(),
            short(session.digest.usage().total_tokens).into(),
            Cell::styled(ago(session.updated_at(), now), dim),
        ]);
    }
    let mut out = report::out();
    table.write(&mut out, Some(report::table_width()))?;
    out.flush()?;
    footer(sessions, all);
    Ok(())
}

/// The project's last two directories tell it apart; a hash says nothing after its first characters.
fn home_shortened(project: &str) -> String {
    let is_hash = project.len() == 64 && project.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash {
        return format!("{}…", project.get(..8).unwrap_or(project));
    }
    let names: Vec<&str> = project.rsplit('/').take(2).collect();
    match names.as_slice() {
        [last, above] if !above.is_empty() => format!("{above}/{last}"),
        _ => project.to_owned(),
    }
}

fn footer(sessions: &[&Session], all: usize) {
    if sessions.len() < all {
        report::note(&format!("… and {} more; `--limit N` shows more", all - sessions.len()));
    }
    let endangered = sessions.iter().filter(|session| session.risk.is_some()).count();
    if endangered > 0 {
        let sessions = count(endangered as u64, "session");
        report::warn(&format!(
            "{sessions} at risk: Gemini CLI may delete session data at its next start in that project; \
             back it up with `pollux sessions rescue --all`"
        ));
    }
}
