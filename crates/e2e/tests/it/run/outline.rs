//! The events of a run in an outline that is the same in every run: no times, no ids, no paths. What the two sources say
//! is shown one after the other, since how they interleave is a matter of milliseconds.

use pollux_agent::gemini::stream::Outcome;
use pollux_agent::model::{Event, EventKind, Part, Source};
use pollux_e2e::Stage;
use serde_json::{Value, json};
use std::fmt::Write;

/// Texts longer than this are shown by their beginning and their length.
const LONGEST: usize = 300;

/// What differs from run to run, or is too long to read.
const GONE: [&str; 8] = [
    "at",
    "timestamp",
    "started_at",
    "project_hash",
    "duration_ms",
    "_original",
    "stderr",
    "upstream",
];

pub(super) fn outline(events: &[Event<'static>], outcome: &Outcome, stage: &Stage) -> String {
    let mut out = String::new();
    let mut names = Vec::new();
    for source in [Source::Stream, Source::SessionFile, Source::Pollux] {
        writeln!(out, "== {source:?}").unwrap();
        let mut said = String::new();
        for event in events.iter().filter(|event| event.source == source) {
            // Where the text is cut is a matter of milliseconds too.
            if let EventKind::TextGrew { part: Part::Text, text, .. } = &event.kind {
                said.push_str(&text.to_str());
                continue;
            }
            flush(&mut said, &mut out);
            // A file that is rewritten as a whole shows as many states of a message as it was looked at in time.
            if is_overtaken(event, events) {
                continue;
            }
            let mut value = serde_json::to_value(event).unwrap();
            tidy(&mut value, &mut names);
            writeln!(out, "{value}").unwrap();
        }
        flush(&mut said, &mut out);
    }
    let mut end = json!({
        "text": outcome.text,
        "stop_reason": outcome.stop_reason,
        "turns": outcome.turns,
        "messages": outcome.messages.len(),
        "model": outcome.model,
        "session_file": outcome.session_file.is_some(),
    });
    tidy(&mut end, &mut names);
    writeln!(out, "== outcome\n{end}").unwrap();
    let home = stage.home().path().display().to_string();
    let out = out.replace(&stage.workspace().display().to_string(), "[workspace]");
    out.replace(&home, "[home]")
}

/// True for a message of which a later state was told.
fn is_overtaken(event: &Event<'_>, events: &[Event<'_>]) -> bool {
    let id = |event: &Event<'_>| match &event.kind {
        EventKind::MessageRecorded { message, .. } => Some(message.id.to_string()),
        _ => None,
    };
    let own = id(event);
    let last = events.iter().rev().find(|other| own.is_some() && id(other) == own);
    last.is_some_and(|last| !std::ptr::eq(last, event))
}

fn flush(said: &mut String, out: &mut String) {
    if !said.is_empty() {
        let mut text = json!(std::mem::take(said));
        shorten(&mut text);
        writeln!(out, "text {text}").unwrap();
    }
}

/// Ids become numbers in the order in which they are first seen; what differs from run to run goes.
fn tidy(value: &mut Value, names: &mut Vec<String>) {
    let map = match value {
        Value::Object(map) => map,
        Value::Array(list) => {
            for item in list {
                tidy(item, names);
            }
            return;
        }
        other => return shorten(other),
    };
    for gone in GONE {
        map.remove(gone);
    }
    // Where each fact of a meaning came from is shown, where an event came from is not.
    if map.get("derived").is_some_and(Value::is_string) {
        map.remove("derived");
    }
    if map.contains_key("message") {
        map.remove("changed");
    }
    for id in ["id", "session_id", "message_id", "tool_use_id"] {
        if let Some(Value::String(name)) = map.get(id).cloned() {
            let at = names.iter().position(|known| *known == name);
            let at = at.unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            map.insert(id.to_owned(), json!(format!("#{at}")));
        }
    }
    if map.get("removed").is_some() {
        map.insert("removed".to_owned(), json!("…"));
    }
    map.values_mut().for_each(|value| tidy(value, names));
}

fn shorten(value: &mut Value) {
    let Value::String(text) = value else { return };
    if text.contains("<session_context>") {
        "<session_context>…".clone_into(text);
    }
    // A process has another number each time.
    if let Some((before, after)) = text.split_once("Process Group PGID: ") {
        let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
        *text = format!("{before}Process Group PGID: N{rest}");
    }
    if let Some((before, _)) = text.split_once(" at position ") {
        *text = before.to_owned();
    }
    if text.chars().count() > LONGEST {
        let head: String = text.chars().take(200).collect();
        *text = format!("{head}… ({} characters)", text.chars().count());
    }
}
