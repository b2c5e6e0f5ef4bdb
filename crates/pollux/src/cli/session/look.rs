//! Commands that look: show, logs, search.

use super::listing;
use crate::api::{Events, Found, Messages, Numbered, Search as Hits, Summary};
use crate::cli::complete::ids;
use crate::client::{Client, escaped, follow_text};
use crate::config::Config;
use crate::render::clean;
use crate::report;
use crate::report::table::{Align, Table, printable};
use crate::trouble::Trouble;
use clap_complete::ArgValueCompleter;
use pollux_agent::model::SessionStatus;
use serde::Deserialize;
use serde_json::Value;
use std::io::Write;
use std::process::ExitCode;

/// Show a session: status, messages, open questions, queued prompts
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// Session ID, unique prefix, or `latest` (the most recently active session, preferably a running one)
    #[arg(add = ArgValueCompleter::new(ids))]
    session: String,
    /// Number of latest messages to show
    #[arg(long, default_value_t = 5)]
    messages: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn show(args: Show, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config).await?;
    let id = client.session(&args.session).await?.id;
    let path = format!("/api/v1/sessions/{}/messages?limit={}", escaped(&id), args.messages.max(1));
    let page: Messages = client.get(&path).await?;
    let summary = client.session(&id).await?;
    if args.json {
        report::json(&serde_json::json!({ "session": summary, "messages": page.messages }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = report::out();
    writeln!(out, "{}  {}", printable(&summary.id), clean(summary.title.as_deref().unwrap_or("")))?;
    head(&summary).write(&mut out, report::width().or(Some(120)))?;
    for recorded in &page.messages {
        let message: Value = if recorded.cut.is_empty() {
            serde_json::from_str(recorded.message.get())?
        } else {
            let whole: Value = serde_json::from_str(&client.event(&id, recorded.seq).await?)?;
            whole["message"].clone()
        };
        if message["meta"] != true
            && let Some(said) = said(&message)
        {
            writeln!(out, "\n{said}")?;
        }
    }
    for open in &summary.questions {
        let question: Value = serde_json::from_str(open.question.get())?;
        let asked = question["text"].as_str().unwrap_or_default();
        writeln!(
            out,
            "\nquestion: {}  (`pollux answer {}`)",
            clean(asked),
            printable(&summary.id)
        )?;
    }
    if summary.status == SessionStatus::Exited
        && let Some(why) = super::ended::why(&client, &summary).await?
    {
        writeln!(out, "\nended: {}", clean(&why))?;
    }
    for queued in &summary.queue {
        writeln!(out, "\nqueued: {}", clean(&queued.text))?;
    }
    Ok(out.flush().map(|()| ExitCode::SUCCESS)?)
}

fn head(summary: &Summary) -> Table {
    let mut table = Table::new(&[
        ("status", Align::Left),
        ("mode", Align::Left),
        ("model", Align::Left),
        ("messages", Align::Right),
        ("directory", Align::Flexible),
    ])
    .less_needed(&["messages", "model"]);
    let place = summary.cwd.as_ref().map(|cwd| cwd.display().to_string()).unwrap_or_default();
    table.row(vec![
        listing::status(summary),
        summary.mode.upstream().into(),
        summary.model.clone().unwrap_or_else(|| "-".into()).into(),
        summary.messages.to_string().into(),
        place.into(),
    ]);
    table
}

/// A message in a few lines; none where it says nothing.
fn said(message: &Value) -> Option<String> {
    let mut lines = Vec::new();
    lines.extend(message["content"].as_str().map(clean));
    for block in message["content"].as_array().into_iter().flatten() {
        match block["type"].as_str() {
            Some("text") => lines.extend(block["text"].as_str().map(clean)),
            Some("tool_use") => {
                let name = clean(block["name"].as_str().unwrap_or("?"));
                lines.push(format!("  [{name}]").into());
            }
            _ => {}
        }
    }
    lines.retain(|line| !line.trim().is_empty());
    // A call stands on a line of its own, also where it comes first.
    let begin = if lines.first()?.starts_with("  [") { "\n" } else { " " };
    let role = message["role"].as_str().unwrap_or("?");
    Some(format!("{role}:{begin}{}", lines.join("\n")))
}

/// Print a session's events, one JSON object per line
#[derive(Debug, clap::Args)]
pub(crate) struct Logs {
    /// Session ID, unique prefix, or `latest` (the most recently active session, preferably a running one)
    #[arg(add = ArgValueCompleter::new(ids))]
    session: String,
    /// Keep printing new events
    #[arg(long, short)]
    follow: bool,
    /// Print only events after this sequence number
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
    /// Print only the last N events
    #[arg(long, short = 'n', value_name = "N")]
    tail: Option<u64>,
    /// Print JSON
    #[arg(long, hide = true)]
    json: bool,
}

pub(super) async fn logs(args: Logs, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config).await?;
    let summary = client.session(&args.session).await?;
    let id = summary.id;
    let mut after = match (args.after, args.tail) {
        (after, Some(tail)) => after.unwrap_or(0).max(summary.seq.saturating_sub(tail)),
        (after, None) => after.unwrap_or(0),
    };
    let mut out = report::raw();
    let epoch = loop {
        let path = format!("/api/v1/sessions/{}/events?after={after}", escaped(&id));
        let page: Events = client.get(&path).await?;
        for event in &page.events {
            report::line(&mut out, event)?;
            after = event.seq;
        }
        if page.events.is_empty() || after >= page.seq {
            break page.epoch;
        }
    };
    out.flush()?;
    if !args.follow {
        return Ok(ExitCode::SUCCESS);
    }
    let mut over = false;
    follow_text(&client, &id, Some((after, epoch)), |frame| {
        let Ok(frame) = serde_json::from_str::<Frame>(frame) else { return Ok(true) };
        for event in &frame.events {
            report::line(&mut out, event)?;
        }
        out.flush()?;
        // A session that does nothing has only heartbeats, and nothing to find out by that nobody reads.
        over = report::is_unread()
            || frame.session.is_some_and(|now| now.status == SessionStatus::Exited);
        Ok(!over)
    })
    .await?;
    // Whoever follows is told that they follow no more.
    if over { Ok(ExitCode::SUCCESS) } else { Err(client.gone().into()) }
}

/// A frame, as far as it is of use here: its events as they are in the log, to the byte.
#[derive(Deserialize)]
struct Frame {
    #[serde(default)]
    events: Vec<Numbered>,
    session: Option<Now>,
}

#[derive(Deserialize)]
struct Now {
    status: SessionStatus,
}

/// Search the daemon's sessions (for all Gemini CLI files: `sessions search`)
///
/// The daemon records the sessions that it runs, and other sessions once you have opened them in Pollux.
/// `pollux sessions search` searches all Gemini CLI session files on this machine.
#[derive(Debug, clap::Args)]
pub(crate) struct Search {
    /// Words to search for; the last one may be a prefix
    #[arg(required = true)]
    words: Vec<String>,
    /// Maximum number of matches
    #[arg(long, default_value_t = 20)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn search(args: Search, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config).await?;
    let words = escaped(&args.words.join(" "));
    let hits: Hits = client.get(&format!("/api/v1/search?q={words}&limit={}", args.limit)).await?;
    if args.json {
        report::json(&hits.found)?;
    } else {
        let line = |found: &Found| {
            let id = printable(&found.session_id);
            let short = id.get(..8).unwrap_or(&id);
            format!("{short}  {:>6}  {}\n", found.seq, clean(&found.snippet))
        };
        report::text(&hits.found.iter().map(line).collect::<String>())?;
        if hits.found.is_empty() {
            let trouble = Trouble::refused("nothing_found", "no matches");
            let hint =
                "`pollux sessions search` searches all Gemini CLI session files on this machine";
            return Ok(report::nothing(&trouble.hint(hint)));
        }
    }
    Ok(ExitCode::SUCCESS)
}
