//! A message while it grows, as the events of Claude's streaming API. Pure.

use super::row::Tokens;
use super::shape;
use crate::model::Part;
use serde_json::{Value, json};
use uuid::Uuid;

/// The message that grows.
#[derive(Debug, Default)]
pub(super) struct Partial {
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    name: Uuid,
    /// How many blocks there were.
    blocks: u64,
    /// The block that is open.
    block: Option<Part>,
    /// Tools have ended since: what comes next is another message.
    apart: bool,
    /// It has called tools.
    calls: bool,
    /// What it cost, once that is known.
    usage: Option<Tokens>,
}

impl Partial {
    /// The name of the open message.
    pub(super) fn name(&self) -> Option<Uuid> {
        self.open.as_ref().map(|open| open.name)
    }

    /// A tool has ended: the next words are those of another message.
    pub(super) fn tool_ended(&mut self) {
        if let Some(open) = &mut self.open {
            open.apart = true;
            open.calls = true;
        }
    }

    /// A text became longer. `name` is for the message, if one begins with it.
    pub(super) fn grew(&mut self, part: Part, text: &str, name: Uuid, model: &str) -> Vec<Value> {
        let mut events = Vec::new();
        if self.open.as_ref().is_some_and(|open| open.apart) {
            events.extend(self.finish());
        }
        let open = self.begin(name, model, &mut events);
        if open.block != Some(part) {
            open.close(&mut events);
            open.block = Some(part);
            let block = match part {
                Part::Text => json!({ "type": "text", "text": "", "citations": null }),
                Part::Thinking => json!({ "type": "thinking", "thinking": "", "signature": "" }),
            };
            events.push(started(open.blocks, &block));
        }
        let delta = match part {
            Part::Text => json!({ "type": "text_delta", "text": text }),
            Part::Thinking => json!({ "type": "thinking_delta", "thinking": text }),
        };
        events.push(grown(open.blocks, &delta));
        events
    }

    /// A call is known with its arguments.
    pub(super) fn call(&mut self, call: &Value, name: Uuid, model: &str) -> Vec<Value> {
        let mut events = Vec::new();
        let open = self.begin(name, model, &mut events);
        open.close(&mut events);
        open.calls = true;
        let head =
            json!({ "type": "tool_use", "id": call["id"], "name": call["name"], "input": {} });
        events.push(started(open.blocks, &head));
        let arguments =
            json!({ "type": "input_json_delta", "partial_json": call["input"].to_string() });
        events.push(grown(open.blocks, &arguments));
        events.push(json!({ "type": "content_block_stop", "index": open.blocks }));
        open.blocks += 1;
        events
    }

    /// The open block is whole.
    pub(super) fn close(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        if let Some(open) = &mut self.open {
            open.close(&mut events);
        }
        events
    }

    /// It is known what the open message cost.
    pub(super) fn costs(&mut self, usage: Option<Tokens>) {
        if let Some(open) = &mut self.open {
            open.usage = usage.or(open.usage);
        }
    }

    /// The message is whole.
    pub(super) fn finish(&mut self) -> Vec<Value> {
        let Some(mut open) = self.open.take() else { return Vec::new() };
        let mut events = Vec::new();
        open.close(&mut events);
        let reason = if open.calls { "tool_use" } else { "end_turn" };
        events.push(json!({
            "type": "message_delta",
            "delta": { "container": null, "stop_details": null, "stop_reason": reason, "stop_sequence": null },
            "context_management": null,
            "usage": shape::delta(open.usage.unwrap_or_default()),
        }));
        events.push(json!({ "type": "message_stop" }));
        events
    }

    fn begin(&mut self, name: Uuid, model: &str, events: &mut Vec<Value>) -> &mut Open {
        self.open.get_or_insert_with(|| {
            let message = json!({
                "id": format!("msg_{}", name.simple()),
                "type": "message",
                "role": "assistant",
                "model": model,
                "content": [],
                "stop_reason": null,
                "stop_sequence": null,
            });
            let message = shape::message(message, Tokens::default());
            events.push(json!({ "type": "message_start", "message": message }));
            Open { name, blocks: 0, block: None, apart: false, calls: false, usage: None }
        })
    }
}

impl Open {
    fn close(&mut self, events: &mut Vec<Value>) {
        if self.block.take().is_some() {
            events.push(json!({ "type": "content_block_stop", "index": self.blocks }));
            self.blocks += 1;
        }
    }
}

fn started(index: u64, block: &Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn grown(index: u64, delta: &Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}
