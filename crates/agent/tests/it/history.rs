//! Histories for the property tests: random records of a session, as the CLI or something worse could write them.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// A log as text, one record on each line.
pub(crate) fn log(records: &[Record]) -> String {
    records.iter().flat_map(|record| [record.line(), "\n".to_owned()]).collect()
}

/// One line of a log.
#[derive(Debug, Clone)]
pub(crate) enum Record {
    Json(Value),
    /// Something that is not JSON.
    Corrupt(&'static str),
}

impl Record {
    fn line(&self) -> String {
        match self {
            Self::Json(value) => value.to_string(),
            Self::Corrupt(text) => (*text).to_owned(),
        }
    }
}

/// How much may be repeated in a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeats {
    /// Only ids: no two messages say the same or make the same call.
    Ids,
    /// Anything: a message may be a copy of another under a new id.
    Anything,
}

pub(crate) fn history(repeats: Repeats) -> impl Strategy<Value = Vec<Record>> {
    prop::collection::vec(record(repeats), 0..16)
}

fn record(repeats: Repeats) -> impl Strategy<Value = Record> {
    let corrupt =
        select(&["{\"id\":\"m1\",\"type\":\"us", "not json", "{\"id\" 1}", "", "\u{feff}"][..]);
    let header =
        json!({ "sessionId": "s", "projectHash": "p", "startTime": "2026-01-01T00:00:00Z" });
    prop_oneof![
        10 => message(repeats).prop_map(Record::Json),
        3 => prop::collection::vec(message(repeats), 0..6)
            .prop_map(|list| Record::Json(json!({ "$set": { "messages": list } }))),
        2 => id().prop_map(|id| Record::Json(json!({ "$rewindTo": id }))),
        1 => Just(Record::Json(json!({ "$rewindTo": "unknown" }))),
        1 => Just(Record::Json(json!({ "$set": { "summary": "about", "lastUpdated": "2026-01-01T00:00:09Z" } }))),
        1 => Just(Record::Json(header)),
        1 => corrupt.prop_map(Record::Corrupt),
    ]
}

fn id() -> impl Strategy<Value = String> {
    (0..6u8).prop_map(|number| format!("m{number}"))
}

fn message(repeats: Repeats) -> impl Strategy<Value = Value> {
    let message = prop_oneof![
        2 => (id(), text(repeats)).prop_map(user),
        3 => (id(), text(repeats), calls(), any::<[bool; 4]>())
            .prop_map(move |(id, text, calls, with)| answer(repeats, &id, &text, &calls, with)),
        2 => (id(), prop::collection::vec((0..6u8, 0..3u8), 1..3), any::<bool>())
            .prop_map(move |(id, answered, words)| responses(repeats, &id, &answered, words)),
    ];
    (message, 0..60u8).prop_map(|(mut message, second)| {
        message["timestamp"] = json!(format!("2026-01-01T00:00:{second:02}Z"));
        message
    })
}

/// Words; with a number that hardly comes twice where nothing may be repeated.
fn text(repeats: Repeats) -> impl Strategy<Value = String> {
    (select(&["hello", "", " ", "a\u{2028}b", "é\"\\ud83d"][..]), any::<u64>()).prop_map(
        move |(text, number)| match repeats {
            Repeats::Anything => text.to_owned(),
            Repeats::Ids => format!("{text}{number}"),
        },
    )
}

/// Which calls an answer makes, and which of them have their result.
fn calls() -> impl Strategy<Value = Vec<(u8, bool)>> {
    prop::collection::btree_map(0..3u8, any::<bool>(), 0..3)
        .prop_map(|calls| calls.into_iter().collect())
}

fn call_id(repeats: Repeats, message: &str, call: u8) -> String {
    match repeats {
        Repeats::Anything => format!("c{call}"),
        Repeats::Ids => format!("{message}-c{call}"),
    }
}

fn user((id, text): (String, String)) -> Value {
    json!({ "id": id, "type": "user", "content": [{ "text": text }] })
}

fn answer(
    repeats: Repeats,
    id: &str,
    text: &str,
    calls: &[(u8, bool)],
    [parts, tokens, thoughts, in_parts]: [bool; 4],
) -> Value {
    let content = if parts { json!([{ "text": text }]) } else { json!(text) };
    let mut row = json!({ "id": id, "type": "gemini", "content": content });
    let listed = calls.iter().map(|(call, done)| {
        let id = call_id(repeats, id, *call);
        let mut row = json!({ "id": id, "name": "read_file", "args": { "file_path": "f" } });
        if *done {
            row["status"] = json!(["success", "error", "cancelled"][usize::from(*call)]);
            row["result"] =
                json!([{ "functionResponse": { "id": id, "response": { "output": "own" } } }]);
        }
        row
    });
    let listed: Vec<Value> = listed.collect();
    if in_parts && parts {
        let parts = calls.iter().map(|(call, _)| {
            json!({ "functionCall": { "id": call_id(repeats, id, *call), "name": "read_file", "args": {} } })
        });
        row["content"].as_array_mut().unwrap().extend(parts);
    } else if !listed.is_empty() {
        row["toolCalls"] = json!(listed);
    }
    if tokens {
        row["tokens"] = json!({ "input": 3, "output": 2, "total": 5 });
        row["model"] = json!("gemini-3-flash-preview");
    }
    if thoughts {
        row["thoughts"] = json!([{ "subject": "Thinking", "description": "of it" }]);
    }
    row
}

/// The record that answers calls, with words of a person or without.
fn responses(repeats: Repeats, id: &str, answered: &[(u8, u8)], words: bool) -> Value {
    let part = |(message, call): &(u8, u8)| {
        let id = call_id(repeats, &format!("m{message}"), *call);
        json!({ "functionResponse": { "id": id, "name": "read_file", "response": { "output": "later" } } })
    };
    let mut parts: Vec<Value> = answered.iter().map(part).collect();
    if words {
        parts.push(json!({ "text": "and more" }));
    }
    json!({ "id": id, "type": "user", "content": parts })
}
