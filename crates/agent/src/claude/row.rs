//! The shape of Claude Code's rows, field by field.

use super::Session;
use crate::model::{Arg, Block, Content, ImageSource, Input, Message, ResultContent, Text};
use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use uuid::Uuid;

/// One row of a transcript as Claude Code writes it. Its JSON is one line.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Row<'m>(Kind<'m>);

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
enum Kind<'m> {
    Summary(Summary<'m>),
    Line(Box<Line<'m>>),
}

/// What the conversation that ends at a row was about.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary<'m> {
    r#type: &'static str,
    #[serde(rename = "summary")]
    text: &'m str,
    leaf_uuid: Uuid,
}

impl<'m> Row<'m> {
    pub(super) fn summary(text: &'m str, leaf_uuid: Uuid) -> Self {
        Self(Kind::Summary(Summary { r#type: "summary", text, leaf_uuid }))
    }
}

/// A row of the conversation. A field that is nothing is not written, but for the parent of the first row.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line<'m> {
    parent_uuid: Option<Uuid>,
    is_sidechain: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<&'m str>,
    user_type: &'static str,
    cwd: &'m str,
    session_id: &'m str,
    version: &'static str,
    git_branch: &'static str,
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    subtype: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Said<'m>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) is_meta: Option<bool>,
    pub(super) uuid: Uuid,
    timestamp: String,
}

impl<'m> Line<'m> {
    /// A row of a session at a time, in milliseconds since 1970, with nothing in it yet.
    pub(super) fn new(
        session: &Session<'m>,
        time: i64,
        uuid: Uuid,
        parent_uuid: Option<Uuid>,
    ) -> Self {
        Self {
            parent_uuid,
            is_sidechain: session.agent_id.is_some(),
            agent_id: session.agent_id,
            user_type: "external",
            cwd: session.cwd.unwrap_or_default(),
            session_id: session.session_id,
            version: env!("CARGO_PKG_VERSION"),
            git_branch: "",
            r#type: "",
            subtype: None,
            content: None,
            level: None,
            message: None,
            request_id: None,
            is_meta: None,
            uuid,
            timestamp: iso(time),
        }
    }

    pub(super) fn says(mut self, by: &'static str, said: Said<'m>) -> Row<'m> {
        self.r#type = by;
        self.message = Some(said);
        Row(Kind::Line(Box::new(self)))
    }

    pub(super) fn notice(mut self, text: String, level: &'static str) -> Row<'m> {
        self.r#type = "system";
        self.subtype = Some("informational");
        self.content = Some(text);
        self.level = Some(level);
        Row(Kind::Line(Box::new(self)))
    }
}

/// A time as JavaScript writes it: always with three digits of milliseconds.
fn iso(milliseconds: i64) -> String {
    let time =
        jiff::Timestamp::from_millisecond(milliseconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    format!("{time:.3}")
}

/// A message of Claude's API.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(super) enum Said<'m> {
    Prompt(Prompt<'m>),
    Answer(Answer<'m>),
}

/// What a user sends.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Prompt<'m> {
    role: &'static str,
    content: Words<'m>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
enum Words<'m> {
    Text(&'m Text<'m>),
    Parts(Vec<Part<'m>>),
}

impl<'m> Prompt<'m> {
    /// A prompt that is one text stays a string, as Claude Code writes it.
    pub(super) fn new(message: &'m Message<'m>) -> Self {
        let content = match &message.content {
            Content::Raw(text) => Words::Text(text),
            Content::Blocks(blocks) => match blocks.as_slice() {
                [Block::Text { text }] => Words::Text(text),
                blocks => Words::Parts(blocks.iter().map(Part::new).collect()),
            },
        };
        Self { role: "user", content }
    }

    pub(super) fn of(parts: Vec<Part<'m>>) -> Self {
        Self { role: "user", content: Words::Parts(parts) }
    }
}

/// What a model answers.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Answer<'m> {
    id: String,
    r#type: &'static str,
    role: &'static str,
    model: Cow<'m, str>,
    content: Vec<Part<'m>>,
    stop_reason: &'static str,
    stop_sequence: Option<&'static str>,
    usage: Tokens,
}

/// Claude's counts. No token is in two of them.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Tokens {
    #[serde(rename = "input_tokens")]
    pub(super) input: u64,
    #[serde(rename = "cache_creation_input_tokens")]
    pub(super) cache_creation: u64,
    #[serde(rename = "cache_read_input_tokens")]
    pub(super) cache_read: u64,
    #[serde(rename = "output_tokens")]
    pub(super) output: u64,
}

impl<'m> Answer<'m> {
    pub(super) fn new(message: &'m Message<'m>, line: &Line<'m>, usage: Tokens) -> Self {
        let blocks = message.blocks().iter();
        let mut content: Vec<Part<'m>> = blocks.map(Part::new).filter(Part::is_answer).collect();
        content.sort_by_key(Part::rank);
        let calls = content.iter().any(|part| matches!(part, Part::ToolUse { .. }));
        Self {
            id: format!("msg_{}", line.uuid.simple()),
            r#type: "message",
            role: "assistant",
            model: model(message),
            content,
            stop_reason: if calls { "tool_use" } else { "end_turn" },
            stop_sequence: None,
            usage,
        }
    }
}

/// The model that answered. Where nobody wrote one down, an answer that cost nothing is the CLI's own, and Claude's
/// readers know those by a name.
fn model<'m>(message: &'m Message<'m>) -> Cow<'m, str> {
    match &message.model {
        Some(model) => model.to_str(),
        None if message.usage.is_some() => Cow::Borrowed("unknown"),
        None => Cow::Borrowed("<synthetic>"),
    }
}

/// A block of Claude's API.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'m> {
    Thinking { thinking: &'m Text<'m>, signature: &'static str },
    Text { text: &'m Text<'m> },
    Image { source: &'m ImageSource<'m> },
    ToolUse { id: &'m Text<'m>, name: &'m str, input: Arguments<'m> },
    ToolResult { tool_use_id: &'m Text<'m>, content: Outcome<'m>, is_error: bool },
}

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(super) enum Outcome<'m> {
    Text(&'m Text<'m>),
    Parts(Vec<Part<'m>>),
}

impl<'m> Part<'m> {
    pub(super) fn new(block: &'m Block<'m>) -> Self {
        match block {
            Block::Text { text } => Self::Text { text },
            Block::Thinking { thinking } => Self::Thinking { thinking, signature: "" },
            Block::ToolUse { id, name, input } => {
                Self::ToolUse { id, name, input: Arguments(input) }
            }
            Block::ToolResult { tool_use_id, content, is_error, .. } => {
                let content = match content {
                    ResultContent::Text(text) => Outcome::Text(text),
                    ResultContent::Blocks(blocks) => {
                        Outcome::Parts(blocks.iter().map(Part::new).collect())
                    }
                };
                Self::ToolResult { tool_use_id, content, is_error: *is_error }
            }
            Block::Image { source } => Self::Image { source },
        }
    }

    /// True for what may stand in an answer. What a tool gave back is said by the user.
    fn is_answer(&self) -> bool {
        !matches!(self, Self::ToolResult { .. })
    }

    /// The place in an answer that Claude's API needs.
    fn rank(&self) -> u8 {
        match self {
            Self::Thinking { .. } => 0,
            Self::Text { .. } | Self::Image { .. } => 1,
            Self::ToolUse { .. } | Self::ToolResult { .. } => 2,
        }
    }
}

/// The arguments of a call. Claude's are always an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments<'m>(&'m Input<'m>);

impl Serialize for Arguments<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Input::Raw(raw) if !raw.get().starts_with('{') => {
                let raw = one_line(raw.get()).map_err(S::Error::custom)?;
                let held = (raw.get() != "null").then_some(("input", raw));
                serializer.collect_map(held)
            }
            input if self.is_one_line() => input.serialize(serializer),
            input => {
                let json = serde_json::to_string(input).map_err(S::Error::custom)?;
                one_line(&json).map_err(S::Error::custom)?.serialize(serializer)
            }
        }
    }
}

impl Arguments<'_> {
    /// The old session files are written with line breaks, and so are the arguments in them.
    fn is_one_line(self) -> bool {
        let has_break = |raw: &RawValue| memchr::memchr(b'\n', raw.get().as_bytes()).is_some();
        match self.0 {
            Input::Raw(raw) => !has_break(raw),
            Input::Mapped(args) => {
                !args.iter().any(|(_, arg)| matches!(arg, Arg::Raw(raw) if has_break(raw)))
            }
        }
    }
}

/// JSON without the white space between its tokens. The tokens and their order stay as they are.
fn one_line(json: &str) -> serde_json::Result<Box<RawValue>> {
    let (mut in_string, mut escaped) = (false, false);
    let compact = json.chars().filter(|c| {
        let keep = in_string || !c.is_ascii_whitespace();
        in_string ^= *c == '"' && !escaped;
        escaped = in_string && *c == '\\' && !escaped;
        keep
    });
    RawValue::from_string(compact.collect())
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn only_the_space_between_tokens_goes() {
        let json = "{\n  \"b\": [1, 2.50],\n  \"a \\\" b\\\\\": \"x  y\\n\" }";
        let expected = "{\"b\":[1,2.50],\"a \\\" b\\\\\":\"x  y\\n\"}";
        assert_eq!(one_line(json).unwrap().get(), expected);
    }
}
