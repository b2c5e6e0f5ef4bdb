//! What holds for every history, and not only for those that somebody recorded.

use crate::history::{Record, Repeats, history, log};
use crate::test_data::recordings;
use pollux_agent::gemini::transcript::digest::{Calls, digest, digest_document, digest_lines};
use pollux_agent::gemini::transcript::follow::Follow;
use pollux_agent::gemini::transcript::{Transcript, events, text};
use pollux_agent::model::{Block, Event, EventKind, Message, Status};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::Write;
use std::path::PathBuf;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn a_history_is_replayed_as_a_naive_reader_would(records in history(Repeats::Ids)) {
        let text = log(&records);
        let read: Vec<Seen> =
            Transcript::read(&text).messages().map(|message| in_any_order(seen(&message))).collect();
        prop_assert_eq!(read, naive(&records));
    }

    #[test]
    fn what_is_followed_adds_up_to_what_is_read(records in history(Repeats::Anything)) {
        let text = log(&records);
        prop_assert_eq!(folded(&events(text.as_bytes())), standing(&text));
    }

    #[test]
    fn bytes_in_any_split_are_the_same_events(
        records in history(Repeats::Anything),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        // A log begins with its header; where the first line is broken, only time tells that it is one.
        let bytes = format!("{{\"sessionId\":\"s\"}}\n{}", log(&records)).into_bytes();
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        ends.push(bytes.len());
        ends.sort_unstable();
        prop_assert_eq!(shown(&followed(&bytes, &ends)), shown(&events(&bytes)));
    }

    #[test]
    fn sums_are_those_of_the_messages(records in history(Repeats::Ids)) {
        let text = format!("{{\"sessionId\":\"s\"}}\n{}", log(&records));
        let sums = digest(&text);
        let transcript = Transcript::read(&text);
        prop_assert_eq!(sums.messages, transcript.messages().count() as u64);
        prop_assert_eq!(shown_calls(&sums.tools), counted(&transcript.messages_ever()));
        let streamed = digest_lines(text.as_bytes()).unwrap();
        prop_assert_eq!(json!(streamed), json!(sums));
    }

    #[test]
    fn the_sums_of_a_document_are_the_same_in_memory_and_streamed(records in history(Repeats::Anything)) {
        let messages: Vec<&Value> = records.iter().filter_map(|record| match record {
            Record::Json(value) if value.get("type").is_some() => Some(value),
            _ => None,
        }).collect();
        let document = json!({ "sessionId": "s", "projectHash": "p", "messages": messages });
        let text = serde_json::to_string_pretty(&document).unwrap();
        let sums = digest(&text);
        prop_assert_eq!(sums.messages, Transcript::read(&text).messages().count() as u64);
        prop_assert_eq!(json!(digest_document(text.as_bytes())), json!(sums));
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read_in_every_way(&bytes);
    }

    #[test]
    fn random_json_never_panics(values in prop::collection::vec(any_json(), 1..5), pretty in any::<bool>()) {
        let write = |value: &Value| if pretty { format!("{value:#}\n") } else { format!("{value}\n") };
        let text: String = values.iter().map(write).collect();
        read_in_every_way(text.as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn a_damaged_recording_never_panics(
        file in any::<prop::sample::Index>(),
        end in any::<prop::sample::Index>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8u8), 0..6),
    ) {
        let files = small_recordings();
        let mut bytes = fs::read(file.get(&files)).unwrap();
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        bytes.truncate(end.index(bytes.len() + 1));
        read_in_every_way(&bytes);
    }
}

#[test]
fn bytes_that_are_no_text_do_not_end_a_document() {
    let said = |id: &str, words: &str| json!({ "id": id, "type": "user", "timestamp": "2026-01-01T00:00:00Z", "content": words });
    let messages = [said("1", "one BROKEN"), said("2", "two")];
    let document = json!({ "sessionId": "s", "messages": messages, "summary": "BROKEN" });
    let text = serde_json::to_string_pretty(&document).unwrap();
    let parts: Vec<&[u8]> = text.split("BROKEN").map(str::as_bytes).collect();
    // Too much of a letter, and too little of one.
    let bytes = [parts[0], b"\xff\xfe", parts[1], b"\xe2\x82", parts[2]].concat();
    let sums = digest_document(bytes.as_slice());
    assert_eq!((sums.messages, sums.diagnostics.len()), (2, 0));
    let whole = pollux_agent::gemini::transcript::text(&bytes);
    assert_eq!(json!(sums), json!(digest(&whole)));
}

/// Every way in which the library reads a session file.
pub(crate) fn read_in_every_way(bytes: &[u8]) {
    let whole = text(bytes);
    let transcript = Transcript::read(&whole);
    let messages = transcript.messages().count() as u64;
    for message in transcript.messages_ever() {
        serde_json::to_string(&message).unwrap();
    }
    assert_eq!(digest(&whole).messages, messages);
    digest_lines(bytes).unwrap();
    digest_document(bytes);
    events(bytes);
    followed(bytes, &[bytes.len() / 3, bytes.len()]);
}

/// The events of a file that is written in pieces which end there.
fn followed(bytes: &[u8], ends: &[usize]) -> Vec<Event<'static>> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    let mut file = fs::File::create(&path).unwrap();
    let mut follow = Follow::new(&path);
    let mut events = Vec::new();
    let mut start = 0;
    for end in ends {
        file.write_all(&bytes[start..*end]).unwrap();
        start = *end;
        events.extend(follow.poll());
    }
    events
}

fn shown(events: &[Event<'_>]) -> Vec<Value> {
    events.iter().map(|event| json!(event)).collect()
}

/// A message as it looks, without its record.
fn look(message: &Message<'_>) -> Value {
    let mut value = json!(message);
    let fields = value.as_object_mut().unwrap();
    fields.remove("_original");
    fields.remove("restored");
    fields.remove("copied");
    value
}

fn standing(text: &str) -> BTreeMap<String, Value> {
    let transcript = Transcript::read(text);
    transcript.messages().map(|message| (message.id.to_string(), look(&message))).collect()
}

/// What somebody has who only heard the events.
pub(crate) fn folded(events: &[Event<'_>]) -> BTreeMap<String, Value> {
    let mut messages = BTreeMap::new();
    for event in events {
        match &event.kind {
            EventKind::MessageRecorded { changed, message } => {
                let earlier = messages.insert(message.id.to_string(), look(message));
                assert_eq!(
                    *changed,
                    earlier.is_some(),
                    "`changed` says whether there was one: {event:?}"
                );
            }
            EventKind::HistoryRewritten { removed, .. } => {
                for id in removed {
                    messages.remove(&id.to_string());
                }
            }
            _ => {}
        }
    }
    messages
}

/// What the naive reader looks at: the id, the words, the calls.
type Seen = (String, String, Vec<String>);

fn seen(message: &Message<'_>) -> Seen {
    let calls = message.blocks().iter().filter_map(|block| match block {
        Block::ToolUse { id, .. } => Some(id.to_string()),
        _ => None,
    });
    (message.id.to_string(), message.text(), calls.collect())
}

/// A message of the naive reader: its id, its newest record, the calls in its `toolCalls`.
type Naive = (String, Value, Vec<String>);

/// The rules of the format, in the plainest words: a list, and a loop over the records.
fn naive(records: &[Record]) -> Vec<Seen> {
    let mut list: Vec<Naive> = Vec::new();
    let mut gone: Vec<Naive> = Vec::new();
    for record in records {
        let Record::Json(row) = record else { continue };
        if let Some(target) = row["$rewindTo"].as_str() {
            let at = list.iter().position(|(id, ..)| id == target).unwrap_or(0);
            gone.extend(list.split_off(at));
        } else if row["id"].is_string() {
            naive_upsert(&mut list, row, &gone);
        } else if let Some(messages) = row["$set"]["messages"].as_array() {
            gone.append(&mut list);
            for message in messages {
                naive_upsert(&mut list, message, &gone);
            }
        }
    }
    let made: HashSet<String> = list.iter().flat_map(naive_calls).collect();
    let shown = |message: &Naive| {
        let (id, row, _) = message;
        let (words, calls) = (naive_words(row), naive_calls(message));
        let answered = naive_ids(row, "functionResponse");
        let is_alone = !answered.is_empty() && words.is_empty() && calls.is_empty();
        let is_folded = is_alone && answered.iter().all(|call| made.contains(call));
        (!is_folded).then(|| (id.clone(), naive_text(row), calls))
    };
    list.iter().filter_map(shown).map(in_any_order).collect()
}

/// In which order the calls of several records come is not said.
fn in_any_order((id, words, mut calls): Seen) -> Seen {
    calls.sort();
    (id, words, calls)
}

fn naive_upsert(list: &mut Vec<Naive>, row: &Value, gone: &[Naive]) {
    let id = row["id"].as_str().unwrap().to_owned();
    let calls = row["toolCalls"].as_array().into_iter().flatten();
    let mut listed: Vec<String> =
        calls.map(|call| call["id"].as_str().unwrap().to_owned()).collect();
    // A later record of a message may lack calls that an earlier one had.
    let last = list.iter().chain(gone.iter().rev()).find(|(other, ..)| *other == id);
    if let Some(last) = last.filter(|(_, last, _)| last["type"] == row["type"]) {
        let mut mine = listed.clone();
        mine.extend(naive_ids(row, "functionCall"));
        let made = naive_calls(last).into_iter();
        listed.extend(made.filter(|call| !mine.contains(call)));
    }
    match list.iter_mut().find(|(other, ..)| *other == id) {
        Some(old) => *old = (id, row.clone(), listed),
        None => list.push((id, row.clone(), listed)),
    }
}

fn naive_calls((_, row, listed): &Naive) -> Vec<String> {
    let in_parts = naive_ids(row, "functionCall").into_iter();
    listed.iter().cloned().chain(in_parts.filter(|call| !listed.contains(call))).collect()
}

fn naive_ids(row: &Value, kind: &str) -> Vec<String> {
    let parts = row["content"].as_array().into_iter().flatten();
    parts.filter_map(|part| Some(part[kind]["id"].as_str()?.to_owned())).collect()
}

fn naive_words(row: &Value) -> Vec<String> {
    let parts = row["content"].as_array().into_iter().flatten();
    let texts = parts.filter_map(|part| part["text"].as_str()).chain(row["content"].as_str());
    texts.filter(|text| !text.trim().is_empty()).map(str::to_owned).collect()
}

/// The words of all parts that are not blank.
fn naive_text(row: &Value) -> String {
    naive_words(row).join("\n\n")
}

/// The calls of all messages by name, each once: all of them, those that failed, those that were cancelled.
fn counted(messages: &[Message<'_>]) -> BTreeMap<String, [u64; 3]> {
    let mut ended = HashMap::new();
    let mut names = BTreeMap::new();
    for block in messages.iter().flat_map(Message::blocks) {
        match block {
            Block::ToolUse { id, name, .. } => {
                names.entry(id.to_string()).or_insert_with(|| name.to_string());
            }
            Block::ToolResult { tool_use_id, status, .. } => {
                ended.entry(tool_use_id.to_string()).or_insert(*status);
            }
            _ => {}
        }
    }
    let mut counts: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for (id, name) in names {
        let count = counts.entry(name).or_default();
        count[0] += 1;
        count[1] += u64::from(ended.get(&id) == Some(&Status::Error));
        count[2] += u64::from(ended.get(&id) == Some(&Status::Cancelled));
    }
    counts
}

fn shown_calls(tools: &BTreeMap<String, Calls>) -> BTreeMap<String, [u64; 3]> {
    let shown = |(name, calls): (&String, &Calls)| {
        (name.clone(), [calls.calls, calls.failed, calls.cancelled])
    };
    tools.iter().map(shown).collect()
}

/// The keys that the reader looks for, with anything in them.
fn any_json() -> impl Strategy<Value = Value> {
    const KEYS: &[&str] = &[
        "$set",
        "$rewindTo",
        "id",
        "type",
        "content",
        "messages",
        "toolCalls",
        "thoughts",
        "tokens",
        "sessionId",
        "timestamp",
        "result",
        "functionResponse",
        "functionCall",
        "response",
        "parts",
        "inlineData",
        "text",
        "args",
        "name",
        "input",
        "total",
        "status",
        "start_line",
        "end_line",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        Just(json!("read_file")),
        Just(json!("gemini")),
        ".{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 40, 5, |inner| {
        let keys = prop::sample::select(KEYS).prop_map(str::to_owned);
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            3 => prop::collection::vec((keys, inner), 0..8)
                .prop_map(|entries| entries.into_iter().collect::<Value>()),
        ]
    })
}

/// Recorded sessions that are small enough to be read many times.
fn small_recordings() -> Vec<PathBuf> {
    let root = recordings();
    let mut files = Vec::new();
    for version in fs::read_dir(root).unwrap() {
        let Ok(sessions) = fs::read_dir(version.unwrap().path().join("sessions")) else { continue };
        files.extend(sessions.map(|entry| entry.unwrap().path()));
    }
    files.retain(|path| fs::metadata(path).unwrap().len() < 40_000);
    files.sort();
    assert!(files.len() > 10, "the recordings are not where they should be");
    files
}
