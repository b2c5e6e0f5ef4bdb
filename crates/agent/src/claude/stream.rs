//! A run as the lines that `claude -p --output-format stream-json --verbose` prints, for front ends made for those.
//!
//! Claude prints a line for each block that is finished, several of them under the id of one message. So do we: what
//! the session file has of a message at first (thoughts, words) is one line, and its calls and their results follow
//! when they have ended.

use super::row::{Answer, Line, Part, Prompt, Said, Tokens};
use super::{Session, tokens};
use crate::model::{Block, Content, Failure, Message, Role, StopReason, Usage};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use uuid::Uuid;

/// Makes the lines of one run.
///
/// ```
/// use pollux_agent::claude::stream::{Ended, Stream};
///
/// let mut stream = Stream::new("7c5b", "/home/ana/shop", "default");
/// let first = stream.started("auto", &[]);
/// assert_eq!((&first["type"], &first["subtype"]), (&"system".into(), &"init".into()));
/// let last = stream.ended(&Ended { text: "Hi there.", ..Ended::default() });
/// assert_eq!(last["result"], "Hi there.");
/// ```
#[derive(Debug)]
pub struct Stream {
    session_id: String,
    cwd: String,
    mode: &'static str,
    names: Uuid,
    lines: u64,
    /// How many blocks of each message have been told.
    told: HashMap<String, Vec<String>>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ended<'e> {
    /// The last answer.
    pub text: &'e str,
    /// The tokens of the run.
    pub usage: Usage,
    /// How often the model was asked.
    pub turns: u64,
    /// How long it took.
    pub duration_ms: u64,
    /// The model that answered.
    pub model: Option<&'e str>,
    /// Why it ended.
    pub stop_reason: Option<StopReason>,
    /// What went wrong.
    pub error: Option<&'e Failure>,
}

impl Stream {
    /// The lines of a session. The mode is one of Claude's.
    pub fn new(session_id: &str, cwd: &str, mode: &'static str) -> Self {
        Self {
            session_id: session_id.to_owned(),
            cwd: cwd.to_owned(),
            mode,
            names: Uuid::new_v5(&Uuid::NAMESPACE_OID, session_id.as_bytes()),
            lines: 0,
            told: HashMap::new(),
        }
    }

    /// A name for a line, the same each time that the same run is told.
    fn name(&mut self) -> Uuid {
        self.lines += 1;
        Uuid::new_v5(&self.names, format!("line {}", self.lines).as_bytes())
    }

    /// The first line.
    pub fn started(&mut self, model: &str, tools: &[&str]) -> Value {
        json!({
            "type": "system",
            "subtype": "init",
            "cwd": self.cwd,
            "session_id": self.session_id,
            "tools": tools,
            "mcp_servers": [],
            "model": model,
            "permissionMode": self.mode,
            "slash_commands": [],
            "apiKeySource": "none",
            "claude_code_version": concat!("pollux ", env!("CARGO_PKG_VERSION")),
            "output_style": "default",
            "agents": [],
            "skills": [],
            "plugins": [],
            "uuid": self.name(),
        })
    }

    /// What a message has that was not told yet. A prompt is not told: Claude does not either.
    pub fn message(&mut self, message: &Message<'_>) -> Vec<Value> {
        if message.role != Role::Assistant {
            return Vec::new();
        }
        let id = message.id.to_string();
        let told = self.told.entry(id.clone()).or_default();
        let mut fresh = message.clone().into_owned();
        if let Content::Blocks(blocks) = &mut fresh.content {
            blocks.retain(|block| {
                let mark = format!("{block:?}");
                let new = !told.contains(&mark);
                if new {
                    told.push(mark);
                }
                new
            });
        }
        let mut lines = Vec::new();
        if fresh.blocks().iter().any(|block| !matches!(block, Block::ToolResult { .. })) {
            lines.extend(self.answer(&fresh, &id));
        }
        let is_result = |block: &&Block<'_>| matches!(block, Block::ToolResult { .. });
        let results: Vec<Part<'_>> =
            fresh.blocks().iter().filter(is_result).map(Part::new).collect();
        if !results.is_empty() {
            lines.extend(self.line("user", &Said::Prompt(Prompt::of(results))));
        }
        lines
    }

    fn answer(&mut self, message: &Message<'_>, id: &str) -> Option<Value> {
        // All lines of one message have one id in Claude's API.
        let own = Uuid::new_v5(&self.names, id.as_bytes());
        let session = Session { session_id: &self.session_id, ..Session::default() };
        let time = message.timestamp.unwrap_or(0);
        let line = Line::new(&session, time, own, None);
        let answer = Answer::new(message, &line, tokens(message.usage.unwrap_or_default()));
        let mut said = serde_json::to_value(Said::Answer(answer)).ok()?;
        // As Claude prints it: a line stands before its message is over, and so nobody knows yet why it will stop.
        said["stop_reason"] = Value::Null;
        self.line("assistant", &said)
    }

    fn line(&mut self, by: &str, said: &impl Serialize) -> Option<Value> {
        let message = serde_json::to_value(said).ok()?;
        Some(json!({
            "type": by,
            "message": message,
            "parent_tool_use_id": null,
            "session_id": self.session_id,
            "uuid": self.name(),
        }))
    }

    /// The last line.
    pub fn ended(&mut self, ended: &Ended<'_>) -> Value {
        let counted = tokens(ended.usage);
        let mut line = json!({
            "type": "result",
            "subtype": subtype(ended),
            "is_error": ended.error.is_some(),
            "duration_ms": ended.duration_ms,
            "duration_api_ms": ended.duration_ms,
            "num_turns": ended.turns,
            "stop_reason": if ended.error.is_none() { Some("end_turn") } else { None },
            "session_id": self.session_id,
            "total_cost_usd": 0,
            "usage": usage(counted),
            "modelUsage": models(ended, counted),
            "permission_denials": [],
            "uuid": self.name(),
        });
        match ended.error {
            None => line["result"] = json!(ended.text),
            Some(error) => line["errors"] = json!([error.message]),
        }
        line
    }
}

fn subtype(ended: &Ended<'_>) -> &'static str {
    match (ended.error, ended.stop_reason) {
        (None, _) => "success",
        (Some(_), Some(StopReason::MaxTurns)) => "error_max_turns",
        (Some(_), _) => "error_during_execution",
    }
}

fn usage(counted: Tokens) -> Value {
    let mut usage = serde_json::to_value(counted).unwrap_or_default();
    usage["server_tool_use"] = json!({ "web_search_requests": 0, "web_fetch_requests": 0 });
    usage["service_tier"] = json!("standard");
    usage
}

fn models(ended: &Ended<'_>, counted: Tokens) -> Value {
    let Some(model) = ended.model else { return json!({}) };
    json!({ model: {
        "inputTokens": counted.input,
        "outputTokens": counted.output,
        "cacheReadInputTokens": counted.cache_read,
        "cacheCreationInputTokens": counted.cache_creation,
        "webSearchRequests": 0,
        "costUSD": 0,
        "contextWindow": 0,
        "maxOutputTokens": 0,
    } })
}
