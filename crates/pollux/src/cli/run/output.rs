//! What `pollux run` prints, in four formats.

use super::Format;
use super::claude::Claude;
use super::denials::{Denial, Denials};
use crate::render::clean;
use crate::report::{self, human};
use pollux_agent::gemini::stream::Outcome;
use pollux_agent::gemini::tools::shell;
use pollux_agent::model::{
    Event, EventKind, Failure, Level, Meaning, Message, Mode, Part, Source, Status, StopReason,
    Text, Usage,
};
use serde::Serialize;
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

/// How long a line about a tool or a thought may be.
const LINE: usize = 100;

/// Where the events of a run go.
pub(super) enum Output {
    Text(Words),
    Json(Denials),
    Events,
    Claude(Box<Claude>),
}

/// The state of the answer on the screen.
#[derive(Default)]
pub(super) struct Words {
    /// Whether the last line of what was said is open; nothing where nothing was said.
    open: Option<bool>,
    /// Tools have ended since: what comes next is another answer.
    apart: bool,
    /// The calls that were told of, each with how it was said to have ended.
    calls: HashMap<String, Option<String>>,
}

/// What `-o json` prints.
#[derive(Serialize)]
struct Object<'a> {
    session_id: Option<&'a str>,
    text: &'a str,
    messages: &'a [Message<'static>],
    usage: Usage,
    model: Option<&'a Text<'static>>,
    num_turns: u64,
    stop_reason: Option<StopReason>,
    denials: Vec<Denial>,
    error: Option<&'a Failure>,
    session_file: Option<&'a Path>,
}

impl Output {
    pub(super) fn new(format: Format, cwd: &Path, mode: Mode) -> Self {
        match format {
            Format::Text => Self::Text(Words::default()),
            Format::Json => Self::Json(Denials::default()),
            Format::Events => Self::Events,
            Format::Claude => Self::Claude(Box::new(Claude::new(cwd, mode))),
        }
    }

    /// True where a person reads along.
    pub(super) fn is_for_people(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Json(_))
    }

    pub(super) fn event(&mut self, event: &Event<'_>) -> anyhow::Result<()> {
        match self {
            Self::Text(words) => words.event(event),
            Self::Json(denials) => {
                denials.event(event);
                Ok(())
            }
            Self::Events => {
                let mut out = report::raw();
                report::line(&mut out, event)?;
                Ok(out.flush()?)
            }
            Self::Claude(claude) => claude.event(event),
        }
    }

    /// A remark for the person who waits, on a line of its own.
    pub(super) fn remark(&mut self, text: &str) -> anyhow::Result<()> {
        match self {
            Self::Text(words) => words.aside(text)?,
            _ => report::quiet(text),
        }
        Ok(())
    }

    pub(super) fn end(&mut self, outcome: &Outcome) -> anyhow::Result<()> {
        match self {
            Self::Text(words) => words.end(outcome)?,
            Self::Json(denials) => report::json(&Object {
                session_id: outcome.session_id.as_deref(),
                text: &outcome.text,
                messages: &outcome.messages,
                usage: outcome.usage,
                model: outcome.model.as_ref(),
                num_turns: outcome.turns,
                stop_reason: outcome.stop_reason,
                denials: denials.take(),
                error: outcome.error.as_ref(),
                session_file: outcome.session_file.as_deref(),
            })?,
            Self::Events => unstarted(outcome)?,
            Self::Claude(claude) => claude.end(outcome)?,
        }
        if let Some(failure) = &outcome.error {
            report::failure(failure);
            // Whoever has stopped it may want to go on, and cannot without its name.
            if let Some(id) = &outcome.session_id {
                report::quiet(&format!("· session {id}"));
            }
        }
        Ok(())
    }
}

/// A run that could not be started, or was left in its middle, has no end of its own; how it ended is told all the same.
fn unstarted(outcome: &Outcome) -> anyhow::Result<()> {
    let Some(failure) = outcome.error.as_ref().filter(|_| outcome.turns == 0) else {
        return Ok(());
    };
    if failure.exit_code.is_some() || failure.signal.is_some() {
        return Ok(());
    }
    let kind = EventKind::TurnEnded {
        stop_reason: outcome.stop_reason.unwrap_or(StopReason::Error),
        duration_ms: None,
        tool_calls: None,
        error: Some(Box::new(failure.clone())),
    };
    let mut out = report::raw();
    report::line(&mut out, &Event::new(Source::Pollux, kind))?;
    Ok(out.flush()?)
}

impl Words {
    fn event(&mut self, event: &Event<'_>) -> anyhow::Result<()> {
        match &event.kind {
            EventKind::TextGrew { part: Part::Text, text, .. } => self.say(&text.to_str())?,
            EventKind::TextGrew { part: Part::Thinking, text, .. } => {
                self.aside(&format!("∴ {}", cut(&text.to_str())))?;
            }
            EventKind::ToolStarted { id, name, meaning, .. } => {
                self.calls.insert(id.to_string(), None);
                let about = meaning.as_deref().map(headline).unwrap_or_default();
                self.aside(&format!("▸ {} {}", clean(&name.to_str()), cut(&about)))?;
            }
            EventKind::ToolEnded { id, status, meaning, error, changed, .. } => {
                self.apart = true;
                let news = ended(*status, meaning.as_deref(), error.as_ref());
                let told = self.calls.entry(id.to_string()).or_default();
                // A success is told when all of it is known; what was told is not told again.
                let whole = *changed || *status != Status::Success;
                if whole && told.as_ref() != Some(&news) {
                    *told = Some(news.clone());
                    self.aside(&format!("  {news}"))?;
                }
            }
            EventKind::HistoryRewritten { superseded: Some(_), .. } => {
                self.aside("↺ discard the text above: that attempt failed")?;
            }
            EventKind::Notice { level, text } => {
                self.make_room()?;
                match level {
                    Level::Warning => report::warn(&clean(text)),
                    Level::Error => report::quiet(&format!("✗ {}", cut(text))),
                }
            }
            EventKind::Unread { reason, .. } => self.aside(&format!("? {}", cut(reason)))?,
            _ => {}
        }
        Ok(())
    }

    fn say(&mut self, text: &str) -> anyhow::Result<()> {
        let mut out = report::raw();
        if let Some(open) = self.open.filter(|_| self.apart) {
            out.write_all(if open { b"\n\n" } else { b"\n" })?;
        }
        self.apart = false;
        let text = report::as_seen(text);
        out.write_all(text.as_bytes())?;
        self.open = Some(!text.ends_with('\n'));
        Ok(out.flush()?)
    }

    /// A line beside the answer.
    fn aside(&mut self, text: &str) -> anyhow::Result<()> {
        self.make_room()?;
        report::quiet(text);
        Ok(())
    }

    /// Where both are seen on one screen, what is said beside the answer begins a line of its own. A file or a pipe gets the
    /// answer as it was given.
    fn make_room(&mut self) -> anyhow::Result<()> {
        if report::both_are_terminals() { self.end_line() } else { Ok(()) }
    }

    fn end_line(&mut self) -> anyhow::Result<()> {
        if self.open == Some(true) {
            let mut out = report::out();
            out.write_all(b"\n")?;
            out.flush()?;
            self.open = Some(false);
        }
        Ok(())
    }

    fn end(&mut self, outcome: &Outcome) -> anyhow::Result<()> {
        self.end_line()?;
        if outcome.error.is_none() {
            let id = outcome.session_id.as_deref().unwrap_or("none");
            // An agent that does not count says nothing of tokens.
            let tokens = match outcome.usage.total_tokens {
                0 => String::new(),
                tokens => format!("{} tokens · ", human::short(tokens)),
            };
            report::quiet(&format!("· {tokens}session {id}"));
        }
        Ok(())
    }
}

fn cut(text: &str) -> String {
    let line = clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
    report::table::cut(&line, LINE)
}

fn headline(meaning: &Meaning) -> String {
    match meaning {
        Meaning::Command { command, .. } => command.clone(),
        Meaning::Mutation { path, .. } => path.clone(),
        Meaning::Card { title, .. } => title.clone(),
        Meaning::Diff { .. } => String::new(),
    }
}

/// How a call ended, on one line.
fn ended(status: Status, meaning: Option<&Meaning>, error: Option<&Text<'_>>) -> String {
    match (status, meaning) {
        (Status::Cancelled, _) => "⊘ cancelled".to_owned(),
        (Status::Error, _) => {
            let words = error.map(|text| shell::shown(&text.to_str())).unwrap_or_default();
            format!("✗ {}", cut(&words))
        }
        (_, Some(Meaning::Command { exit_code: Some(code), output, .. })) => {
            let mark = if *code == 0 { '✓' } else { '✗' };
            let lines = output.as_ref().map_or(0, |output| output.to_str().lines().count());
            format!("{mark} exit {code} · {}", human::count(lines as u64, "line"))
        }
        (_, Some(Meaning::Mutation { diff: Some(diff), .. })) => {
            let count = |sign: char, head: &str| {
                diff.lines().filter(|l| l.starts_with(sign) && !l.starts_with(head)).count()
            };
            format!("✓ +{} -{}", count('+', "+++"), count('-', "---"))
        }
        _ => "✓".to_owned(),
    }
}
