//! `pollux sessions stats`.

use super::catalog::Catalog;
use crate::config::Config;
use crate::report;
use crate::report::human::{count, day, grouped, short};
use crate::report::table::{Align, Cell, Table};
use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use pollux_agent::gemini::models::context_window;
use pollux_agent::gemini::transcript::digest::{Calls, QUARTER_HOUR_MS, Spent};
use pollux_agent::gemini::transcript::store::{Kind, Session};
use pollux_agent::model::Usage;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// How wide the longest bar is.
const BAR: u64 = 12;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each token is counted once, even if the answer was rewound or the session has several files. Subagent sessions \
    count separately. `total` is Gemini's own total: input (including cached), output, thoughts and tool.\n\n\
    Examples:\n  pollux sessions stats --by day\n  pollux sessions stats latest"
)]
pub(crate) struct Stats {
    /// Show only this session: ID, unique prefix, or `latest` (the most recently changed session)
    #[arg(value_name = "ID|latest")]
    session: Option<String>,
    /// Group the totals by this
    #[arg(long, value_enum, default_value_t = By::Model)]
    by: By,
    /// Count only this project directory's sessions
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum By {
    Model,
    Project,
    Day,
    Tool,
}

/// The sums of one row, or of all.
#[derive(Debug, Default, Serialize)]
struct Row {
    sessions: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_failures: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_cancelled: Option<u64>,
}

impl Row {
    fn spend(&mut self, spent: &Spent) {
        *self.answers.get_or_insert(0) += spent.answers;
        *self.usage.get_or_insert_default() += spent.usage;
    }

    fn call(&mut self, calls: Calls) {
        *self.tool_calls.get_or_insert(0) += calls.calls;
        *self.tool_failures.get_or_insert(0) += calls.failed;
        *self.tool_cancelled.get_or_insert(0) += calls.cancelled;
    }

    fn add(&mut self, other: &Self) {
        let add = |sum: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                *sum.get_or_insert(0) += more;
            }
        };
        self.sessions += other.sessions;
        add(&mut self.messages, other.messages);
        add(&mut self.answers, other.answers);
        add(&mut self.tool_calls, other.tool_calls);
        add(&mut self.tool_failures, other.tool_failures);
        add(&mut self.tool_cancelled, other.tool_cancelled);
        if let Some(usage) = other.usage {
            *self.usage.get_or_insert_default() += usage;
        }
    }

    /// What the bar shows.
    fn size(&self) -> u64 {
        self.usage.map_or(self.tool_calls.unwrap_or(0), |usage| usage.total_tokens)
    }
}

/// How full the model's window is.
#[derive(Debug, Serialize)]
struct Context {
    model: Option<String>,
    used_tokens: u64,
    window_tokens: Option<u64>,
    percent: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Report {
    by: By,
    rows: Vec<Keyed>,
    total: Row,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<Context>,
}

#[derive(Debug, Serialize)]
struct Keyed {
    key: String,
    #[serde(flatten)]
    row: Row,
}

pub(super) fn run(args: &Stats, config: &Config) -> anyhow::Result<ExitCode> {
    let catalog = Catalog::read(config).of_project(args.project.as_deref(), config);
    let sessions: Vec<&Session> = match &args.session {
        Some(wanted) => vec![catalog.named(wanted, config)?],
        None => catalog.sessions.iter().filter(|session| session.kind != Kind::Stub).collect(),
    };
    if sessions.is_empty() && !args.json {
        return Ok(report::nothing(&catalog.nothing_of(args.project.as_deref())));
    }
    let report = Report {
        by: args.by,
        rows: rows(args.by, &sessions),
        total: total(&sessions),
        context: args.session.as_ref().and_then(|_| context(sessions.first()?)),
    };
    if args.json {
        report::json(&report)?;
    } else {
        print(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn total(sessions: &[&Session]) -> Row {
    let mut total =
        Row { sessions: sessions.len() as u64, usage: Some(Usage::default()), ..Row::default() };
    total.answers = Some(0);
    total.call(Calls::default());
    for session in sessions {
        *total.messages.get_or_insert(0) += session.digest.messages;
        session.digest.spent.iter().for_each(|spent| total.spend(spent));
        session.digest.tools.values().for_each(|calls| total.call(*calls));
    }
    total
}

fn rows(by: By, sessions: &[&Session]) -> Vec<Keyed> {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for session in sessions {
        for (key, row) in rows_of(by, session) {
            rows.entry(key).or_default().add(&row);
        }
    }
    let mut rows: Vec<Keyed> = rows.into_iter().map(|(key, row)| Keyed { key, row }).collect();
    if by != By::Day {
        rows.sort_by_key(|keyed| std::cmp::Reverse(keyed.row.size()));
    }
    rows
}

/// What one session adds to each row.
fn rows_of(by: By, session: &Session) -> BTreeMap<String, Row> {
    let digest = &session.digest;
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    let mut spend = |key: String, spent: &Spent| rows.entry(key).or_default().spend(spent);
    match by {
        By::Model => digest.spent.iter().for_each(|spent| spend(model(spent), spent)),
        By::Day => {
            digest
                .spent
                .iter()
                .for_each(|spent| spend(day(spent.quarter * QUARTER_HOUR_MS), spent));
        }
        By::Tool => {
            for (tool, calls) in &digest.tools {
                rows.entry(tool.clone()).or_default().call(*calls);
            }
        }
        By::Project => {
            rows.insert(session.project_name(), total(&[session]));
        }
    }
    for row in rows.values_mut() {
        row.sessions = 1;
    }
    rows
}

fn model(spent: &Spent) -> String {
    if spent.model.is_empty() { "(unknown)".to_owned() } else { spent.model.clone() }
}

#[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
fn context(session: &Session) -> Option<Context> {
    let used_tokens = session.digest.context?;
    let model = session.digest.model.clone();
    let window_tokens = model.as_deref().and_then(context_window);
    let percent =
        window_tokens.map(|window| (used_tokens as f64 / window as f64 * 1000.0).round() / 10.0);
    Some(Context { model, used_tokens, window_tokens, percent })
}

fn print(report: &Report) -> anyhow::Result<()> {
    let mut out = report::out();
    let (name, mut table) = match report.by {
        By::Tool => ("tool", tool_table(&report.rows)),
        By::Model => ("model", token_table("model", report)),
        By::Project => ("project", token_table("project", report)),
        By::Day => ("day", token_table("day", report)),
    };
    if report.rows.is_empty() {
        report::note(&format!("no totals by {name}"));
    } else {
        if report.by != By::Tool && report.rows.len() > 1 {
            table.row(token_row("total", &report.total, 0, Style::new().bold()));
        }
        table.write(&mut out, report::width())?;
        writeln!(out)?;
    }
    let total = &report.total;
    writeln!(
        out,
        "{}, {}, {} ({} failed, {} cancelled), {} tokens",
        count(total.sessions, "session"),
        count(total.messages.unwrap_or(0), "message"),
        count(total.tool_calls.unwrap_or(0), "tool call"),
        grouped(total.tool_failures.unwrap_or(0)),
        grouped(total.tool_cancelled.unwrap_or(0)),
        grouped(total.size()),
    )?;
    if let Some(context) = &report.context {
        let of = match (context.window_tokens, context.percent) {
            (Some(window), Some(percent)) => format!(" of {} ({percent}%)", grouped(window)),
            _ => " (size of the context window unknown)".to_owned(),
        };
        writeln!(out, "context: {} tokens{of}", grouped(context.used_tokens))?;
    }
    Ok(out.flush()?)
}

fn token_table(name: &'static str, report: &Report) -> Table {
    let mut table = Table::new(&[
        (name, Align::Flexible),
        ("sessions", Align::Right),
        ("answers", Align::Right),
        ("input", Align::Right),
        ("cached", Align::Right),
        ("output", Align::Right),
        ("thoughts", Align::Right),
        ("tool", Align::Right),
        ("total", Align::Right),
        ("", Align::Spare),
    ])
    .less_needed(&["answers", "sessions", "", "tool", "thoughts", "cached"]);
    let largest = report.rows.iter().map(|keyed| keyed.row.size()).max().unwrap_or(0);
    for keyed in &report.rows {
        table.row(token_row(&keyed.key, &keyed.row, largest, Style::new()));
    }
    table
}

fn token_row(key: &str, row: &Row, largest: u64, style: Style) -> Vec<Cell> {
    let usage = row.usage.unwrap_or_default();
    let number = |number: u64| Cell::styled(short(number), style);
    vec![
        Cell::styled(key, style),
        number(row.sessions),
        number(row.answers.unwrap_or(0)),
        number(usage.input_tokens),
        number(usage.cached_tokens),
        number(usage.output_tokens),
        number(usage.thoughts_tokens),
        number(usage.tool_tokens),
        number(usage.total_tokens),
        bar(row.size(), largest),
    ]
}

fn tool_table(rows: &[Keyed]) -> Table {
    let mut table = Table::new(&[
        ("tool", Align::Flexible),
        ("sessions", Align::Right),
        ("calls", Align::Right),
        ("failed", Align::Right),
        ("cancelled", Align::Right),
        ("", Align::Spare),
    ])
    .less_needed(&["sessions", "cancelled"]);
    let largest = rows.iter().map(|keyed| keyed.row.size()).max().unwrap_or(0);
    for Keyed { key, row } in rows {
        table.row(vec![
            key.clone().into(),
            short(row.sessions).into(),
            short(row.tool_calls.unwrap_or(0)).into(),
            short(row.tool_failures.unwrap_or(0)).into(),
            short(row.tool_cancelled.unwrap_or(0)).into(),
            bar(row.size(), largest),
        ]);
    }
    table
}

/// A bar as long as a number is large, at least a sliver where there is anything.
fn bar(value: u64, largest: u64) -> Cell {
    let scaled = u128::from(value) * u128::from(BAR);
    let length = if largest == 0 { 0 } else { scaled.div_ceil(u128::from(largest)) };
    Cell::styled("█".repeat(usize::try_from(length).unwrap_or(0)), AnsiColor::Blue.on_default())
}
