//! Their words: the lines of stream-json, field for field under the CLI's own names, and nothing derived.

use super::super::loose::{Count, Entries, Key, loose_object, wrong_is_default};
use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// A value that is looked at later, if at all. `null` is none.
pub(super) type Json<'a> = Option<&'a RawValue>;

/// A line.
#[derive(Debug)]
pub(super) enum Line<'a> {
    Init(Init<'a>),
    Message(Message<'a>),
    ToolUse(ToolUse<'a>),
    ToolResult(ToolResult<'a>),
    Error(Error<'a>),
    Result(Outcome<'a>),
    /// A type that this version of Pollux does not know; none where there is no type.
    Unknown(Option<Cow<'a, str>>),
}

/// `init`: the stream begins.
#[derive(Debug)]
pub(super) struct Init<'a> {
    pub(super) session_id: Json<'a>,
    pub(super) model: Json<'a>,
}

/// `message`: something was said. With `delta`, it goes on.
#[derive(Debug)]
pub(super) struct Message<'a> {
    pub(super) role: Json<'a>,
    pub(super) content: Json<'a>,
    pub(super) delta: Json<'a>,
}

/// `tool_use`: the model called a tool.
#[derive(Debug)]
pub(super) struct ToolUse<'a> {
    pub(super) tool_name: Json<'a>,
    pub(super) tool_id: Json<'a>,
    pub(super) parameters: Json<'a>,
}

/// `tool_result`: a call ended.
#[derive(Debug)]
pub(super) struct ToolResult<'a> {
    pub(super) tool_id: Json<'a>,
    pub(super) status: Json<'a>,
    pub(super) output: Json<'a>,
    pub(super) error: Json<'a>,
}

/// `error`: something to know, which need not end the run.
#[derive(Debug)]
pub(super) struct Error<'a> {
    pub(super) severity: Json<'a>,
    pub(super) message: Json<'a>,
}

/// `result`: the end of the run.
#[derive(Debug)]
pub(super) struct Outcome<'a> {
    pub(super) status: Json<'a>,
    pub(super) error: Json<'a>,
    pub(super) stats: Option<Box<Stats<'a>>>,
}

loose_object! {
    /// `error` of a `tool_result` or a `result`.
    Wrong {
        "type" => kind: Json<'a>,
        "message" => message: Json<'a>,
    }
}

loose_object! {
    /// `stats` of a `result`.
    Stats {
        "total_tokens" => total_tokens: Count,
        "input_tokens" => input_tokens: Count,
        "output_tokens" => output_tokens: Count,
        "cached" => cached: Count,
        "duration_ms" => duration_ms: Option<Count>,
        "tool_calls" => tool_calls: Option<Count>,
        "models" => models: Entries<'a>,
    }
}

loose_object! {
    /// One of `stats.models`.
    ModelStats {
        "total_tokens" => total_tokens: Count,
        "input_tokens" => input_tokens: Count,
        "output_tokens" => output_tokens: Count,
        "cached" => cached: Count,
    }
}

/// A line with all that any kind of line has, and what no kind has.
#[derive(Debug, Default)]
pub(super) struct Row<'a> {
    pub(super) kind: Json<'a>,
    pub(super) timestamp: Json<'a>,
    session_id: Json<'a>,
    model: Json<'a>,
    role: Json<'a>,
    content: Json<'a>,
    delta: Json<'a>,
    tool_name: Json<'a>,
    tool_id: Json<'a>,
    parameters: Json<'a>,
    status: Json<'a>,
    output: Json<'a>,
    error: Json<'a>,
    severity: Json<'a>,
    message: Json<'a>,
    /// Boxed: few lines have them, and every line is moved about.
    stats: Option<Box<Stats<'a>>>,
    /// Fields that no line of a known version has.
    pub(super) unknown: Vec<(Cow<'a, str>, &'a RawValue)>,
    /// False where something else than an object stands.
    pub(super) read: bool,
}

/// Fills a row where it stands: it is large, and there is one for every line.
struct Fill<'r, 'a>(&'r mut Row<'a>);

impl<'de: 'a, 'a> DeserializeSeed<'de> for Fill<'_, 'a> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Fill<'_, 'a> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.read = true;
        while let Some(Key(key)) = map.next_key::<Key<'de>>()? {
            match (self.0.field(&key), key.as_ref()) {
                (Some(field), _) => *field = map.next_value()?,
                (None, "stats") => self.0.stats = map.next_value()?,
                (None, _) => self.0.unknown.push((key, map.next_value()?)),
            }
        }
        Ok(())
    }
    wrong_is_default!((), seq);
}

impl<'a> Row<'a> {
    /// Reads a line; none where it is no JSON.
    pub(super) fn read(line: &'a str) -> Option<Self> {
        let mut row = Self::default();
        let mut json = serde_json::Deserializer::from_str(line);
        Fill(&mut row).deserialize(&mut json).ok()?;
        json.end().ok()?;
        Some(row)
    }

    fn field(&mut self, key: &str) -> Option<&mut Json<'a>> {
        Some(match key {
            "type" => &mut self.kind,
            "timestamp" => &mut self.timestamp,
            "session_id" => &mut self.session_id,
            "model" => &mut self.model,
            "role" => &mut self.role,
            "content" => &mut self.content,
            "delta" => &mut self.delta,
            "tool_name" => &mut self.tool_name,
            "tool_id" => &mut self.tool_id,
            "parameters" => &mut self.parameters,
            "status" => &mut self.status,
            "output" => &mut self.output,
            "error" => &mut self.error,
            "severity" => &mut self.severity,
            "message" => &mut self.message,
            _ => return None,
        })
    }

    /// The line as what its `type` says it is.
    pub(super) fn line(self, kind: Option<Cow<'a, str>>) -> Line<'a> {
        match kind.as_deref() {
            Some("init") => Line::Init(Init { session_id: self.session_id, model: self.model }),
            Some("message") => {
                Line::Message(Message { role: self.role, content: self.content, delta: self.delta })
            }
            Some("tool_use") => Line::ToolUse(ToolUse {
                tool_name: self.tool_name,
                tool_id: self.tool_id,
                parameters: self.parameters,
            }),
            Some("tool_result") => Line::ToolResult(ToolResult {
                tool_id: self.tool_id,
                status: self.status,
                output: self.output,
                error: self.error,
            }),
            Some("error") => Line::Error(Error { severity: self.severity, message: self.message }),
            Some("result") => {
                Line::Result(Outcome { status: self.status, error: self.error, stats: self.stats })
            }
            _ => Line::Unknown(kind),
        }
    }
}

/// True where a text is JSON of whatever kind: a cut line is not.
pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}
