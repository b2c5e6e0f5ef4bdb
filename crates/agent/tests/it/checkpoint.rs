//! What a checkpoint drops is neither lost nor counted for something else than what is shown.

use crate::home::{log, user};
use pollux_agent::gemini::transcript::Transcript;
use pollux_agent::gemini::transcript::digest::digest;
use pollux_agent::gemini::transcript::events;
use pollux_agent::model::{Block, EventKind, Message};
use serde_json::{Value, json};

#[test]
fn a_call_that_a_checkpoint_dropped_with_the_messages_id_is_counted_and_shown() {
    let call = |id: &str| json!({ "id": id, "name": "read_file", "args": {}, "status": "success" });
    let part = |id: &str| json!({ "functionCall": { "id": id, "name": "read_file", "args": {} } });
    let listed = |id: &str, calls: Value| json!({ "id": id, "type": "gemini", "content": "", "toolCalls": calls });
    let in_parts = |id: &str, parts: Value| json!({ "id": id, "type": "gemini", "content": parts });
    let histories = [
        (listed("1", json!([call("a"), call("b")])), listed("2", json!([call("a")]))),
        (listed("1", json!([call("a"), call("b")])), in_parts("2", json!([part("a")]))),
        (in_parts("1", json!([part("a"), part("b")])), in_parts("2", json!([part("b")]))),
        (in_parts("1", json!([part("a"), part("b")])), listed("2", json!([call("b")]))),
        (listed("1", json!([call("a"), call("b")])), listed("1", json!([call("b")]))),
    ];
    for (first, copy) in histories {
        let text = format!(
            "{{\"sessionId\":\"s\"}}\n{first}\n{}\n",
            json!({ "$set": { "messages": [copy] } })
        );
        let transcript = Transcript::read(&text);
        for messages in [transcript.messages().collect(), transcript.messages_ever()] {
            let is_call = |block: &&Block<'_>| matches!(block, Block::ToolUse { .. });
            let shown = messages.iter().flat_map(Message::blocks).filter(is_call).count();
            assert_eq!(shown, 2, "{text}");
            assert!(
                messages.iter().all(|message| message.restored.contains(&"tool_calls")),
                "{text}"
            );
        }
        assert_eq!(digest(&text).tools["Read"].calls, 2, "{text}");
    }
}

/// As 0.47 and 0.61 do it: an empty list first, then all messages as the model's history has them.
#[test]
fn an_answer_that_a_resume_wrote_again_has_its_tokens_and_its_model() {
    let tokens = json!({ "input": 10, "output": 2, "total": 12 });
    let rows = [
        json!({ "sessionId": "s" }),
        json!({ "id": "1", "type": "user", "content": "hello" }),
        json!({ "id": "2", "type": "gemini", "content": "hi", "tokens": tokens, "model": "gemini-3-pro" }),
        json!({ "sessionId": "s" }),
        json!({ "$set": { "messages": [] } }),
        json!({ "$set": { "messages": [
            { "id": "1", "type": "user", "content": "hello" }, { "id": "2", "type": "gemini", "content": "hi" },
        ] } }),
    ];
    let text: String = rows.iter().flat_map(|row| [row.to_string(), "\n".to_owned()]).collect();
    let transcript = Transcript::read(&text);
    let answer = transcript.messages().nth(1).unwrap();
    assert_eq!(answer.usage.unwrap().total_tokens, 12);
    assert_eq!(answer.model.unwrap(), *"gemini-3-pro");
    assert_eq!((answer.restored, answer.copied), (vec!["usage", "model"], true));
    assert_eq!(digest(&text).usage().total_tokens, 12);
    let told = events(text.as_bytes());
    let last = json!(told.last().unwrap());
    assert_eq!(last["message"]["usage"]["total_tokens"], 12, "{last}");
}

/// As 0.61 does it when a turn is stopped: every message once more under a new id, then a list of those alone.
#[test]
fn an_answer_is_marked_where_it_is_written_again_and_nowhere_else() {
    let first = json!({ "id": "1", "type": "gemini", "content": "hi", "model": "gemini-3-pro" });
    let silent = json!({ "id": "2", "type": "gemini", "content": [] });
    let copy = json!({ "id": "3", "type": "gemini", "content": [{ "text": "hi" }] });
    let list = json!({ "$set": { "messages": [user("a", "hello"), copy.clone()] } });
    let text = log(&[user("a", "hello"), first, silent, copy, list]);
    let told = events(text.as_bytes());
    let marked: Vec<(String, bool)> = told
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::MessageRecorded { message, .. } => {
                Some((message.id.to_string(), message.copied))
            }
            _ => None,
        })
        .collect();
    let expected = [("a", false), ("1", false), ("2", false), ("3", true), ("3", true)];
    assert_eq!(marked, expected.map(|(id, copied)| (id.to_owned(), copied)), "{told:?}");
}

#[test]
fn what_was_restored_from_two_earlier_records_is_named_once() {
    let list = |messages: &[Value]| json!({ "$set": { "messages": messages } });
    let (first, copy, other) = (user("a", "hello"), user("b", "hello"), user("c", "hello"));
    let (once, both) = (list(std::slice::from_ref(&copy)), list(&[other, copy]));
    let text = log(&[first, once.clone(), both, once]);
    let transcript = Transcript::read(&text);
    let restored: Vec<_> = transcript.messages().map(|message| message.restored).collect();
    assert_eq!(restored, [["timestamp"]]);
}

#[test]
fn the_tokens_of_an_answer_that_is_written_again_with_them_are_counted_once() {
    let tokens = json!({ "input": 10, "output": 2, "total": 12 });
    let first = |id: &str, at: &str| {
        json!({ "id": id, "timestamp": at, "type": "gemini", "content": "hi", "tokens": tokens,
            "model": "gemini-3-pro" })
    };
    let copy = json!({ "id": "n2", "timestamp": "2026-11-15T19:00:00Z", "type": "gemini", "content": "hi",
        "tokens": tokens });
    let named = first("n2", "2026-11-15T19:00:00Z");
    let list = |last: &Value| json!({ "$set": { "messages": [user("n1", "hello"), last] } });
    let answer = first("2", "2026-11-15T18:00:00Z");
    let histories = [
        vec![user("1", "hello"), answer.clone(), list(&copy)],
        vec![user("1", "hello"), answer.clone(), copy.clone(), list(&copy)],
        vec![user("1", "hello"), answer.clone(), list(&named)],
    ];
    for records in histories {
        let text = log(&records);
        let spent = digest(&text).spent;
        let told: Vec<(i64, u64, u64)> =
            spent.iter().map(|s| (s.quarter, s.answers, s.usage.total_tokens)).collect();
        assert_eq!(told, [(1_994_184, 1, 12)], "{text}");
    }
    // Two answers that only cost the same are two.
    let other = first("4", "2026-11-15T18:00:00Z");
    let dropped = json!({ "$set": { "messages": [user("3", "hello"), other.clone()] } });
    let text = log(&[user("1", "hello"), answer, user("3", "hello"), other, dropped]);
    assert_eq!(digest(&text).usage().total_tokens, 24, "{text}");
}
