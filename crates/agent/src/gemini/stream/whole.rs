//! A run as messages, made of the stream alone, for where the session file does not have them; and a whole recording
//! at once.

use super::super::tools;
use super::failure::{End, failure};
use super::fuse::Done;
use super::{Fusion, Translator};
use crate::model::{
    Agent, Block, Content, Event, EventKind, Input, Message, Part, ResultContent, Role, Source,
    Status, StopReason, Text,
};
use std::borrow::Cow;

/// Messages made of the stream alone.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    prompt: Option<Text<'static>>,
    answers: Vec<Answer>,
    /// True where tools have ended, so that what comes next is another answer.
    ended: bool,
}

#[derive(Debug, Default)]
struct Answer {
    text: String,
    calls: Vec<Block<'static>>,
    /// The session file has it.
    recorded: bool,
}

impl Assembly {
    /// Where the next answer will stand.
    pub(super) fn next_answer(&self) -> usize {
        self.answers.len()
    }

    pub(super) fn is_recorded(&mut self, place: usize) {
        if let Some(answer) = self.answers.get_mut(place) {
            answer.recorded = true;
        }
    }

    /// The answer with this call is recorded, whatever else it says.
    pub(super) fn has_recorded_call(&mut self, call: &str) {
        let is_it = |block: &Block<'_>| matches!(block, Block::ToolUse { id, .. } if id == call);
        for answer in self.answers.iter_mut().filter(|answer| answer.calls.iter().any(is_it)) {
            answer.recorded = true;
        }
    }

    pub(super) fn add(&mut self, kind: &EventKind<'static>) {
        match kind {
            EventKind::TurnStarted { prompt } => self.prompt = Some(prompt.clone()),
            EventKind::TextGrew { part: Part::Text, text, .. } => {
                self.current().text.push_str(&text.to_str());
            }
            EventKind::ToolStarted { id, name, input, .. } => {
                let raw = match input {
                    Input::Raw(raw) => Some(raw.as_ref()),
                    Input::Mapped(_) => None,
                };
                let gemini = name.to_str();
                let call = Block::ToolUse {
                    id: id.clone(),
                    input: tools::input(&gemini, raw).into_owned(),
                    name: Cow::Owned(tools::claude_name(Cow::Borrowed(&gemini), None).into_owned()),
                };
                self.current().calls.push(call);
            }
            EventKind::ToolEnded { id, status, output, error, .. } => {
                let content = error.as_ref().or(output.as_ref()).cloned();
                let result = Block::ToolResult {
                    tool_use_id: id.clone(),
                    content: ResultContent::Text(content.unwrap_or_else(|| Text::from(""))),
                    is_error: *status == Status::Error,
                    status: *status,
                };
                if let Some(answer) = self.answers.last_mut() {
                    answer.calls.push(result);
                }
                self.ended = true;
            }
            _ => {}
        }
    }

    fn current(&mut self) -> &mut Answer {
        if self.ended || self.answers.is_empty() {
            self.answers.push(Answer::default());
            self.ended = false;
        }
        let last = self.answers.len() - 1;
        &mut self.answers[last]
    }

    /// The messages that are not recorded: the prompt if it is asked for, and the answers.
    pub(super) fn messages(&self, prompt: bool) -> Vec<Message<'static>> {
        let mut messages = Vec::new();
        if let Some(text) = self.prompt.clone().filter(|_| prompt) {
            messages.push(message(0, Role::User, vec![Block::Text { text }]));
        }
        for (at, answer) in self.answers.iter().enumerate().filter(|(_, answer)| !answer.recorded) {
            let mut blocks = answer.calls.clone();
            if !answer.text.trim().is_empty() {
                blocks.push(Block::Text { text: Text::from(answer.text.clone()) });
            }
            if !blocks.is_empty() {
                messages.push(message(at + 1, Role::Assistant, blocks));
            }
        }
        messages
    }
}

/// A message that no upstream object stands behind.
fn message(number: usize, role: Role, blocks: Vec<Block<'static>>) -> Message<'static> {
    Message {
        id: Text::from(format!("stream#{number}")),
        role,
        content: Content::Blocks(blocks),
        timestamp: None,
        tool: Agent::Gemini,
        model: None,
        usage: None,
        meta: false,
        level: None,
        restored: Vec::new(),
        copied: false,
        recovered: false,
        original: Cow::Borrowed("null"),
    }
}

/// The events of a recorded run: its stream, the session file of the same run if there is one, and how it ended.
pub fn whole(
    stream: &str,
    session: Option<&[u8]>,
    exit: Option<i32>,
    stderr: &str,
) -> (Vec<Event<'static>>, Vec<Message<'static>>) {
    let mut translator = Translator::default();
    let mut fusion = Fusion::default();
    let mut out = Vec::new();
    for line in stream.split('\n') {
        let mut events = Vec::new();
        translator.line(line, &mut events);
        for event in events {
            fusion.stream(event.into_owned(), &mut out);
        }
    }
    for event in session.map(crate::gemini::transcript::events).unwrap_or_default() {
        fusion.session(event, &mut out);
    }
    let end = End { code: exit, signal: None, told: translator.told(), stderr, stopped: None };
    let wrong = failure(&end);
    let done = if wrong.is_some() { Done::Failed } else { Done::Succeeded };
    fusion.finish(session.is_some(), done, &mut out);
    out.push(turn_ended(&translator, None, wrong));
    (out, fusion.messages())
}

/// The end of a recorded run of which nothing is known but its stream; none where its last line is not there.
pub fn ended(translator: &Translator) -> Option<Event<'static>> {
    let told = translator.told();
    told.result.as_ref()?;
    let end = End { code: None, signal: None, told, stderr: "", stopped: None };
    Some(turn_ended(translator, None, failure(&end)).derived("result line"))
}

/// The event that ends a turn.
pub(super) fn turn_ended(
    translator: &Translator,
    stopped: Option<StopReason>,
    error: Option<crate::model::Failure>,
) -> Event<'static> {
    let (duration_ms, tool_calls) = translator.figures();
    let stop_reason = match (&error, stopped) {
        (_, Some(reason)) => reason,
        (Some(error), None) if error.code == "max_turns" => StopReason::MaxTurns,
        (Some(_), None) => StopReason::Error,
        (None, None) => StopReason::EndTurn,
    };
    let kind =
        EventKind::TurnEnded { stop_reason, duration_ms, tool_calls, error: error.map(Box::new) };
    Event::new(Source::Pollux, kind).derived("result line, exit code, stderr")
}
