//! Events and messages, read back from the JSON that they were written as. What is written again is the same.

use super::{
    Agent, Answer, At, Block, Change, Content, Derived, Event, EventKind, Failure, ImageSource,
    Input, Level, Meaning, Message, Part, Phase, Question, ResultContent, Rewrite, Role, Scope,
    SessionChange, Source, Status, StopReason, Text, Usage,
};
use serde::de::{DeserializeOwned, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The words that programs go by (codes, names of facts) are few. Whoever makes up more than this reads `other`.
const WORDS: usize = 1024;
/// They are short, too: what is kept for good must not be what somebody chose to send.
const LONGEST_WORD: usize = 256;

impl Event<'static> {
    /// Reads an event.
    ///
    /// ```
    /// use pollux_agent::model::Event;
    ///
    /// let json = r#"{"type":"text_grew","part":"text","text":"two\nlines","source":"acp"}"#;
    /// let event = Event::from_json(json).unwrap();
    /// assert_eq!(serde_json::to_string(&event).unwrap(), json);
    /// ```
    pub fn from_json(json: &str) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Around {
            source: Source,
            derived: Option<String>,
            at: Option<At>,
        }
        let Around { source, derived, at } = serde_json::from_str(json)?;
        let kind = tagged::<Kind<'static>>(json, Tag::Type)?.into();
        Ok(Self { kind, source, derived: derived.as_deref().map(known), at })
    }
}

impl Message<'static> {
    /// Reads a message. One without `_original` has `null` there.
    pub fn from_json(json: &str) -> serde_json::Result<Self> {
        serde_json::from_str(json)
    }
}

/// The field that says which variant it is.
#[derive(Clone, Copy)]
enum Tag {
    Type,
    Kind,
}

/// Reads an enum one of whose fields says which variant it is. Serde would keep a copy of all values meanwhile, in which texts
/// are no longer as they were written; so the variant is looked up first.
fn tagged<T: DeserializeOwned>(json: &str, tag: Tag) -> serde_json::Result<T> {
    #[derive(Deserialize)]
    struct Tags {
        r#type: Option<Box<RawValue>>,
        kind: Option<Box<RawValue>>,
    }
    let tags: Tags = serde_json::from_str(json)?;
    let name = match tag {
        Tag::Type => tags.r#type,
        Tag::Kind => tags.kind,
    };
    let name = name.map_or_else(|| "\"\"".to_owned(), |name| name.get().to_owned());
    serde_json::from_str(&format!("{{{name}:{json}}}"))
}

fn each<T: DeserializeOwned>(raw: &RawValue) -> serde_json::Result<Vec<T>> {
    let all: Vec<&RawValue> = serde_json::from_str(raw.get())?;
    all.into_iter().map(|one| tagged(one.get(), Tag::Type)).collect()
}

/// The kinds of events, each under its own name.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind<'a> {
    SessionStarted {
        session_id: Text<'a>,
        project_hash: Option<Text<'a>>,
        started_at: Option<At>,
        kind: Option<Text<'a>>,
        model: Option<Text<'a>>,
    },
    SessionChanged(SessionChange<'a>),
    SessionRekeyed {
        from: Text<'a>,
        session_id: Text<'a>,
    },
    Asked(Box<Question<'a>>),
    Answered {
        question_id: Text<'a>,
        outcome: Became,
        choice: Option<Text<'a>>,
        reason: Option<Text<'a>>,
    },
    TurnStarted {
        prompt: Text<'a>,
    },
    TextGrew {
        part: Part,
        text: Text<'a>,
        message_id: Option<Text<'a>>,
    },
    ToolStarted {
        id: Text<'a>,
        name: Text<'a>,
        input: Input<'a>,
        meaning: Option<Box<Meaning>>,
    },
    ToolEnded {
        id: Text<'a>,
        name: Option<Text<'a>>,
        status: Status,
        changed: bool,
        output: Option<Text<'a>>,
        error: Option<Text<'a>>,
        meaning: Option<Box<Meaning>>,
    },
    UsageChanged {
        scope: Scope,
        usage: Usage,
        model: Option<Text<'a>>,
        message_id: Option<Text<'a>>,
    },
    TurnEnded {
        stop_reason: StopReason,
        duration_ms: Option<u64>,
        tool_calls: Option<u64>,
        error: Option<Box<Failure>>,
    },
    MessageRecorded {
        changed: bool,
        message: Box<Message<'a>>,
    },
    HistoryRewritten {
        epoch: u64,
        reason: Rewrite,
        removed: Vec<Text<'a>>,
        superseded: Option<Text<'a>>,
    },
    Notice {
        level: Level,
        text: String,
    },
    Unread {
        line: Option<u64>,
        reason: String,
        text: String,
    },
    SessionEnded {
        reason: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Became {
    Chosen,
    Cancelled,
    Elsewhere,
}

impl<'a> From<Kind<'a>> for EventKind<'a> {
    fn from(kind: Kind<'a>) -> Self {
        match kind {
            Kind::SessionStarted { session_id, project_hash, started_at, kind, model } => {
                Self::SessionStarted { session_id, project_hash, started_at, kind, model }
            }
            Kind::SessionChanged(change) => Self::SessionChanged(change),
            Kind::SessionRekeyed { from, session_id } => Self::SessionRekeyed { from, session_id },
            Kind::Asked(question) => Self::Asked(question),
            Kind::Answered { question_id, outcome, choice, reason } => {
                let answer = match (outcome, choice) {
                    (Became::Chosen, Some(choice)) => Answer::Chosen { choice, reason },
                    (Became::Cancelled, _) => Answer::Cancelled,
                    (Became::Elsewhere | Became::Chosen, _) => Answer::Elsewhere,
                };
                Self::Answered { question_id, answer }
            }
            Kind::TurnStarted { prompt } => Self::TurnStarted { prompt },
            Kind::TextGrew { part, text, message_id } => Self::TextGrew { part, text, message_id },
            Kind::ToolStarted { id, name, input, meaning } => {
                Self::ToolStarted { id, name, input, meaning }
            }
            Kind::ToolEnded { id, name, status, changed, output, error, meaning } => {
                Self::ToolEnded { id, name, status, changed, output, error, meaning }
            }
            Kind::UsageChanged { scope, usage, model, message_id } => {
                Self::UsageChanged { scope, usage, model, message_id }
            }
            Kind::TurnEnded { stop_reason, duration_ms, tool_calls, error } => {
                Self::TurnEnded { stop_reason, duration_ms, tool_calls, error }
            }
            Kind::MessageRecorded { changed, message } => {
                Self::MessageRecorded { changed, message }
            }
            Kind::HistoryRewritten { epoch, reason, removed, superseded } => {
                Self::HistoryRewritten { epoch, reason, removed, superseded }
            }
            Kind::Notice { level, text } => Self::Notice { level, text },
            Kind::Unread { line, reason, text } => Self::Unread { line, reason, text },
            Kind::SessionEnded { reason } => Self::SessionEnded { reason },
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Piece<'a> {
    Text { text: Text<'a> },
    Thinking { thinking: Text<'a> },
    ToolUse { id: Text<'a>, name: String, input: Input<'a> },
    ToolResult { tool_use_id: Text<'a>, content: Box<RawValue>, is_error: bool, status: Status },
    Image { source: Box<RawValue> },
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Picture<'a> {
    Base64 { media_type: Text<'a>, data: Text<'a> },
    Url { url: Text<'a> },
}

/// Where blocks stand. A result holds no results: whoever wrote one in another, and so on, would have us call ourselves
/// without end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum In {
    Message,
    Result,
}

fn blocks(raw: &RawValue, place: In) -> serde_json::Result<Vec<Block<'static>>> {
    each::<Piece<'static>>(raw)?.into_iter().map(|piece| block(piece, place)).collect()
}

fn block(piece: Piece<'static>, place: In) -> serde_json::Result<Block<'static>> {
    Ok(match piece {
        Piece::Text { text } => Block::Text { text },
        Piece::Thinking { thinking } => Block::Thinking { thinking },
        Piece::ToolUse { id, name, input } => Block::ToolUse { id, name: name.into(), input },
        Piece::ToolResult { .. } if place == In::Result => {
            return Err(serde_json::Error::custom("a result in a result"));
        }
        Piece::ToolResult { tool_use_id, content, is_error, status } => {
            let content = match Text::from_raw(&content) {
                Some(text) => ResultContent::Text(text.into_owned()),
                None => ResultContent::Blocks(blocks(&content, In::Result)?),
            };
            Block::ToolResult { tool_use_id, content, is_error, status }
        }
        Piece::Image { source } => Block::Image {
            source: match tagged(source.get(), Tag::Type)? {
                Picture::Base64 { media_type, data } => ImageSource::Base64 { media_type, data },
                Picture::Url { url } => ImageSource::Url { url },
            },
        },
    })
}

impl<'de> Deserialize<'de> for Content<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Ok(match Text::from_raw(&raw) {
            Some(text) => Self::Raw(text.into_owned()),
            None => Self::Blocks(blocks(&raw, In::Message).map_err(D::Error::custom)?),
        })
    }
}

impl<'de> Deserialize<'de> for Message<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[expect(clippy::struct_excessive_bools, reason = "the fields of the message, one for one")]
        struct Fields {
            id: Text<'static>,
            role: Role,
            content: Content<'static>,
            timestamp: Option<i64>,
            tool: Agent,
            model: Option<Text<'static>>,
            usage: Option<Usage>,
            #[serde(default)]
            meta: bool,
            level: Option<Level>,
            #[serde(default)]
            restored: Vec<String>,
            #[serde(default)]
            copied: bool,
            #[serde(default)]
            recovered: bool,
            #[serde(rename = "_original")]
            original: Option<Box<RawValue>>,
        }
        let read = Fields::deserialize(deserializer)?;
        let original = read.original.map_or_else(|| "null".to_owned(), |raw| raw.get().to_owned());
        Ok(Self {
            id: read.id,
            role: read.role,
            content: read.content,
            timestamp: read.timestamp,
            tool: read.tool,
            model: read.model,
            usage: read.usage,
            meta: read.meta,
            level: read.level,
            restored: read.restored.iter().map(|name| known(name)).collect(),
            copied: read.copied,
            recovered: read.recovered,
            original: Cow::Owned(original),
        })
    }
}

impl<'de> Deserialize<'de> for Text<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text = Text::from_raw(&raw).ok_or_else(|| D::Error::custom("not a string"))?;
        Ok(text.into_owned())
    }
}

impl<'de> Deserialize<'de> for Input<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::Raw(Cow::Owned(Box::<RawValue>::deserialize(deserializer)?)))
    }
}

impl<'de> Deserialize<'de> for At {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        let time: jiff::Timestamp = text.parse().map_err(D::Error::custom)?;
        Ok(Self(time.as_millisecond()))
    }
}

impl<'de> Deserialize<'de> for Derived {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Facts;
        impl<'de> Visitor<'de> for Facts {
            type Value = Derived;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("facts, each with its place")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Derived, M::Error> {
                let mut facts = Vec::new();
                while let Some((fact, from)) = map.next_entry::<String, String>()? {
                    facts.push((known(&fact), known(&from)));
                }
                Ok(Derived(facts))
            }
        }
        deserializer.deserialize_map(Facts)
    }
}

/// What a call is about, each under its own name.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum About {
    Command {
        command: String,
        output: Option<Text<'static>>,
        exit_code: Option<i32>,
        derived: Derived,
    },
    Mutation {
        path: String,
        change: Option<Change>,
        diff: Option<String>,
        derived: Derived,
    },
    Card {
        title: String,
        derived: Derived,
    },
    Diff {
        diff: String,
        derived: Derived,
    },
}

impl<'de> Deserialize<'de> for Meaning {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Ok(match tagged(raw.get(), Tag::Kind).map_err(D::Error::custom)? {
            About::Command { command, output, exit_code, derived } => {
                Self::Command { command, output, exit_code, derived }
            }
            About::Mutation { path, change, diff, derived } => {
                Self::Mutation { path, change, diff, derived }
            }
            About::Card { title, derived } => Self::Card { title, derived },
            About::Diff { diff, derived } => Self::Diff { diff, derived },
        })
    }
}

/// A failure, as it is read.
#[derive(Deserialize)]
struct Failed {
    phase: Phase,
    code: String,
    message: String,
    hint: Option<Box<str>>,
    retryable: bool,
    exit_code: Option<i32>,
    signal: Option<i32>,
    http_status: Option<u16>,
    #[serde(default)]
    stderr: Box<str>,
    rpc_code: Option<i32>,
    upstream: Option<Box<RawValue>>,
}

impl<'de> Deserialize<'de> for Failure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Failed::deserialize(deserializer).map(Self::from)
    }
}

impl From<Failed> for Failure {
    fn from(read: Failed) -> Self {
        Self {
            phase: read.phase,
            code: known(&read.code),
            message: read.message,
            hint: read.hint,
            retryable: read.retryable,
            exit_code: read.exit_code,
            signal: read.signal,
            http_status: read.http_status,
            stderr: read.stderr,
            rpc_code: read.rpc_code,
            upstream: read.upstream,
        }
    }
}

/// A word that stays.
fn known(word: &str) -> &'static str {
    static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(word) = all.get(word) {
        return word;
    }
    if all.len() >= WORDS || word.len() > LONGEST_WORD {
        return "other";
    }
    let stays: &'static str = Box::leak(word.into());
    all.insert(stays);
    stays
}
