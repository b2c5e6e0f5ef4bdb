//! What happens in a session, for those who asked: as words, as events, or as a story for those who only look.

use crate::cli::question;
use crate::render::clean;
use crate::report;
use clap::ValueEnum;
use pollux_agent::gemini::terminal::is_prompt;
use pollux_agent::model::{
    Event, EventKind, Level, Part, Question, Role, SessionStatus, StopReason,
};
use std::collections::HashMap;
use std::io::Write;

/// Output format
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Format {
    /// The agent's messages, each when it is complete
    Text,
    /// Every event as it happens, one JSON object per line
    Events,
    /// A few lines for a person who watches
    #[value(skip)]
    Story,
    /// Nothing until the end, then one object
    #[value(skip)]
    Kept,
}

/// How a turn came to its end, or to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Rest {
    Done(StopReason),
    /// It waits for a prompt, and no turn has ended.
    Idle,
    Asked,
    Exited,
}

/// Tells events.
#[derive(Debug)]
pub(in crate::cli) struct Teller {
    format: Format,
    /// What was printed of each message: one is recorded again when more is known of it.
    said: HashMap<String, String>,
    /// What was seen to be said since the last message, or since the last line of a story.
    text: String,
    /// True where a message of the agent was told.
    heard: bool,
    awaits: Awaits,
    /// True where what the agent says is of the turn that is waited for.
    speaks: bool,
    /// The prompt whose turn is waited for, where another turn may end before it.
    own: Option<String>,
    /// What was said, in its order, for those who are told at the end.
    kept: Vec<String>,
}

/// Of what the end is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Awaits {
    /// Of whatever there is.
    Rest,
    /// Of a turn that has yet to begin: what comes before it is of another one.
    Turn,
    /// Of a command, which may begin a turn.
    Command,
}

impl Teller {
    pub(in crate::cli) fn new(format: Format) -> Self {
        Self {
            format,
            said: HashMap::new(),
            text: String::new(),
            heard: false,
            awaits: Awaits::Rest,
            speaks: true,
            own: None,
            kept: Vec::new(),
        }
    }

    /// For those who wait: in words, or in one object at the end.
    pub(in crate::cli) fn waiting(output: Option<Format>, json: bool) -> Self {
        let format = if json { Format::Kept } else { Format::Text };
        Self::new(output.unwrap_or(format))
    }

    /// From now on this is waited for.
    pub(in crate::cli) fn awaits(&mut self, what: Awaits) {
        self.awaits = what;
        self.speaks = what == Awaits::Rest;
    }

    /// The turn that is waited for is that of this prompt, where it stands behind another one's.
    pub(in crate::cli) fn queued(&mut self, prompt: Option<String>) {
        self.own = prompt;
    }

    fn is_own(&self, prompt: &str) -> bool {
        self.own.as_ref().is_none_or(|own| is_prompt(prompt, own))
    }

    /// All that was said.
    pub(in crate::cli) fn answer(&self) -> String {
        self.kept.join("\n")
    }

    /// True where a message of the agent was told.
    pub(in crate::cli) fn has_heard(&self) -> bool {
        self.heard
    }

    /// Tells one event. Gives how the agent came to rest, where it did.
    pub(in crate::cli) fn event(&mut self, event: &Event<'_>) -> anyhow::Result<Option<Rest>> {
        let old = self.is_old(event);
        if let EventKind::MessageRecorded { message, .. } = &event.kind {
            let speaks = message.role == Role::Assistant && !message.blocks().is_empty();
            self.heard |= speaks && !old;
        }
        match self.format {
            Format::Events => {
                let mut out = report::raw();
                report::line(&mut out, event)?;
                out.flush()?;
            }
            Format::Text | Format::Kept if old => self.pass_over(event),
            Format::Text | Format::Kept => self.words(event)?,
            Format::Story => self.story(event),
        }
        Ok(self.rest(event))
    }

    /// Whether an event is of another turn, or an old message that is told again.
    fn is_old(&mut self, event: &Event<'_>) -> bool {
        match &event.kind {
            EventKind::TurnStarted { prompt } if self.is_own(&prompt.to_str()) => {
                (self.awaits, self.speaks, self.own) = (Awaits::Rest, true, None);
            }
            EventKind::MessageRecorded { message, changed } => {
                let asks = message.role == Role::User && !changed && !message.meta;
                self.speaks |= asks && self.is_own(&message.text());
                // One that is only changed, and was not told here, was said before.
                let told = self.said.contains_key(message.id.to_str().as_ref());
                return !self.speaks || message.copied || (*changed && !told);
            }
            _ => {}
        }
        matches!(event.kind, EventKind::TurnEnded { .. }) && !self.speaks
    }

    /// An old message is not news when it is told once more.
    fn pass_over(&mut self, event: &Event<'_>) {
        if let EventKind::MessageRecorded { message, .. } = &event.kind {
            self.said.insert(message.id.to_string(), message.text());
        }
    }

    /// How the agent came to rest by this, where it did.
    fn rest(&self, event: &Event<'_>) -> Option<Rest> {
        match &event.kind {
            EventKind::TurnEnded { stop_reason, .. } if self.awaits == Awaits::Rest => {
                Some(Rest::Done(*stop_reason))
            }
            EventKind::Asked(_) => Some(Rest::Asked),
            EventKind::SessionChanged(change) => match change.status? {
                SessionStatus::Exited => Some(Rest::Exited),
                // The end of a turn is told before.
                SessionStatus::Idle | SessionStatus::Error if self.awaits != Awaits::Turn => {
                    Some(Rest::Idle)
                }
                _ => None,
            },
            _ => None,
        }
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
            EventKind::TurnEnded { .. } => report::quiet("  turn ended"),
            _ => {}
        }
    }

    fn words(&mut self, event: &Event<'_>) -> anyhow::Result<()> {
        match &event.kind {
            EventKind::TextGrew { part: Part::Text, text, .. } if self.speaks => {
                self.text.push_str(&text.to_str());
            }
            EventKind::MessageRecorded { message, .. } if message.role == Role::Assistant => {
                if !message.blocks().is_empty() {
                    self.text.clear();
                }
                let text = message.text();
                let told = self.said.entry(message.id.to_string()).or_default();
                if text.trim().is_empty() || *told == text {
                    return Ok(());
                }
                told.clone_from(&text);
                self.say(text)?;
            }
            EventKind::TurnEnded { stop_reason: StopReason::Cancelled, .. } => self.break_off()?,
            EventKind::Asked(asked) => question(asked),
            EventKind::Notice { level: Level::Warning, text } => report::warn(&clean(text)),
            EventKind::TurnEnded { error: Some(error), .. } => report::failure(error),
            _ => {}
        }
        Ok(())
    }
}

impl Teller {
    fn say(&mut self, text: String) -> anyhow::Result<()> {
        if self.format == Format::Kept {
            self.kept.push(text);
            return Ok(());
        }
        let mut out = report::out();
        writeln!(out, "{}", clean(text.trim_end()))?;
        out.flush()?;
        Ok(())
    }

    /// Tells what was seen of an answer where nothing of it was recorded, and nothing more will be.
    pub(in crate::cli) fn only_seen(&mut self) -> anyhow::Result<()> {
        let seen = std::mem::take(&mut self.text);
        let told = matches!(self.format, Format::Text | Format::Kept);
        if self.heard || !told || seen.trim().is_empty() {
            return Ok(());
        }
        self.say(seen.trim().to_owned())
    }

    /// The turn was stopped in the middle of an answer: the agent keeps nothing of that, so what was seen of it is told.
    fn break_off(&mut self) -> anyhow::Result<()> {
        let seen = std::mem::take(&mut self.text);
        if !is_news(&seen, self.said.values()) {
            return Ok(());
        }
        report::quiet(BROKEN_OFF);
        self.say(seen.trim().to_owned())
    }
}

/// What is said of an answer whose turn was stopped: the screen has it without its marks, and broken into rows.
pub(in crate::cli) const BROKEN_OFF: &str =
    "the turn was stopped during an answer; this is the partial text";

/// Whether something was seen that nobody has written down, blanks aside.
pub(in crate::cli) fn is_news<'s>(seen: &str, mut said: impl Iterator<Item = &'s String>) -> bool {
    let squeezed = |text: &str| text.split_whitespace().collect::<String>();
    let seen = squeezed(seen);
    !seen.is_empty() && !said.any(|said| squeezed(said).contains(&seen))
}

/// A question, and what can be answered.
pub(super) fn question(question: &Question<'_>) {
    for line in question::lines(question) {
        report::note(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, Rest, Teller};
    use pollux_agent::model::{Event, EventKind, Part, Source, StopReason, Text};

    #[test]
    fn what_was_only_seen_is_told_once_the_turn_is_over() {
        let mut teller = Teller::new(Format::Kept);
        let grew = |text: &'static str| EventKind::TextGrew {
            part: Part::Text,
            text: Text::from(text),
            message_id: None,
        };
        let ended = EventKind::TurnEnded {
            stop_reason: StopReason::EndTurn,
            duration_ms: None,
            tool_calls: None,
            error: None,
        };
        let mut rest = None;
        for kind in [grew("a "), grew("word"), ended] {
            rest = teller.event(&Event::new(Source::Acp, kind)).unwrap();
        }
        assert_eq!(rest, Some(Rest::Done(StopReason::EndTurn)));
        teller.only_seen().unwrap();
        assert_eq!(teller.answer(), "a word");
    }
}
