//! An event on its way into the log: as JSON for clients, whole where that differs, and as words to be found.

use super::row::MessageOp;
use crate::api::Numbered;
use jiff::Timestamp;
use pollux_agent::model::{Block, Content, Event, EventKind, Message, ResultContent};
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt::Write;

/// A text longer than this is cut where it is sent to clients.
const LONGEST_TEXT: usize = 8 << 10;
/// So much of a cut text is sent.
const SENT: usize = 4 << 10;
/// An event longer than this is looked through for texts to cut.
const LONGEST_EVENT: usize = 16 << 10;
/// What words are found in: the first so many bytes of an event.
const WORDS: usize = 256 << 10;

/// One event, as it is kept.
#[derive(Debug)]
pub struct Entry {
    /// Its number.
    pub seq: u64,
    /// Its epoch.
    pub epoch: u64,
    /// When it was written down.
    pub at: Timestamp,
    /// Its kind.
    pub kind: String,
    /// As clients get it.
    pub json: Box<str>,
    /// What was cut, as JSON.
    pub cut: Vec<(String, u64)>,
    /// The whole event, where clients get less.
    pub whole: Option<String>,
    /// The words in it.
    pub words: Option<String>,
    /// What it does to the list of messages.
    pub op: Option<MessageOp>,
}

impl Entry {
    /// As it goes into a frame: the JSON of a [`crate::api::Numbered`], put together without reading it again.
    pub fn write(&self, out: &mut String) {
        // Writing to a string does not fail.
        let (seq, epoch, at) = (self.seq, self.epoch, self.at);
        let _written =
            write!(out, r#"{{"seq":{seq},"epoch":{epoch},"recorded_at":"{at}","event":"#);
        out.push_str(&self.json);
        if !self.cut.is_empty() {
            out.push_str(r#","cut":"#);
            out.push_str(&serde_json::to_string(&self.cut).unwrap_or_default());
        }
        out.push('}');
    }

    /// How much it adds to a frame.
    pub fn bytes(&self) -> usize {
        self.json.len() + 96
    }

    /// As a value.
    pub fn numbered(&self) -> Numbered {
        Numbered {
            seq: self.seq,
            epoch: self.epoch,
            recorded_at: self.at,
            event: raw(self.json.to_string()),
            cut: self.cut.clone(),
        }
    }
}

/// JSON that is known to be JSON.
pub(super) fn raw(json: String) -> Box<RawValue> {
    RawValue::from_string(json).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// An event with its number, ready to be written.
pub fn entry(event: &Event<'_>, seq: u64, epoch: u64, at: Timestamp) -> Entry {
    // To the millisecond, as it will be read again: whoever heard it first has the same.
    let at = Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at);
    let kind = kind(&event.kind).to_owned();
    let json = serde_json::to_string(event).unwrap_or_else(|error| unwritable(&kind, &error));
    let words = words(&event.kind);
    let op = MessageOp::of(&event.kind);
    let has_original = matches!(event.kind, EventKind::MessageRecorded { .. });
    if json.len() <= LONGEST_EVENT && !has_original {
        let (json, cut, whole) = (json.into(), Vec::new(), None);
        return Entry { seq, epoch, at, kind, json, cut, whole, words, op };
    }
    let (short, cut) = without_original(&event.kind, &json)
        .map_or_else(|| shortened(&json), |it| (it, Vec::new()));
    Entry { seq, epoch, at, kind, json: short.into(), cut, whole: Some(json), words, op }
}

/// A message without `_original`, where that is all there is to be left out: most are short, and need not be read again.
fn without_original(kind: &EventKind<'_>, json: &str) -> Option<String> {
    let EventKind::MessageRecorded { message, .. } = kind else { return None };
    let original = format!(r#","_original":{}"#, message.original.trim());
    let from = json.rfind(&original)?;
    let short = [json.get(..from)?, json.get(from + original.len()..)?].concat();
    (short.len() <= LONGEST_TEXT).then_some(short)
}

/// An event that has no JSON is told as one that could not be read.
fn unwritable(kind: &str, error: &serde_json::Error) -> String {
    let reason = format!("could not serialise a {kind} event: {error}");
    serde_json::json!({ "type": "unread", "reason": reason, "text": "", "source": "pollux" })
        .to_string()
}

/// An event without `_original`, its long texts cut; and which ones those are.
pub fn shortened(json: &str) -> (String, Vec<(String, u64)>) {
    shortened_by(json, |_| {})
}

/// The same, where something is done to the whole event first: what it looks for may lie across a cut.
pub(super) fn shortened_by(json: &str, change: fn(&mut Value)) -> (String, Vec<(String, u64)>) {
    let Ok(mut value) = serde_json::from_str::<Value>(json) else {
        return (json.to_owned(), Vec::new());
    };
    if let Some(message) = value.get_mut("message").and_then(Value::as_object_mut) {
        message.remove("_original");
    }
    change(&mut value);
    let cut = cut(&mut value);
    (value.to_string(), cut)
}

/// Cuts the long texts in a value, and says which ones those are.
pub fn cut(value: &mut Value) -> Vec<(String, u64)> {
    let mut cut = Vec::new();
    shorten(value, &mut String::new(), &mut cut);
    cut
}

fn shorten(value: &mut Value, path: &mut String, cut: &mut Vec<(String, u64)>) {
    let length = path.len();
    match value {
        Value::String(text) if text.len() > LONGEST_TEXT => {
            cut.push((path.clone(), text.len() as u64));
            text.truncate(text.floor_char_boundary(SENT));
        }
        Value::Array(values) => {
            for (index, value) in values.iter_mut().enumerate() {
                path.push('/');
                path.push_str(&index.to_string());
                shorten(value, path, cut);
                path.truncate(length);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                path.push('/');
                path.push_str(&name.replace('~', "~0").replace('/', "~1"));
                shorten(value, path, cut);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

/// The name of a kind, as it is in JSON.
fn kind(kind: &EventKind<'_>) -> &'static str {
    match kind {
        EventKind::SessionStarted { .. } => "session_started",
        EventKind::SessionChanged(_) => "session_changed",
        EventKind::SessionRekeyed { .. } => "session_rekeyed",
        EventKind::Asked(_) => "asked",
        EventKind::Answered { .. } => "answered",
        EventKind::TurnStarted { .. } => "turn_started",
        EventKind::TextGrew { .. } => "text_grew",
        EventKind::ToolStarted { .. } => "tool_started",
        EventKind::ToolEnded { .. } => "tool_ended",
        EventKind::UsageChanged { .. } => "usage_changed",
        EventKind::TurnEnded { .. } => "turn_ended",
        EventKind::MessageRecorded { .. } => "message_recorded",
        EventKind::HistoryRewritten { .. } => "history_rewritten",
        EventKind::Notice { .. } => "notice",
        EventKind::Unread { .. } => "unread",
        EventKind::SessionEnded { .. } => "session_ended",
    }
}

/// The words to be found: messages whole, and what never becomes part of one.
fn words(kind: &EventKind<'_>) -> Option<String> {
    let mut words = match kind {
        EventKind::MessageRecorded { message, .. } => of_message(message),
        EventKind::Asked(question) => question.text.to_string(),
        EventKind::Notice { text, .. } => text.clone(),
        EventKind::ToolEnded { output: Some(output), .. } => output.to_string(),
        EventKind::HistoryRewritten { superseded: Some(text), .. } => text.to_string(),
        _ => return None,
    };
    words.truncate(words.floor_char_boundary(WORDS));
    Some(words)
}

fn of_message(message: &Message<'_>) -> String {
    let mut all = Vec::new();
    match &message.content {
        Content::Raw(text) => all.push(text.to_string()),
        Content::Blocks(blocks) => blocks.iter().for_each(|block| of_block(block, &mut all)),
    }
    all.join("\n")
}

fn of_block(block: &Block<'_>, all: &mut Vec<String>) {
    match block {
        Block::Text { text } => all.push(text.to_string()),
        Block::Thinking { thinking } => all.push(thinking.to_string()),
        Block::ToolUse { input, .. } => texts(&input.to_value(), all),
        Block::ToolResult { content: ResultContent::Text(text), .. } => all.push(text.to_string()),
        Block::ToolResult { content: ResultContent::Blocks(blocks), .. } => {
            for block in blocks {
                of_block(block, all);
            }
        }
        Block::Image { .. } => {}
    }
}

/// All texts in a value.
pub(super) fn texts(value: &Value, all: &mut Vec<String>) {
    match value {
        Value::String(text) => all.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| texts(value, all)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, all)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_TEXT, entry, shortened};
    use jiff::Timestamp;
    use pollux_agent::model::{Agent, Content, Event, EventKind, Message, Role, Source, Text};
    use serde_json::Value;

    fn recorded(said: &str, original: &str) -> Event<'static> {
        let message = Message {
            id: Text::from("m1"),
            role: Role::Assistant,
            content: Content::Raw(Text::from(said.to_owned())),
            timestamp: Some(1),
            tool: Agent::Gemini,
            model: None,
            usage: None,
            meta: false,
            level: None,
            restored: Vec::new(),
            copied: false,
            recovered: false,
            original: original.to_owned().into(),
        };
        let kind = EventKind::MessageRecorded { changed: false, message: Box::new(message) };
        Event::new(Source::SessionFile, kind)
    }

    #[test]
    fn a_message_is_sent_without_what_the_agent_wrote_whatever_is_in_it() {
        let long = "x".repeat(LONGEST_TEXT + 1);
        let deep = r#"{"_original":{"a":1},"text":",\"_original\":{}"}"#;
        for (said, original) in [
            ("short", r#"{"a":1}"#),
            ("short", " {\"a\": 1}\n"),
            (r#"says ,"_original":{"a":1}"#, r#"{"a":1}"#),
            ("short", deep),
            (deep, "null"),
            (long.as_str(), r#"{"a":1}"#),
        ] {
            let entry = entry(&recorded(said, original), 1, 0, Timestamp::UNIX_EPOCH);
            let whole = entry.whole.unwrap();
            let read = |json: &str| serde_json::from_str::<Value>(json).unwrap();
            let (slow, cut) = shortened(&whole);
            assert_eq!((read(&entry.json), entry.cut), (read(&slow), cut), "{said} {original}");
            assert!(read(&whole)["message"].get("_original").is_some());
        }
    }
}
