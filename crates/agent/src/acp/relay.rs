//! The agent's side of the protocol, for an editor: what an agent tells, told again without its faults. Pure: updates,
//! permission requests and events in, updates and permission requests out.
//!
//! Updates go through as the agent sent them, but for this: every call has a beginning and an end, whatever the agent left
//! out; a mode that the agent announces in its words is announced as a mode; and what only the session's own file knows
//! (arguments, plans, tokens) is told too.

mod answers;
mod history;
mod request;
mod told;

use super::dialect::{Dialect, Said};
use crate::model::{
    Block, Event, EventKind, Message, Mode, Question, SessionChange, Source, Status, Usage,
};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

pub use answers::{about, models, opened, servers, stopped, used};
pub use history::history;
pub use told::{Told, prompt};

/// One session, on its way to an editor.
///
/// ```
/// use pollux_agent::acp::{Plain, relay::Relay};
/// use serde_json::json;
/// use std::sync::Arc;
///
/// let mut relay = Relay::new(Arc::new(Plain));
/// // An end without a beginning.
/// let end = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed" });
/// let told = relay.update(&end);
/// assert_eq!(told[0]["sessionUpdate"], "tool_call");
/// assert_eq!(told[1]["status"], "completed");
/// ```
#[derive(Debug)]
pub struct Relay {
    dialect: Arc<dyn Dialect>,
    /// The calls that were told, and whether each is over.
    calls: HashMap<String, bool>,
    /// The last plan.
    plan: Option<Value>,
}

impl Relay {
    /// A session of an agent.
    pub fn new(dialect: Arc<dyn Dialect>) -> Self {
        Self { dialect, calls: HashMap::new(), plan: None }
    }

    /// An update of the agent.
    pub fn update(&mut self, update: &Value) -> Vec<Value> {
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => {
                let words = update["content"]["text"].as_str().unwrap_or_default();
                match self.dialect.said(words) {
                    Said::Mode(mode) => vec![mode_is(mode)],
                    Said::Words => vec![update.clone()],
                }
            }
            Some("tool_call" | "tool_call_update") => self.call(update),
            Some("current_mode_update") => {
                let mut update = update.clone();
                answers::rename(&mut update["currentModeId"]);
                vec![update]
            }
            _ => vec![update.clone()],
        }
    }

    /// A call: where its beginning was not told, it is told now.
    fn call(&mut self, update: &Value) -> Vec<Value> {
        let id = update["toolCallId"].as_str().unwrap_or_default().to_owned();
        let ends = is_end(&update["status"]);
        let mut told = Vec::new();
        if !self.calls.contains_key(&id) {
            told.push(begun(update, &id));
            self.calls.insert(id.clone(), false);
            if !ends {
                return told;
            }
        }
        // What comes after the end is told as well: it knows more.
        if let Some(over) = self.calls.get_mut(&id) {
            *over |= ends;
        }
        let mut again = update.clone();
        again["sessionUpdate"] = json!("tool_call_update");
        told.push(again);
        told
    }

    /// A question: the updates that must be told before it, and the request that asks it.
    pub fn question(&mut self, question: &Question<'_>) -> (Vec<Value>, Value) {
        let params = request::of(question);
        let call = &params["toolCall"];
        let id = call["toolCallId"].as_str().unwrap_or_default().to_owned();
        let mut told = Vec::new();
        if !id.is_empty() && self.calls.insert(id.clone(), false).is_none() {
            told.push(begun(call, &id));
        }
        (told, params)
    }

    /// An event of the driver: what the agent itself does not tell.
    pub fn event(&mut self, event: &Event<'_>) -> Vec<Value> {
        match &event.kind {
            EventKind::ToolEnded { id, status, .. } if event.source == Source::Pollux => {
                self.end(&id.to_str(), *status).into_iter().collect()
            }
            EventKind::SessionChanged(change) if event.derived == Some("session/set_mode") => {
                mode_of(change).into_iter().collect()
            }
            EventKind::MessageRecorded { message, .. } => self.recorded(message),
            EventKind::TurnEnded { .. } => self.close(),
            _ => Vec::new(),
        }
    }

    fn end(&mut self, id: &str, status: Status) -> Option<Value> {
        let over = self.calls.get_mut(id).filter(|over| !**over)?;
        *over = true;
        let status = if status == Status::Success { "completed" } else { "failed" };
        Some(json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status }))
    }

    /// The turn is over: so are its calls.
    fn close(&mut self) -> Vec<Value> {
        let mut open: Vec<String> =
            self.calls.iter().filter(|(_, over)| !**over).map(|(id, _)| id.clone()).collect();
        open.sort_unstable();
        open.iter().filter_map(|id| self.end(id, Status::Cancelled)).collect()
    }

    /// What the session file knows: calls that the agent said nothing of, their arguments, and plans.
    fn recorded(&mut self, message: &Message<'_>) -> Vec<Value> {
        let mut told = Vec::new();
        for block in message.blocks() {
            match block {
                Block::ToolUse { id, name, input } => {
                    told.extend(self.called(id.to_string(), name, &input.to_value()));
                }
                Block::ToolResult { tool_use_id, status, .. } => {
                    told.extend(self.end(&tool_use_id.to_str(), *status));
                }
                _ => {}
            }
        }
        told
    }

    /// A call with its arguments. A list of things to do is a plan.
    fn called(&mut self, id: String, name: &str, input: &Value) -> Option<Value> {
        if name == "TodoWrite" {
            return self.planned(input);
        }
        match self.calls.entry(id) {
            Entry::Occupied(call) => Some(json!({
                "sessionUpdate": "tool_call_update",
                "toolCallId": call.key(),
                "rawInput": input,
            })),
            Entry::Vacant(call) => {
                let known = json!({ "title": name, "rawInput": input, "kind": "other" });
                let begun = begun(&known, call.key());
                call.insert(false);
                Some(begun)
            }
        }
    }

    fn planned(&mut self, input: &Value) -> Option<Value> {
        let todos = input["todos"].as_array()?;
        let entry = |todo: &Value| json!({ "content": todo["content"], "priority": "medium", "status": todo["status"] });
        let entries: Vec<Value> = todos.iter().map(entry).collect();
        let plan = json!({ "sessionUpdate": "plan", "entries": entries });
        (self.plan.replace(plan.clone()).as_ref() != Some(&plan)).then_some(plan)
    }
}

/// The beginning of a call, made of what is known of it.
fn begun(call: &Value, id: &str) -> Value {
    let mut begun = call.clone();
    if !begun.is_object() {
        begun = json!({});
    }
    begun["sessionUpdate"] = json!("tool_call");
    begun["toolCallId"] = json!(id);
    if !begun["title"].is_string() {
        begun["title"] = json!(begun["kind"].as_str().unwrap_or("a tool"));
    }
    if is_end(&begun["status"]) || begun["status"].is_null() {
        begun["status"] = json!("in_progress");
    }
    begun
}

/// Whether a call that is in this state is over.
fn is_end(status: &Value) -> bool {
    status.as_str().is_some_and(|status| super::call::ended(status).is_some())
}

fn mode_is(mode: Mode) -> Value {
    json!({ "sessionUpdate": "current_mode_update", "currentModeId": mode.upstream() })
}

/// The mode in a change: our word for it, which is the editor's, or the agent's own.
fn mode_of(change: &SessionChange<'_>) -> Option<Value> {
    let own = |id| json!({ "sessionUpdate": "current_mode_update", "currentModeId": id });
    change.mode.map(mode_is).or_else(|| change.mode_id.as_ref().map(own))
}

/// Tokens in the protocol's words.
fn tokens(usage: Usage) -> Value {
    json!({
        "totalTokens": usage.total_tokens,
        "inputTokens": usage.input_tokens.saturating_sub(usage.cached_tokens),
        "outputTokens": usage.output_tokens,
        "thoughtTokens": usage.thoughts_tokens,
        "cachedReadTokens": usage.cached_tokens,
    })
}
