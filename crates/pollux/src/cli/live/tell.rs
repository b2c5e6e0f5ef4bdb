//! What happens in a session, for those who asked: as words, as events, or as a story for those who only look.

use crate::render::clean;
use crate::report;
use clap::ValueEnum;
use pollux_agent::model::{
    Event, EventKind, Level, Part, Question, Role, SessionStatus, StopReason,
};
use std::collections::HashMap;
use std::io::Write;

/// How what happens is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Format {
    /// What the agent says, when it has said it
    Text,
    /// Every event as it comes, one object on each line
    Events,
    /// A few lines for somebody who looks on
    #[value(skip)]
    Story,
}

/// How a turn came to its end, or to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Rest {
    Done(StopReason),
    Asked,
    Exited,
}

/// Tells events.
#[derive(Debug)]
pub(in crate::cli) struct Teller {
    format: Format,
    /// What was printed of each message: one is recorded again when more is known of it.
    said: HashMap<String, String>,
    /// What was said since the last line of a story.
    text: String,
    /// True where a message of the agent was told.
    heard: bool,
}

impl Teller {
    pub(in crate::cli) fn new(format: Format) -> Self {
        Self { format, said: HashMap::new(), text: String::new(), heard: false }
    }

    /// True where a message of the agent was told.
    pub(in crate::cli) fn has_heard(&self) -> bool {
        self.heard
    }

    /// Tells one event. Gives how the agent came to rest, where it did.
    pub(in crate::cli) fn event(&mut self, event: &Event<'_>) -> anyhow::Result<Option<Rest>> {
        if let EventKind::MessageRecorded { message, .. } = &event.kind {
            self.heard |= message.role == Role::Assistant;
        }
        match self.format {
            Format::Events => {
                let mut out = report::raw();
                report::line(&mut out, event)?;
                out.flush()?;
            }
            Format::Text => self.words(event)?,
            Format::Story => self.story(event),
        }
        Ok(match &event.kind {
            EventKind::TurnEnded { stop_reason, .. } => Some(Rest::Done(*stop_reason)),
            EventKind::Asked(_) => Some(Rest::Asked),
            EventKind::SessionChanged(change) if change.status == Some(SessionStatus::Exited) => {
                Some(Rest::Exited)
            }
            _ => None,
        })
    }

    fn story(&mut self, event: &Event<'_>) {
        match &event.kind {
            EventKind::TextGrew { part: Part::Text, text, .. } => {
                self.text.push_str(&text.to_str());
                return;
            }
            EventKind::ToolStarted { .. } | EventKind::Asked(_) | EventKind::TurnEnded { .. } => {
                let said = std::mem::take(&mut self.text);
                if !said.trim().is_empty() {
                    report::note(&format!("  {}", clean(said.trim())));
                }
            }
            _ => {}
        }
        match &event.kind {
            EventKind::ToolStarted { name, .. } => {
                report::note(&format!("  → {}", clean(&name.to_str())));
            }
            EventKind::Asked(asked) => {
                report::note(&format!("  ? {}", clean(&asked.text.to_str())));
            }
            EventKind::Answered { .. } => report::note("  ✓ answered"),
            EventKind::TurnEnded { .. } => report::quiet("  the turn is over"),
            _ => {}
        }
    }

    fn words(&mut self, event: &Event<'_>) -> anyhow::Result<()> {
        match &event.kind {
            EventKind::MessageRecorded { message, .. } if message.role == Role::Assistant => {
                let text = message.text();
                let told = self.said.entry(message.id.to_string()).or_default();
                if text.trim().is_empty() || *told == text {
                    return Ok(());
                }
                let mut out = report::out();
                writeln!(out, "{}", clean(text.trim_end()))?;
                out.flush()?;
                *told = text;
            }
            EventKind::Asked(asked) => question(asked),
            EventKind::Notice { level: Level::Warning, text } => report::warn(&clean(text)),
            EventKind::TurnEnded { error: Some(error), .. } => report::failure(error),
            _ => {}
        }
        Ok(())
    }
}

/// A question, and what can be answered.
pub(super) fn question(question: &Question<'_>) {
    report::note(&format!("? {}", clean(&question.text.to_str())));
    if let Some(pollux_agent::model::Meaning::Command { command, .. }) = question.meaning.as_deref()
    {
        report::note(&format!("  $ {}", clean(command)));
    }
    for option in &question.options {
        report::note(&format!("  - {}", clean(&option.label.to_str())));
    }
}
