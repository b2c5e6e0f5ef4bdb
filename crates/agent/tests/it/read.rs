//! Events that were written are read back as they were: all of every recording.

use crate::test_data::recordings;
use pollux_agent::acp::recorded;
use pollux_agent::gemini::acp::Quirks;
use pollux_agent::gemini::stream::whole;
use pollux_agent::gemini::transcript::follow::Follow;
use pollux_agent::model::Event;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The recordings of a kind, of all versions.
fn files(kind: &str, ends: &str) -> Vec<PathBuf> {
    let all = recordings();
    let versions = fs::read_dir(all).unwrap().map(|entry| entry.unwrap().path().join(kind));
    let folders = versions.filter(|folder| folder.is_dir());
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap());
    let files = files.map(|entry| entry.unwrap().path());
    files.filter(|path| path.display().to_string().ends_with(ends)).collect()
}

/// How many events were the same.
fn same(path: &Path, events: &[Event<'_>]) -> usize {
    for event in events {
        let json = serde_json::to_string(event).unwrap();
        let read = Event::from_json(&json).map_err(|error| format!("{error}: {json}")).unwrap();
        let again = serde_json::to_string(&read).unwrap();
        assert_eq!(again, json, "{}", path.display());
    }
    events.len()
}

#[test]
fn every_recorded_event_is_read_back_as_it_was_written() {
    let mut seen = 0;
    for path in files("acp", ".jsonl") {
        let text = fs::read_to_string(&path).unwrap();
        seen += same(&path, &recorded(&text, Arc::new(Quirks::default())));
    }
    for path in files("headless", ".stream.jsonl") {
        let text = fs::read_to_string(&path).unwrap();
        seen += same(&path, &whole(&text, None, Some(1), "it failed").0);
    }
    for path in files("sessions", "") {
        let mut follow = Follow::new(path.clone());
        seen += same(&path, &follow.poll());
    }
    assert!(seen > 1000, "{seen}");
}

#[test]
fn texts_are_kept_as_they_were_written_half_letters_too() {
    for json in [
        r#"{"type":"text_grew","part":"text","text":"a\ud83d \/ \u0041","source":"acp"}"#,
        r#"{"type":"tool_ended","id":"1","status":"success","changed":false,"meaning":{"kind":"command","command":"ls","output":"\ud83d\/","exit_code":0,"derived":{"output":"x"}},"source":"stream"}"#,
    ] {
        let read = Event::from_json(json).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
    }
}

#[test]
fn results_in_results_are_an_error_and_not_the_end_of_the_stack() {
    let open = r#"[{"type":"tool_result","tool_use_id":"1","is_error":false,"status":"success","content":"#;
    let nested = |depth: usize| format!("{}\"x\"{}", open.repeat(depth), "}]".repeat(depth));
    let event = |content: String| {
        let message = format!(
            r#"{{"id":"1","role":"assistant","content":{content},"timestamp":null,"tool":"gemini"}}"#
        );
        format!(
            r#"{{"type":"message_recorded","changed":false,"message":{message},"source":"pollux"}}"#
        )
    };
    assert!(Event::from_json(&event(nested(1))).is_ok());
    assert!(Event::from_json(&event(nested(2))).is_err());
    assert!(Event::from_json(&event(nested(5000))).is_err());
}

#[test]
fn what_is_no_event_is_an_error() {
    for wrong in ["", "{}", "[]", r#"{"type":"flew","source":"acp"}"#, r#"{"type":"notice"}"#] {
        assert!(Event::from_json(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_word_that_is_too_long_to_be_kept_reads_as_other() {
    let event = |word: &str| {
        let json = format!(
            r#"{{"type":"text_grew","part":"text","text":"x","source":"acp","derived":"{word}"}}"#
        );
        Event::from_json(&json).unwrap().derived
    };
    assert_eq!(event("the order of hooks"), Some("the order of hooks"));
    assert_eq!(event(&"long".repeat(100)), Some("other"));
}
