//! A session in the formats that people and other programs read: text for a terminal, markdown, one HTML page, the
//! messages as JSON, and Claude Code's rows.
//!
//! Everything here is a pure function into a writer. Text that a model or a tool wrote is hostile until shown
//! otherwise: [`clean()`] takes out what a terminal would obey, `html` what a browser would.

mod clean;
mod html;
mod markdown;
mod piece;
mod redact;
mod text;

use crate::report::human::grouped;
use pollux_agent::claude;
use pollux_agent::model::{Agent, Level, Message, Role, Usage};
use std::borrow::Borrow;
use std::fmt;
use std::io::{self, Write};

pub use clean::clean;
pub(crate) use html::escape;
pub use redact::redact;

/// How a session is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Format {
    /// For a terminal
    Text,
    /// The array of messages
    Json,
    /// The transcript rows of Claude Code, as JSONL
    Claude,
    /// A markdown document
    Markdown,
    /// One self-contained page
    Html,
}

impl Format {
    /// What the name of a file of this format ends with, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Text => "txt",
            Self::Json => "json",
            Self::Claude => "jsonl",
            Self::Markdown => "md",
            Self::Html => "html",
        }
    }
}

/// What stands above the messages.
#[derive(Debug, Clone, Copy, Default)]
pub struct Header<'h> {
    /// The id of the session; of a subagent, that of the session which called it.
    pub session_id: &'h str,
    /// The id of the subagent whose messages these are.
    pub agent_id: Option<&'h str>,
    /// The summary, or the first words of the person.
    pub title: Option<&'h str>,
    /// What it was about, in the model's words.
    pub summary: Option<&'h str>,
    /// Where the session ran.
    pub project: Option<&'h str>,
    /// The model that answered.
    pub model: Option<&'h str>,
    /// In milliseconds since 1970.
    pub started_at: Option<i64>,
    /// In milliseconds since 1970.
    pub updated_at: Option<i64>,
    /// What the session cost.
    pub usage: Usage,
}

/// What is shown, and how.
#[derive(Clone, Copy)]
pub struct Options<'o> {
    /// What the model thought is shown.
    pub thinking: bool,
    /// What no person wrote although it stands under the person's name is shown.
    pub meta: bool,
    /// How a time, in milliseconds since 1970, is written.
    pub clock: &'o dyn Fn(i64) -> String,
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { thinking, meta, clock: _ } = self;
        f.debug_struct("Options")
            .field("thinking", thinking)
            .field("meta", meta)
            .finish_non_exhaustive()
    }
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { thinking: false, meta: false, clock: &local_time }
    }
}

/// A time where the reader is, to the second.
pub fn local_time(milliseconds: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(milliseconds).unwrap_or_default();
    time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Writes a session in a format.
pub fn write(
    format: Format,
    header: &Header<'_>,
    messages: &[Message<'_>],
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::Text => text::write(header, messages, options, out),
        Format::Json => json(messages.iter(), out),
        Format::Claude => claude_rows(header, messages, out),
        Format::Markdown => markdown::write(header, messages, options, out),
        Format::Html => html::write(header, messages, options, out),
    }
}

/// Writes messages for a terminal, without what stands above a session.
pub fn text(
    messages: &[Message<'_>],
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    text::messages(messages, options, out)
}

/// Writes messages as an array, one on each line, as they come.
pub fn json<'m>(
    messages: impl Iterator<Item = impl Borrow<Message<'m>>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut empty = true;
    for message in messages {
        out.write_all(if empty { b"[\n" } else { b",\n" })?;
        message.borrow().write_json(out)?;
        empty = false;
    }
    out.write_all(if empty { b"[]\n" } else { b"\n]\n" })
}

/// Claude Code's rows, one on each line.
fn claude_rows(
    header: &Header<'_>,
    messages: &[Message<'_>],
    out: &mut dyn Write,
) -> io::Result<()> {
    let session = claude::Session {
        session_id: header.session_id,
        agent_id: header.agent_id,
        cwd: header.project,
        summary: header.summary,
    };
    let mut line = Vec::new();
    for row in claude::rows(&session, messages) {
        line.clear();
        serde_json::to_writer(&mut line, &row)?;
        line.push(b'\n');
        out.write_all(&line)?;
    }
    Ok(())
}

/// The messages that are shown.
fn shown<'m>(
    messages: &'m [Message<'m>],
    options: &Options<'_>,
) -> impl Iterator<Item = &'m Message<'m>> + use<'m> {
    let meta = options.meta;
    messages.iter().filter(move |message| meta || !message.meta)
}

/// Who speaks, in one word.
fn speaker(message: &Message<'_>) -> &'static str {
    match (message.role, message.level, message.tool) {
        (Role::User, ..) if message.meta => "Context",
        (Role::User, ..) => "You",
        (Role::Assistant, _, Agent::Gemini) => "Gemini",
        (Role::Assistant, _, Agent::Other) => "Agent",
        (Role::System, None, _) => "Notice",
        (Role::System, Some(Level::Warning), _) => "Warning",
        (Role::System, Some(Level::Error), _) => "Error",
    }
}

/// What a reader has to know about where a message comes from: it was dropped from the conversation, or parts of it
/// were lost and are from an earlier version of it.
fn provenance(message: &Message<'_>) -> Option<String> {
    // Times and counts come back in silence: nobody reads the wrong thing because of them.
    let told =
        message.restored.iter().filter(|field| !matches!(**field, "timestamp" | "usage" | "model"));
    let told: Vec<String> = told.map(|field| field.replace('_', " ")).collect();
    match (message.recovered, told.is_empty()) {
        (false, true) => None,
        (true, true) => Some("recovered".to_owned()),
        (false, false) => Some(format!("restored: {}", told.join(", "))),
        (true, false) => Some(format!("recovered; restored: {}", told.join(", "))),
    }
}

/// The lines of the header: a name and a value.
fn facts(header: &Header<'_>, options: &Options<'_>) -> Vec<(&'static str, String)> {
    let time = |time: Option<i64>| time.map(options.clock);
    let text = |text: Option<&str>| text.map(|text| clean(text).into_owned());
    let facts = [
        ("session", text(Some(header.session_id).filter(|id| !id.is_empty()))),
        ("subagent", text(header.agent_id)),
        ("project", text(header.project)),
        ("model", text(header.model)),
        ("started", time(header.started_at)),
        ("updated", time(header.updated_at)),
        ("tokens", tokens(&header.usage)),
    ];
    facts.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect()
}

/// What a session cost, in words; nothing where nobody counted.
fn tokens(usage: &Usage) -> Option<String> {
    let parts = [
        (usage.input_tokens, "in"),
        (usage.cached_tokens, "cached"),
        (usage.output_tokens, "out"),
        (usage.thoughts_tokens, "thoughts"),
        (usage.tool_tokens, "tool"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> =
        parts.map(|(count, what)| format!("{} {what}", grouped(*count))).collect();
    let total = grouped(usage.total_tokens);
    (usage.total_tokens > 0).then(|| format!("{total} ({})", parts.join(", ")))
}

/// The title, on one line.
fn title(header: &Header<'_>) -> String {
    let title = header.title.or(header.summary).unwrap_or("Session");
    let words: Vec<&str> = title.split_whitespace().collect();
    let title = words.join(" ");
    piece::cut(&clean(if title.is_empty() { "Session" } else { &title }), 120).into_owned()
}
