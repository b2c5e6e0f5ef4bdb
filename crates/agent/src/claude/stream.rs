//! A run as the lines that `claude -p --output-format stream-json --verbose` prints, for front ends made for those.
//!
//! Claude prints a line for each block that is finished, several of them under the id of one message. So do we: what
//! the session file has of a message at first (thoughts, words) is one line, and its calls and their results follow
//! when they have ended.

use super::partial::Partial;
use super::permission::Use;
use super::row::{Answer, Line, Part, Prompt, Said, Tokens};
use super::{Session, shape, tokens};
use crate::model::{Block, Content, Failure, Message, Part as Growing, Role, StopReason, Usage};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use uuid::Uuid;

/// The version of Claude Code whose interface this is, in the form that Claude's SDKs compare, and who it is in truth.
pub const VERSION: &str = concat!("2.1.0 (Pollux ", env!("CARGO_PKG_VERSION"), ")");

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
    /// The blocks of each message that have been told, as hashes: what was said need not be kept.
    told: HashMap<String, HashSet<u64>>,
    /// Set where messages are told while they grow.
    partial: Option<Partial>,
    /// The names of messages, by their ids.
    named: HashMap<String, Uuid>,
    model: String,
    servers: Vec<String>,
    /// The calls that were turned down. They were told then.
    denied: HashSet<String>,
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
    /// The models that answered, and the tokens of each since the session was opened.
    pub models: &'e [(String, Usage)],
    /// The calls that were turned down.
    pub denials: &'e [Value],
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
            partial: None,
            named: HashMap::new(),
            model: String::new(),
            servers: Vec::new(),
            denied: HashSet::new(),
        }
    }

    /// The same with messages that are told while they grow, as with `--include-partial-messages`.
    #[must_use]
    pub fn partial(mut self) -> Self {
        self.partial = Some(Partial::default());
        self
    }

    /// The same with the MCP servers that the agent was given.
    #[must_use]
    pub fn servers(mut self, names: &[&str]) -> Self {
        self.servers = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// The mode is another one now.
    pub fn set_mode(&mut self, mode: &'static str) {
        self.mode = mode;
    }

    /// A name for a line, the same each time that the same run is told.
    fn name(&mut self) -> Uuid {
        self.lines += 1;
        Uuid::new_v5(&self.names, format!("line {}", self.lines).as_bytes())
    }

    /// The first line of a turn.
    pub fn started(&mut self, model: &str, tools: &[&str]) -> Value {
        model.clone_into(&mut self.model);
        // Whether the agent has reached them it does not say.
        let server = |name: &String| json!({ "name": name, "status": "pending" });
        let servers: Vec<Value> = self.servers.iter().map(server).collect();
        json!({
            "type": "system",
            "subtype": "init",
            "cwd": self.cwd,
            "session_id": self.session_id,
            "tools": tools,
            "mcp_servers": servers,
            "model": model,
            "permissionMode": self.mode,
            "slash_commands": [],
            "apiKeySource": "none",
            "claude_code_version": VERSION,
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
                if call_of(block).is_some_and(|id| self.denied.contains(&id)) {
                    return false;
                }
                told.insert(mark(block))
            });
        }
        let mut lines = self.whole(&fresh, &id);
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

    /// A call that was turned down: told now, since the agent may never speak of it again.
    pub fn denied(&mut self, of: &Use, why: &str) -> Vec<Value> {
        self.denied.insert(of.id.clone());
        let call = json!({ "type": "tool_use", "id": of.id, "name": of.tool, "input": of.input });
        let mut lines = Vec::new();
        let mut own = self.name();
        if let Some(mut partial) = self.partial.take() {
            own = partial.name().unwrap_or(own);
            let mut events = partial.call(&call, own, &self.model);
            events.extend(partial.finish());
            self.partial = Some(partial);
            lines.extend(self.events(events));
        }
        let message = json!({
            "id": format!("msg_{}", own.simple()),
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [call],
            "stop_reason": null,
            "stop_sequence": null,
        });
        lines.extend(self.line("assistant", &shape::message(message, Tokens::default())));
        let result = json!({
            "type": "tool_result",
            "tool_use_id": of.id,
            "content": if why.is_empty() { "The call was denied." } else { why },
            "is_error": true,
        });
        lines.extend(self.line("user", &json!({ "role": "user", "content": [result] })));
        lines
    }

    /// True where a text speaks of a call that was turned down.
    pub fn is_about_denied(&self, text: &str) -> bool {
        self.denied.iter().any(|id| text.contains(id.as_str()))
    }

    /// A text became longer.
    pub fn grew(&mut self, part: Growing, text: &str) -> Vec<Value> {
        let Some(mut partial) = self.partial.take() else { return Vec::new() };
        let name = self.name();
        let events = partial.grew(part, text, name, &self.model);
        self.partial = Some(partial);
        self.events(events)
    }

    /// A tool has ended.
    pub fn tool_ended(&mut self) {
        if let Some(partial) = &mut self.partial {
            partial.tool_ended();
        }
    }

    /// What is told of a message's growth when the message itself is known: the end of its open block, and its calls.
    fn whole(&mut self, message: &Message<'_>, id: &str) -> Vec<Value> {
        let Some(mut partial) = self.partial.take() else { return Vec::new() };
        let own = self.named.get(id).copied().or_else(|| partial.name());
        let own = own.unwrap_or_else(|| Uuid::new_v5(&self.names, id.as_bytes()));
        self.named.insert(id.to_owned(), own);
        partial.costs(message.usage.map(tokens));
        let mut events = partial.close();
        let calls = message.blocks().iter().filter(|it| matches!(it, Block::ToolUse { .. }));
        let calls: Vec<Value> =
            calls.filter_map(|call| serde_json::to_value(Part::new(call)).ok()).collect();
        for call in &calls {
            events.extend(partial.call(call, own, &self.model));
        }
        if !calls.is_empty() {
            events.extend(partial.finish());
        }
        self.partial = Some(partial);
        self.events(events)
    }

    fn events(&mut self, events: Vec<Value>) -> Vec<Value> {
        let line = |event: Value| {
            json!({
                "type": "stream_event",
                "event": event,
                "parent_tool_use_id": null,
                "session_id": self.session_id,
                "uuid": self.name(),
            })
        };
        events.into_iter().map(line).collect()
    }

    /// What is left to tell of a message that grew when the turn is over.
    pub fn closed(&mut self) -> Vec<Value> {
        let events = self.partial.as_mut().map(Partial::finish).unwrap_or_default();
        self.events(events)
    }

    /// A prompt, told back as with `--replay-user-messages`.
    pub fn replayed(&mut self, blocks: &[Value], uuid: Option<&str>) -> Value {
        let uuid = uuid.map_or_else(|| self.name().to_string(), str::to_owned);
        json!({
            "type": "user",
            "message": { "role": "user", "content": blocks },
            "parent_tool_use_id": null,
            "session_id": self.session_id,
            "uuid": uuid,
            "isReplay": true,
        })
    }

    /// Something to know, of Pollux's own.
    pub fn notice(&mut self, level: &str, text: &str) -> Value {
        json!({
            "type": "system",
            "subtype": "informational",
            "content": text,
            "level": level,
            "session_id": self.session_id,
            "uuid": self.name(),
        })
    }

    fn answer(&mut self, message: &Message<'_>, id: &str) -> Option<Value> {
        // All lines of one message have one id in Claude's API.
        let derived = || Uuid::new_v5(&self.names, id.as_bytes());
        let own = self.named.get(id).copied().unwrap_or_else(derived);
        let session = Session { session_id: &self.session_id, ..Session::default() };
        let time = message.timestamp.unwrap_or(0);
        let line = Line::new(&session, time, own, None);
        let counted = tokens(message.usage.unwrap_or_default());
        let answer = Answer::new(message, &line, counted);
        let mut said = serde_json::to_value(Said::Answer(answer)).ok()?;
        // As Claude prints it: a line stands before its message is over, and so nobody knows yet why it will stop.
        said["stop_reason"] = Value::Null;
        self.line("assistant", &shape::message(said, counted))
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
            "usage": shape::total(counted, ended.usage.thoughts_tokens),
            "modelUsage": models(ended),
            "permission_denials": ended.denials,
            "uuid": self.name(),
        });
        match ended.error {
            None => line["result"] = json!(ended.text),
            Some(error) => line["errors"] = json!([error.message]),
        }
        line
    }
}

/// What tells a block apart from any other.
fn mark(block: &Block<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{block:?}").hash(&mut hasher);
    hasher.finish()
}

/// The call that a block is part of.
fn call_of(block: &Block<'_>) -> Option<String> {
    match block {
        Block::ToolUse { id, .. } => Some(id.to_string()),
        Block::ToolResult { tool_use_id, .. } => Some(tool_use_id.to_string()),
        _ => None,
    }
}

fn subtype(ended: &Ended<'_>) -> &'static str {
    match (ended.error, ended.stop_reason) {
        (None, _) => "success",
        (Some(_), Some(StopReason::MaxTurns)) => "error_max_turns",
        (Some(_), _) => "error_during_execution",
    }
}

fn models(ended: &Ended<'_>) -> Value {
    let of = |(model, usage): &(String, Usage)| {
        let counted = tokens(*usage);
        let counts = json!({
            "inputTokens": counted.input,
            "outputTokens": counted.output,
            "cacheReadInputTokens": counted.cache_read,
            "cacheCreationInputTokens": counted.cache_creation,
            "webSearchRequests": 0,
            "costUSD": 0,
            "contextWindow": 0,
            "maxOutputTokens": 0,
        });
        (model.clone(), counts)
    };
    ended.models.iter().map(of).collect::<serde_json::Map<String, Value>>().into()
}
