//! A message: one finished record of a conversation, in the shape that Claude's own clients read.

use super::Text;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io::{self, Write};

/// One finished record of a conversation.
///
/// It borrows from the bytes that it was read from; [`Message::into_owned`] lets go of them.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema), ts(optional_fields))]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and all may be so")]
pub struct Message<'a> {
    /// The id from the agent, or `#n` if it has none.
    pub id: Text<'a>,
    /// The role of the author.
    pub role: Role,
    /// The content of the message.
    pub content: Content<'a>,
    /// The time in milliseconds since 1970.
    #[cfg_attr(feature = "schema", ts(type = "number | null"))]
    pub timestamp: Option<i64>,
    /// The agent that wrote it.
    pub tool: Agent,
    /// The model that answered.
    pub model: Option<Text<'a>>,
    /// The tokens that the answer used.
    pub usage: Option<Usage>,
    /// True if the record has the role `user` but was written by the CLI.
    #[cfg_attr(feature = "schema", ts(as = "Option<bool>"), schemars(with = "Option<bool>"))]
    pub meta: bool,
    /// Set on warnings and errors.
    pub level: Option<Level>,
    /// Fields that the newest version of this record has lost, restored from an earlier version.
    #[cfg_attr(feature = "schema", ts(as = "Option<Vec<String>>"))]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
    pub restored: Vec<&'static str>,
    /// True if the answer is a copy: the agent wrote its history again, perhaps with new ids.
    #[cfg_attr(feature = "schema", ts(as = "Option<bool>"), schemars(with = "Option<bool>"))]
    pub copied: bool,
    /// True if the record is no longer part of the conversation and was requested anyway.
    #[cfg_attr(feature = "schema", ts(as = "Option<bool>"), schemars(with = "Option<bool>"))]
    pub recovered: bool,
    /// The upstream object, byte for byte: `_original` in JSON.
    #[cfg_attr(feature = "schema", ts(as = "Option<serde_json::Value>", rename = "_original"))]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<serde_json::Value>", rename = "_original")
    )]
    pub original: Cow<'a, str>,
}

impl Serialize for Message<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.fields(&mut map)?;
        let original: &RawValue =
            serde_json::from_str(&self.original).map_err(serde::ser::Error::custom)?;
        map.serialize_entry("_original", original)?;
        map.end()
    }
}

/// A message without `_original`.
struct Bare<'m, 'a>(&'m Message<'a>);

impl Serialize for Bare<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.0.fields(&mut map)?;
        map.end()
    }
}

impl Message<'_> {
    /// The fields of the JSON object, in their order, without `_original`.
    fn fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("role", &self.role)?;
        map.serialize_entry("content", &self.content)?;
        map.serialize_entry("timestamp", &self.timestamp)?;
        map.serialize_entry("tool", &self.tool)?;
        if let Some(model) = &self.model {
            map.serialize_entry("model", model)?;
        }
        if let Some(usage) = &self.usage {
            map.serialize_entry("usage", usage)?;
        }
        if self.meta {
            map.serialize_entry("meta", &true)?;
        }
        if let Some(level) = &self.level {
            map.serialize_entry("level", level)?;
        }
        if !self.restored.is_empty() {
            map.serialize_entry("restored", &self.restored)?;
        }
        if self.copied {
            map.serialize_entry("copied", &true)?;
        }
        if self.recovered {
            map.serialize_entry("recovered", &true)?;
        }
        Ok(())
    }

    /// Writes the JSON object as serde would, but without reading `_original` once more to see that it is JSON: it was
    /// read from there. For a session of 50 MB that is a sixth of the work.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut bare = serde_json::to_vec(&Bare(self))?;
        bare.pop();
        out.write_all(&bare)?;
        out.write_all(b",\"_original\":")?;
        out.write_all(self.original.as_bytes())?;
        out.write_all(b"}")
    }
}

impl Message<'_> {
    /// The text blocks, joined by an empty line.
    pub fn text(&self) -> String {
        match &self.content {
            Content::Raw(text) => text.to_str().into_owned(),
            Content::Blocks(blocks) => {
                let texts = blocks.iter().filter_map(|block| match block {
                    Block::Text { text } => Some(text.to_str()),
                    _ => None,
                });
                texts.collect::<Vec<_>>().join("\n\n")
            }
        }
    }

    /// The blocks; none where the content is a plain string.
    pub fn blocks(&self) -> &[Block<'_>] {
        match &self.content {
            Content::Blocks(blocks) => blocks,
            Content::Raw(_) => &[],
        }
    }

    /// The same message, owned.
    pub fn into_owned(self) -> Message<'static> {
        Message {
            id: self.id.into_owned(),
            role: self.role,
            content: self.content.into_owned(),
            timestamp: self.timestamp,
            tool: self.tool,
            model: self.model.map(Text::into_owned),
            usage: self.usage,
            meta: self.meta,
            level: self.level,
            restored: self.restored,
            copied: self.copied,
            recovered: self.recovered,
            original: Cow::Owned(self.original.into_owned()),
        }
    }
}

/// The role of the author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user, or the CLI on behalf of the user.
    User,
    /// The model.
    Assistant,
    /// The CLI itself.
    System,
}

/// The agent program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Agent {
    /// Gemini CLI.
    Gemini,
    /// Another agent that speaks the Agent Client Protocol.
    Other,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The run continues.
    Warning,
    /// Something failed.
    Error,
}

/// The content of a message: blocks, or the upstream string if it has no blocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(untagged)]
pub enum Content<'a> {
    /// In this order: thinking, then each tool use with its result, then text.
    Blocks(Vec<Block<'a>>),
    /// The upstream string, which is empty or blank.
    Raw(Text<'a>),
}

impl Content<'_> {
    fn into_owned(self) -> Content<'static> {
        match self {
            Self::Blocks(blocks) => {
                Content::Blocks(blocks.into_iter().map(Block::into_owned).collect())
            }
            Self::Raw(text) => Content::Raw(text.into_owned()),
        }
    }
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block<'a> {
    /// Text in markdown.
    Text {
        /// The text.
        text: Text<'a>,
    },
    /// A thought of the model: `subject: description`.
    Thinking {
        /// The thought.
        thinking: Text<'a>,
    },
    /// A tool call, with Claude's name and arguments for the tool.
    ToolUse {
        /// The id of the call, the same in every source.
        id: Text<'a>,
        /// Claude's name of the tool, or the agent's if Claude has none.
        name: Cow<'a, str>,
        /// The arguments.
        input: Input<'a>,
    },
    /// The result of a tool call.
    ToolResult {
        /// The id of the call.
        tool_use_id: Text<'a>,
        /// All parts of the result.
        content: ResultContent<'a>,
        /// True if the tool failed. A cancelled call is not a failure.
        is_error: bool,
        /// How the call ended.
        status: Status,
    },
    /// An image.
    Image {
        /// Its data.
        source: ImageSource<'a>,
    },
}

impl Block<'_> {
    fn into_owned(self) -> Block<'static> {
        match self {
            Self::Text { text } => Block::Text { text: text.into_owned() },
            Self::Thinking { thinking } => Block::Thinking { thinking: thinking.into_owned() },
            Self::ToolUse { id, name, input } => Block::ToolUse {
                id: id.into_owned(),
                name: Cow::Owned(name.into_owned()),
                input: input.into_owned(),
            },
            Self::ToolResult { tool_use_id, content, is_error, status } => Block::ToolResult {
                tool_use_id: tool_use_id.into_owned(),
                content: content.into_owned(),
                is_error,
                status,
            },
            Self::Image { source } => Block::Image { source: source.into_owned() },
        }
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The tool ran.
    Success,
    /// The tool failed, or could not be run.
    Error,
    /// The call was cancelled or denied.
    Cancelled,
}

/// The output of a tool: one text, or blocks if it has several parts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(untagged)]
pub enum ResultContent<'a> {
    /// One text.
    Text(Text<'a>),
    /// Several parts, which may include images.
    Blocks(Vec<Block<'a>>),
}

impl ResultContent<'_> {
    fn into_owned(self) -> ResultContent<'static> {
        match self {
            Self::Text(text) => ResultContent::Text(text.into_owned()),
            Self::Blocks(blocks) => {
                ResultContent::Blocks(blocks.into_iter().map(Block::into_owned).collect())
            }
        }
    }
}

/// The data of an image.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ImageSource<'a> {
    /// The image data.
    Base64 {
        /// Such as `image/png`.
        media_type: Text<'a>,
        /// The bytes, in base64.
        data: Text<'a>,
    },
    /// The URL of the image.
    Url {
        /// Its address.
        url: Text<'a>,
    },
}

impl ImageSource<'_> {
    fn into_owned(self) -> ImageSource<'static> {
        match self {
            Self::Base64 { media_type, data } => {
                ImageSource::Base64 { media_type: media_type.into_owned(), data: data.into_owned() }
            }
            Self::Url { url } => ImageSource::Url { url: url.into_owned() },
        }
    }
}

/// The arguments of a call.
#[derive(Debug, Clone)]
pub enum Input<'a> {
    /// As the model wrote them.
    Raw(Cow<'a, RawValue>),
    /// Under Claude's names, in order.
    Mapped(Vec<(Cow<'a, str>, Arg<'a>)>),
}

/// One argument of a call.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Arg<'a> {
    /// As the model wrote it.
    Raw(Cow<'a, RawValue>),
    /// Made by the tool table.
    Made(serde_json::Value),
}

impl Input<'_> {
    /// The arguments as a value.
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The same arguments, owned.
    pub fn into_owned(self) -> Input<'static> {
        match self {
            Self::Raw(raw) => Input::Raw(Cow::Owned(raw.into_owned())),
            Self::Mapped(args) => Input::Mapped(
                args.into_iter()
                    .map(|(name, arg)| (Cow::Owned(name.into_owned()), arg.into_owned()))
                    .collect(),
            ),
        }
    }
}

impl Arg<'_> {
    fn into_owned(self) -> Arg<'static> {
        match self {
            Self::Raw(raw) => Arg::Raw(Cow::Owned(raw.into_owned())),
            Self::Made(value) => Arg::Made(value),
        }
    }
}

impl Serialize for Input<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Raw(raw) => raw.serialize(serializer),
            Self::Mapped(args) => {
                serializer.collect_map(args.iter().map(|(name, arg)| (name, arg)))
            }
        }
    }
}

impl PartialEq for Input<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.to_value() == other.to_value()
    }
}

/// Tokens, exactly as Gemini counts them: `input` holds `cached`, and `total` is the sum of input, output, thoughts
/// and tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
pub struct Usage {
    /// The prompt, its cached part included.
    pub input_tokens: u64,
    /// The answer, without thoughts.
    pub output_tokens: u64,
    /// The sum.
    pub total_tokens: u64,
    /// The part of the prompt that was cached.
    pub cached_tokens: u64,
    /// Thoughts.
    pub thoughts_tokens: u64,
    /// What tools added to the prompt.
    pub tool_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.thoughts_tokens = self.thoughts_tokens.saturating_add(other.thoughts_tokens);
        self.tool_tokens = self.tool_tokens.saturating_add(other.tool_tokens);
    }
}
