//! A session of which only events are heard, whichever driver it has, on its way to an editor.

use super::super::dialect::Plain;
use super::history::chunk;
use super::request::{call, content};
use super::{Relay, mode_of};
use crate::model::{
    Answer, Effect, Event, EventKind, Message, Part, Question, Role, Source, Status,
};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Events as updates: words as they grow, or whole where nobody saw them grow.
///
/// ```
/// use pollux_agent::acp::relay::Told;
/// use pollux_agent::model::Event;
///
/// let grew = r#"{"type":"text_grew","part":"text","text":"Hello.","source":"acp"}"#;
/// let told = Told::default().event(&Event::from_json(grew).unwrap());
/// assert_eq!(told[0]["content"]["text"], "Hello.");
/// ```
#[derive(Debug)]
pub struct Told {
    relay: Relay,
    /// True where words were seen growing that are in no message yet.
    grew: bool,
    /// How much was told of each message, and the hash of that.
    said: HashMap<String, (usize, u64)>,
    /// Open questions that belong to no call that is known, each with the choices that turn it down.
    asked: HashMap<String, Vec<String>>,
}

impl Default for Told {
    fn default() -> Self {
        let (said, asked) = (HashMap::new(), HashMap::new());
        Self { relay: Relay::new(Arc::new(Plain)), grew: false, said, asked }
    }
}

impl Told {
    /// The updates that tell of an event. The prompt of a turn is told only where the editor did not send it: by [`prompt`].
    pub fn event(&mut self, event: &Event<'_>) -> Vec<Value> {
        match &event.kind {
            // What stands on a screen is told when it is a message, and then exactly.
            EventKind::TextGrew { .. } if event.source == Source::Screen => Vec::new(),
            EventKind::TextGrew { part, text, .. } => {
                self.grew |= *part == Part::Text;
                let kind = match part {
                    Part::Text => "agent_message_chunk",
                    Part::Thinking => "agent_thought_chunk",
                };
                vec![chunk(kind, &text.to_str())]
            }
            EventKind::ToolStarted { id, name, input, meaning } => {
                let mut call = call(&id.to_str(), &name.to_str(), meaning.as_deref());
                call["rawInput"] = input.to_value();
                self.relay.update(&call)
            }
            EventKind::ToolEnded { id, status, output, error, .. } => {
                let text = error.as_ref().or(output.as_ref()).map(ToString::to_string);
                let end = ended(&id.to_str(), *status, text.as_deref());
                self.relay.update(&end)
            }
            EventKind::Answered { question_id, answer } => {
                self.answered(&question_id.to_str(), answer)
            }
            EventKind::SessionChanged(change) => mode_of(change).into_iter().collect(),
            EventKind::MessageRecorded { message, .. } => {
                let mut told: Vec<Value> = self.words(message).into_iter().collect();
                told.extend(self.relay.event(event));
                told
            }
            EventKind::TurnStarted { .. } => {
                self.grew = false;
                Vec::new()
            }
            _ => self.relay.event(event),
        }
    }

    /// A question is no longer open: what was told as its call is over.
    fn answered(&mut self, question: &str, answer: &Answer<'_>) -> Vec<Value> {
        let Some(rejects) = self.asked.remove(question) else { return Vec::new() };
        let rejected = match answer {
            Answer::Chosen { choice, .. } => rejects.contains(&choice.to_string()),
            Answer::Cancelled => true,
            Answer::Elsewhere => false,
        };
        let status = if rejected { Status::Cancelled } else { Status::Success };
        self.relay.update(&ended(question, status, None))
    }

    /// What a message says that was not told yet.
    fn words(&mut self, message: &Message<'_>) -> Option<Value> {
        if message.role != Role::Assistant {
            return None;
        }
        let text = message.text();
        let told = self.said.entry(message.id.to_string()).or_insert_with(|| (0, hash("")));
        let parts = text.split_at_checked(told.0).filter(|(before, _)| hash(before) == told.1);
        let rest = parts.map(|(_, rest)| rest.to_owned()).unwrap_or_default();
        if !rest.is_empty() {
            *told = (text.len(), hash(&text));
        }
        let grew = !rest.is_empty() && std::mem::take(&mut self.grew);
        (!grew && !rest.trim().is_empty()).then(|| chunk("agent_message_chunk", &rest))
    }

    /// A question: the updates that must be told before it, and the request that asks it.
    pub fn question(&mut self, question: &Question<'_>) -> (Vec<Value>, Value) {
        if question.tool_id.is_none() {
            let no = |effect| matches!(effect, Effect::RejectOnce | Effect::RejectAlways);
            let rejects = question.options.iter().filter(|option| no(option.effect));
            let rejects = rejects.map(|option| option.id.to_string()).collect();
            self.asked.insert(question.id.to_string(), rejects);
        }
        self.relay.question(question)
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// A prompt that the editor did not send.
pub fn prompt(words: &str) -> Value {
    chunk("user_message_chunk", words)
}

fn ended(id: &str, status: Status, text: Option<&str>) -> Value {
    let status = if status == Status::Success { "completed" } else { "failed" };
    let mut end =
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status });
    if let Some(text) = text {
        end["content"] = content(text);
    }
    end
}
