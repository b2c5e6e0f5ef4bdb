//! A conversation that was, as the updates that repeat it.

use crate::model::{Block, Content, Message, ResultContent, Role, Status};
use serde_json::{Value, json};

/// The updates that repeat messages. What the agent itself said in a person's name is left out.
pub fn history(messages: &[Message<'_>]) -> Vec<Value> {
    let mut told = Vec::new();
    for message in messages.iter().filter(|message| !message.meta) {
        let kind = match message.role {
            Role::User => "user_message_chunk",
            Role::Assistant => "agent_message_chunk",
            Role::System => continue,
        };
        match &message.content {
            Content::Raw(text) if !text.is_blank() => told.push(chunk(kind, &text.to_str())),
            Content::Raw(_) => {}
            Content::Blocks(blocks) => {
                told.extend(blocks.iter().filter_map(|block| of(block, kind)));
            }
        }
    }
    told
}

pub(super) fn chunk(kind: &str, text: &str) -> Value {
    json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } })
}

fn of(block: &Block<'_>, kind: &str) -> Option<Value> {
    Some(match block {
        Block::Text { text } => chunk(kind, &text.to_str()),
        Block::Thinking { thinking } => chunk("agent_thought_chunk", &thinking.to_str()),
        Block::ToolUse { id, name, input } => json!({
            "sessionUpdate": "tool_call",
            "toolCallId": id,
            "title": name,
            "name": name,
            "kind": kind_of(name),
            "status": "in_progress",
            "rawInput": input,
        }),
        Block::ToolResult { tool_use_id, content, status, .. } => json!({
            "sessionUpdate": "tool_call_update",
            "toolCallId": tool_use_id,
            "status": if *status == Status::Success { "completed" } else { "failed" },
            "content": [{ "type": "content", "content": { "type": "text", "text": text(content) } }],
        }),
        Block::Image { .. } => return None,
    })
}

fn kind_of(claude: &str) -> &'static str {
    match claude {
        "Read" | "BashOutput" => "read",
        "Write" | "Edit" => "edit",
        "Bash" => "execute",
        "Glob" | "Grep" | "WebSearch" => "search",
        "WebFetch" => "fetch",
        "EnterPlanMode" | "ExitPlanMode" => "switch_mode",
        _ => "other",
    }
}

fn text(content: &ResultContent<'_>) -> String {
    match content {
        ResultContent::Text(text) => text.to_string(),
        ResultContent::Blocks(blocks) => {
            let texts = blocks.iter().filter_map(|block| match block {
                Block::Text { text } => Some(text.to_string()),
                _ => None,
            });
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}
