//! `-o claude`: what Claude's own front ends read.

use crate::report;
use pollux_agent::claude::stream::{Ended, Stream};
use pollux_agent::gemini::stream::Outcome;
use pollux_agent::gemini::tools::TOOLS;
use pollux_agent::model::{Event, EventKind, Message, Mode, Role, Source};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

pub(super) struct Claude {
    cwd: String,
    mode: Mode,
    since: Instant,
    stream: Option<Stream>,
    /// Ids of the messages that were told.
    told: Vec<String>,
}

impl Claude {
    pub(super) fn new(cwd: &Path, mode: Mode) -> Self {
        Self {
            cwd: cwd.display().to_string(),
            mode,
            since: Instant::now(),
            stream: None,
            told: Vec::new(),
        }
    }

    pub(super) fn event(&mut self, event: &Event<'_>) -> anyhow::Result<()> {
        match &event.kind {
            EventKind::SessionStarted { session_id, model, .. }
                if matches!(event.source, Source::Stream | Source::Acp) =>
            {
                let model = model.as_ref().map(ToString::to_string);
                self.begin(&session_id.to_str(), model.as_deref().unwrap_or("auto"))
            }
            EventKind::MessageRecorded { message, .. } => self.message(message),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, id: &str, model: &str) -> anyhow::Result<()> {
        let mut stream = Stream::new(id, &self.cwd, self.mode.claude());
        let mut tools: Vec<&str> = TOOLS.iter().filter_map(|tool| tool.claude).collect();
        tools.dedup();
        let line = stream.started(model, &tools);
        self.stream = Some(stream);
        print(&[line])
    }

    fn message(&mut self, message: &Message<'_>) -> anyhow::Result<()> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        self.told.push(message.id.to_string());
        print(&stream.message(message))
    }

    pub(super) fn end(&mut self, outcome: &Outcome) -> anyhow::Result<()> {
        if self.stream.is_none() {
            self.begin(outcome.session_id.as_deref().unwrap_or_default(), "auto")?;
        }
        // What the session file has not: made of the stream.
        for message in &outcome.messages {
            if !self.told.contains(&message.id.to_string()) {
                self.message(message)?;
            }
        }
        let answers = outcome.messages.iter().rev().filter(|m| m.role == Role::Assistant);
        let text = answers.map(Message::text).find(|text| !text.trim().is_empty());
        let model = outcome.model.as_ref().map(ToString::to_string);
        let models: Vec<_> = model.into_iter().map(|model| (model, outcome.usage)).collect();
        let ended = Ended {
            text: text.as_deref().unwrap_or_default(),
            usage: outcome.usage,
            turns: outcome.turns,
            duration_ms: u64::try_from(self.since.elapsed().as_millis()).unwrap_or(0),
            models: &models,
            stop_reason: outcome.stop_reason,
            error: outcome.error.as_ref(),
            ..Ended::default()
        };
        match &mut self.stream {
            Some(stream) => print(&[stream.ended(&ended)]),
            None => Ok(()),
        }
    }
}

fn print(lines: &[serde_json::Value]) -> anyhow::Result<()> {
    let mut out = report::raw();
    for line in lines {
        report::line(&mut out, line)?;
    }
    Ok(out.flush()?)
}
