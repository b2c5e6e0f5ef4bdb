//! Recorded sessions as Claude Code's rows.

use crate::test_data::{recordings, truncate_strings};
use pollux_agent::claude::{self, Session};
use pollux_agent::gemini::transcript::Transcript;
use serde_json::Value;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// One of each kind: an edit, a command, a caller and its subagent, a long run with all that happens in a terminal,
/// and the two older formats.
const READ: &[&str] = &[
    "0.61.0/sessions/edit.jsonl",
    "0.61.0/sessions/shell_fail.jsonl",
    "0.61.0/sessions/subagent.jsonl",
    "0.61.0/sessions/subagent.1.jsonl",
    "0.61.0/sessions/interactive-full.jsonl",
    "0.16.0/sessions/parallel.json",
    "0.34.0/sessions/err500.json",
];

#[test]
fn recorded_sessions_become_rows() {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        for name in READ {
            let rows = rows(&fs::read_to_string(recordings().join(name)).unwrap());
            let mut lines: Vec<String> = Vec::new();
            for mut row in rows {
                truncate_strings(&mut row);
                row.as_object_mut().unwrap().remove("version");
                lines.push(row.to_string());
            }
            insta::assert_snapshot!(format!("claude@{}", name.replace('/', "__")), lines.join("\n"));
        }
    });
}

/// What holds for the rows of every recording: no name twice, each row hangs on the one before, every result answers a
/// call of the row before, and no token is lost or counted twice.
#[test]
fn rows_of_every_recording_are_one_chain() {
    let mut seen = 0;
    for version in fs::read_dir(recordings()).unwrap() {
        let Ok(files) = fs::read_dir(version.unwrap().path().join("sessions")) else { continue };
        for file in files {
            let path = file.unwrap().path();
            check(&fs::read_to_string(&path).unwrap(), &path);
            seen += 1;
        }
    }
    assert!(seen > 100, "the recordings are elsewhere");
}

fn check(text: &str, path: &Path) {
    let path = path.display();
    let mut parent = Value::Null;
    let mut used = HashSet::new();
    let mut calls: HashSet<String> = HashSet::new();
    let mut tokens = 0;
    let transcript = Transcript::read(text);
    for row in rows(text).into_iter().filter(|row| row["type"] != "summary") {
        assert_eq!(row["parentUuid"], parent, "{path}");
        parent = row["uuid"].clone();
        assert!(used.insert(parent.to_string()), "{path}: {parent} twice");
        let parts = row["message"]["content"].as_array();
        for part in parts.into_iter().flatten() {
            assert!(part.get("status").is_none() && part.get("_original").is_none(), "{path}");
            let call = part["tool_use_id"].to_string();
            // An answer that called nothing has no results; a response to a call that is nowhere is a prompt's.
            assert!(part["type"] != "tool_result" || calls.is_empty() || calls.contains(&call));
        }
        let uses = parts.into_iter().flatten().filter(|part| part["type"] == "tool_use");
        calls = uses.map(|part| part["id"].to_string()).collect();
        let usage = row["message"]["usage"].as_object();
        tokens +=
            usage.iter().flat_map(|usage| usage.values()).filter_map(Value::as_u64).sum::<u64>();
    }
    let told = transcript.messages().filter_map(|message| message.usage);
    assert_eq!(tokens, told.map(|usage| usage.total_tokens).sum::<u64>(), "{path}");
}

#[test]
fn tokens_are_counted_once() {
    let file = r#"{"sessionId":"s","projectHash":"p"}
{"id":"a","type":"gemini","content":"x","tokens":{"input":15327,"output":23,"cached":11526,"thoughts":919,"tool":7,"total":16276}}"#;
    let expected = serde_json::json!({
        "input_tokens": 3808,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 11526,
        "output_tokens": 942,
    });
    assert_eq!(rows(file)[0]["message"]["usage"], expected);
}

#[test]
fn a_summary_comes_first_and_names_the_last_row() {
    let file = r#"{"sessionId":"s","projectHash":"p","summary":"A greeting"}
{"id":"a","type":"user","content":"hello"}
{"id":"b","type":"gemini","content":"","toolCalls":[{"id":"t","name":"x","args":null,"status":"success","result":[{"functionResponse":{"id":"t","name":"x","response":{"output":"o"}}}]}]}"#;
    let rows = rows(file);
    let types: Vec<&str> = rows.iter().filter_map(|row| row["type"].as_str()).collect();
    assert_eq!(types, ["summary", "user", "assistant", "user"]);
    assert_eq!(rows[0]["summary"], "A greeting");
    assert_eq!(rows[0]["leafUuid"], rows[3]["uuid"]);
    assert_eq!(rows[2]["message"]["content"][0]["input"], serde_json::json!({}));
    assert_eq!(rows[3]["message"]["content"][0]["tool_use_id"], "t");
}

#[test]
fn notices_pictures_and_stopped_calls_have_claudes_shape() {
    let file = r#"{"sessionId":"s","projectHash":"p"}
{"id":"a","timestamp":"2026-11-15T17:55:38Z","type":"warning","content":"slow"}
{"id":"b","type":"info","content":"note"}
{"id":"c","type":"user","content":[{"text":"look"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}
{"id":"d","type":"gemini","content":"no","toolCalls":[{"id":"t","name":"run_shell_command","args":{"command":"ls"},"status":"cancelled","result":[{"functionResponse":{"id":"t","response":{"error":"stopped"}}}]}]}"#;
    let rows = rows(file);
    let notice = |row: &Value| {
        let fields = ["type", "subtype", "content", "level"];
        fields.map(|field| row[field].as_str().unwrap().to_owned())
    };
    assert_eq!(notice(&rows[0]), ["system", "informational", "slow", "warning"]);
    assert_eq!(notice(&rows[1]), ["system", "informational", "note", "info"]);
    // A row without a time has that of the row before it.
    assert_eq!(rows[1]["timestamp"], "2026-11-15T17:55:38.000Z");
    let picture = serde_json::json!({ "type": "image",
        "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" } });
    assert_eq!(rows[2]["message"]["content"][1], picture);
    let stopped = serde_json::json!({ "type": "tool_result", "tool_use_id": "t", "content": "stopped",
        "is_error": false });
    assert_eq!(rows[4]["message"]["content"][0], stopped);
    assert_eq!(rows[3]["message"]["content"][0]["type"], "text", "words come before calls");
}

/// Ids of 32 digits are the same in every session, so they are not taken as they are; a second message of the same id
/// gets another name.
#[test]
fn names_are_unique_and_the_same_each_time() {
    let file = r#"{"sessionId":"s","projectHash":"p"}
{"id":"d04923d38bb0f6017037e74183378ef4","type":"user","content":"hello"}
{"id":"ce962b94-ade9-430c-ac4b-5ce63f0aaac7","type":"user","content":"hello"}"#;
    let mut messages: Vec<_> = Transcript::read(file).messages().collect();
    messages.push(messages[1].clone());
    let names = |session_id: &str| -> Vec<String> {
        let session = Session { session_id, ..Session::default() };
        let rows = claude::rows(&session, &messages);
        rows.map(|row| serde_json::to_value(row).unwrap()["uuid"].to_string()).collect()
    };
    let (one, two) = (names("s"), names("t"));
    assert_eq!(one, names("s"));
    assert_eq!(one[1], two[1], "a UUID stays what it is");
    assert_ne!(one[0], two[0], "a name that is not a UUID is the session's own");
    assert_ne!(one[1], one[2]);
    assert!(!one[0].contains("d04923d3"));
}

fn rows(text: &str) -> Vec<Value> {
    let transcript = Transcript::read(text);
    let messages: Vec<_> = transcript.messages().collect();
    let meta = transcript.meta().clone();
    let (id, summary) = (meta.session_id.unwrap_or_default(), meta.summary);
    let is_subagent = meta.kind.as_deref() == Some("subagent");
    let session = Session {
        session_id: if is_subagent { "parent" } else { &id },
        agent_id: is_subagent.then_some(&*id),
        cwd: Some("/tmp/ws1"),
        summary: summary.as_deref(),
    };
    let lines = claude::rows(&session, &messages).map(|row| serde_json::to_string(&row).unwrap());
    let lines = lines.inspect(|line| assert!(!line.contains('\n')));
    lines.map(|line| serde_json::from_str(&line).unwrap()).collect()
}
