//! A session of which only events are heard, whichever driver it has, on its way to an editor.

use super::super::dialect::Plain;
use super::history::chunk;
use super::{Relay, mode_of};
use crate::model::{
    Answer, Effect, Event, EventKind, Meaning, Message, Part, Question, Role, Source, Status,
};
use serde_json::{Value, json};
use std::collections::HashMap;
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
    /// What was told of each message.
    said: HashMap<String, String>,
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
        let told = self.said.entry(message.id.to_string()).or_default();
        let rest = text.strip_prefix(told.as_str()).unwrap_or_default().to_owned();
        if !rest.is_empty() {
            *told = text;
        }
        let grew = !rest.is_empty() && std::mem::take(&mut self.grew);
        (!grew && !rest.trim().is_empty()).then(|| chunk("agent_message_chunk", &rest))
    }

    /// A question: the updates that must be told before it, and the request that asks it.
    pub fn question(&mut self, question: &Question<'_>) -> (Vec<Value>, Value) {
        let id = question.tool_id.as_ref().unwrap_or(&question.id).to_str();
        let name = question.tool.as_ref().map(ToString::to_string).unwrap_or_default();
        let mut call = call(&id, &name, question.meaning.as_deref());
        if question.meaning.is_none() {
            call["title"] = json!(question.text);
        }
        call["status"] = json!("pending");
        if question.tool_id.is_none() {
            let no = |effect| matches!(effect, Effect::RejectOnce | Effect::RejectAlways);
            let rejects = question.options.iter().filter(|option| no(option.effect));
            let rejects = rejects.map(|option| option.id.to_string()).collect();
            self.asked.insert(question.id.to_string(), rejects);
        }
        let option = |option: &crate::model::Choice<'_>| json!({ "optionId": option.id, "name": option.label, "kind": effect(option.effect) });
        // The protocol has no place for words with an answer.
        let offered = question.options.iter().filter(|option| option.effect != Effect::Words);
        let options: Vec<Value> = offered.map(option).collect();
        self.relay.asked(&json!({ "toolCall": call, "options": options }));
        self.relay.question().unwrap_or_default()
    }
}

/// A prompt that the editor did not send.
pub fn prompt(words: &str) -> Value {
    chunk("user_message_chunk", words)
}

fn call(id: &str, name: &str, meaning: Option<&Meaning>) -> Value {
    let (kind, title, shown) = match meaning {
        Some(Meaning::Command { command, .. }) => ("execute", command.as_str(), None),
        Some(Meaning::Mutation { path, diff, .. }) => ("edit", path.as_str(), diff.as_ref()),
        Some(Meaning::Card { title, .. }) => ("search", title.as_str(), None),
        Some(Meaning::Diff { diff, .. }) => ("edit", name, Some(diff)),
        None => ("other", name, None),
    };
    let mut call = json!({
        "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": kind, "status": "in_progress",
    });
    if let Some(diff) = shown {
        call["content"] = content(&format!("```diff\n{diff}\n```"));
    }
    call
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

fn content(text: &str) -> Value {
    json!([{ "type": "content", "content": { "type": "text", "text": text } }])
}

/// What a choice does, in the protocol's words, which knows yes and no only. A choice among things is a yes to that one.
fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::AllowOnce | Effect::Words | Effect::Other => "allow_once",
        Effect::AllowAlways => "allow_always",
        Effect::RejectOnce => "reject_once",
        Effect::RejectAlways => "reject_always",
    }
}
