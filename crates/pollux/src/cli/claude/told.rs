//! What is printed: words, one object, or lines as they come.

use super::desk::print;
use super::open::Opened;
use super::setup::{Format, alone};
use crate::cli::sessions::export;
use crate::report;
use pollux_agent::claude::control::User;
use pollux_agent::claude::permission::Use;
use pollux_agent::claude::stream::{Ended, Stream};
use pollux_agent::gemini::tools::TOOLS;
use pollux_agent::model::{
    Event, EventKind, Failure, Message, Mode, Outcome, Part, Role, StopReason, Usage,
};
use serde_json::Value;
use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// What is printed of a session.
pub(super) struct Told {
    format: Format,
    stream: Stream,
    since: Instant,
    /// The messages of this turn that were told.
    messages: HashSet<String>,
    /// The tokens of each model since the session was opened.
    models: Vec<(String, Usage)>,
    /// A mode that only Claude has a name for.
    mode_name: Option<&'static str>,
    failed: bool,
    transcript: Option<Transcript>,
}

/// Where the session is written as Claude's transcript when it is over.
struct Transcript {
    to: PathBuf,
    id: String,
    cwd: PathBuf,
    file: Option<PathBuf>,
}

impl Told {
    pub(super) fn new(opened: &Opened) -> Self {
        let Opened { setup, id, cwd, .. } = opened;
        let stream = Stream::new(id, &cwd.display().to_string(), setup.mode_name);
        let stream = stream.servers(&setup.servers.names());
        let to = setup.transcripts.clone();
        Self {
            format: setup.output,
            stream: if setup.partial { stream.partial() } else { stream },
            since: Instant::now(),
            messages: HashSet::new(),
            models: Vec::new(),
            mode_name: alone(setup.mode_name),
            failed: false,
            transcript: to.map(|to| Transcript {
                to,
                id: id.clone(),
                cwd: cwd.clone(),
                file: None,
            }),
        }
    }

    /// From now on it is in a mode that only Claude has a name for, or in one of the agent's again.
    pub(super) fn set_mode_name(&mut self, name: Option<&'static str>) {
        self.mode_name = name;
    }

    fn lines(&self, lines: &[Value]) -> anyhow::Result<()> {
        if self.format == Format::Stream { print(lines) } else { Ok(()) }
    }

    /// A turn begins.
    pub(super) fn begin(&mut self, mode: Mode, model: Option<&str>) -> anyhow::Result<()> {
        self.since = Instant::now();
        self.messages.clear();
        self.stream.set_mode(self.mode_name.unwrap_or(mode.claude()));
        let mut tools: Vec<&str> = TOOLS.iter().filter_map(|tool| tool.claude).collect();
        tools.sort_unstable();
        tools.dedup();
        let line = self.stream.started(model.unwrap_or("auto"), &tools);
        self.lines(&[line])
    }

    /// A prompt, told back.
    pub(super) fn replay(&mut self, user: &User) -> anyhow::Result<()> {
        let line = self.stream.replayed(&user.blocks, user.uuid.as_deref());
        self.lines(&[line])
    }

    /// Something that the caller should know.
    pub(super) fn notice(&mut self, level: &str, text: &str) -> anyhow::Result<()> {
        let line = self.stream.notice(level, text);
        self.lines(&[line])?;
        if self.format != Format::Stream {
            report::warn(text);
        }
        Ok(())
    }

    pub(super) fn event(&mut self, event: &Event<'_>) -> anyhow::Result<()> {
        match &event.kind {
            EventKind::TextGrew { part, text, .. } => self.grew(*part, &text.to_str()),
            EventKind::ToolEnded { .. } => {
                self.stream.tool_ended();
                Ok(())
            }
            EventKind::MessageRecorded { message, .. } => self.message(message),
            // That the session file has nothing of a call that was not made is no news.
            EventKind::Notice { text, .. } if self.stream.is_about_denied(text) => Ok(()),
            EventKind::Notice { text, .. } => self.notice("warning", text),
            _ => Ok(()),
        }
    }

    fn grew(&mut self, part: Part, text: &str) -> anyhow::Result<()> {
        let lines = self.stream.grew(part, text);
        self.lines(&lines)
    }

    fn message(&mut self, message: &Message<'_>) -> anyhow::Result<()> {
        self.messages.insert(message.id.to_string());
        let lines = self.stream.message(message);
        self.lines(&lines)
    }

    /// A call that was turned down.
    pub(super) fn denied(&mut self, of: &Use, why: &str) -> anyhow::Result<()> {
        let lines = self.stream.denied(of, why);
        self.lines(&lines)
    }

    /// A prompt that the agent was not given.
    pub(super) fn failed(&mut self, failure: &Failure) -> anyhow::Result<()> {
        let outcome = Outcome {
            stop_reason: Some(StopReason::Error),
            error: Some(failure.clone()),
            ..Outcome::default()
        };
        self.ended(Some(outcome), &[])
    }

    /// A turn is over.
    pub(super) fn ended(
        &mut self,
        outcome: Option<Outcome>,
        denials: &[Value],
    ) -> anyhow::Result<()> {
        let outcome = outcome.unwrap_or_default();
        // What the session file has not: made of what was heard.
        for message in &outcome.messages {
            if !self.messages.contains(&message.id.to_string()) {
                self.message(message)?;
            }
        }
        let closed = self.stream.closed();
        self.lines(&closed)?;
        self.count(&outcome);
        if let (Some(transcript), Some(file)) = (&mut self.transcript, &outcome.session_file) {
            transcript.file = Some(file.clone());
        }
        let answers = outcome.messages.iter().rev().filter(|m| m.role == Role::Assistant);
        let text = answers.map(Message::text).find(|text| !text.trim().is_empty());
        let text = text.unwrap_or_default();
        let line = self.stream.ended(&Ended {
            text: &text,
            usage: outcome.usage,
            turns: outcome.turns,
            duration_ms: u64::try_from(self.since.elapsed().as_millis()).unwrap_or(0),
            models: &self.models,
            denials,
            stop_reason: outcome.stop_reason,
            error: outcome.error.as_ref(),
        });
        self.failed = outcome.error.is_some();
        match (self.format, &outcome.error) {
            (Format::Text, None) => report::answer(&text)?,
            (Format::Text, Some(failure)) => report::failure(failure),
            (Format::Json | Format::Stream, _) => print(&[line])?,
        }
        Ok(())
    }

    /// The tokens of each model since the session was opened.
    fn count(&mut self, outcome: &Outcome) {
        for message in &outcome.messages {
            let Some(usage) = message.usage else { continue };
            let model =
                message.model.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string);
            match self.models.iter_mut().find(|(known, _)| *known == model) {
                Some((_, sum)) => *sum += usage,
                None => self.models.push((model, usage)),
            }
        }
    }

    /// The exit code: that of the last turn where there is one only, as `claude -p` has it.
    pub(super) fn code(&self) -> ExitCode {
        ExitCode::from(u8::from(self.failed))
    }

    /// Writes the transcript, if one is wanted.
    pub(super) fn keep(&self) -> anyhow::Result<()> {
        let Some(Transcript { to, id, cwd, file: Some(file) }) = &self.transcript else {
            return Ok(());
        };
        export::transcript(file, id, cwd, to)
    }
}

/// What is printed where there is no session.
pub(super) fn not_started(format: Format, failure: &Failure) -> anyhow::Result<()> {
    if format == Format::Text {
        return Ok(());
    }
    let mut stream = Stream::new("", "", Mode::Default.claude());
    let ended =
        Ended { error: Some(failure), stop_reason: Some(StopReason::Error), ..Ended::default() };
    print(&[stream.ended(&ended)])
}
