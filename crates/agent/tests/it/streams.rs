//! Every recorded headless run: its stream and its session file made one, compared with what somebody has read. Adding
//! a file adds a test case.

use crate::test_data::recordings;
use pollux_agent::gemini::stream::{Fusion, Translator, whole};
use pollux_agent::model::{Block, Event, EventKind, Message, Part, Source, Status};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Long strings are cut, `_original` and paths of the recorder's machine go.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.chars().count() > 300 => {
            *text = format!("{}… ({} characters)", head(text, 200), text.chars().count());
        }
        Value::Array(list) => list.iter_mut().for_each(shorten),
        Value::Object(map) => {
            map.remove("_original");
            map.remove("stderr");
            map.remove("upstream");
            map.values_mut().for_each(shorten);
        }
        _ => {}
    }
}

#[test]
fn every_recorded_run_reads_as_it_was_meant() {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true, snapshot_path => "snapshots/streams" }, {
        insta::glob!(recordings(), "*/headless/*.exit", |path| {
            // The other two formats are no streams; what fails there is told on stderr all the same.
            let stream = path.with_extension("stream.jsonl").exists();
            if stream || path.ends_with("json_err400.exit") {
                insta::assert_snapshot!(shown(path));
            }
        });
    });
}

/// The session file of the same run. A resumed run's file holds the earlier one too, and is not compared here.
fn session(exit: &Path) -> Option<Vec<u8>> {
    let name = exit.file_stem().unwrap().to_str().unwrap();
    if name.starts_with("resume") {
        return None;
    }
    let sessions = exit.parent().unwrap().parent().unwrap().join("sessions");
    ["jsonl", "json"].iter().find_map(|kind| fs::read(sessions.join(format!("{name}.{kind}"))).ok())
}

fn shown(exit: &Path) -> String {
    let code: i32 = fs::read_to_string(exit).unwrap().trim().parse().unwrap();
    let read = |kind: &str| fs::read_to_string(exit.with_extension(kind)).unwrap_or_default();
    let file = session(exit);
    let (events, messages) =
        whole(&read("stream.jsonl"), file.as_deref(), Some(code), &read("stderr"));
    let mut out =
        format!("exit {code}, session file {}\n", if file.is_some() { "yes" } else { "no" });
    for event in &events {
        let mut value = serde_json::to_value(event).unwrap();
        shorten(&mut value);
        writeln!(out, "{value}").unwrap();
    }
    out.push_str("= messages\n");
    for message in &messages {
        line_of(message, &mut out);
    }
    out
}

fn line_of(message: &Message<'_>, out: &mut String) {
    let kinds = message.blocks().iter().map(|block| match block {
        Block::Text { text } => format!("text {:?}", head(&text.to_str(), 80)),
        Block::Thinking { .. } => "thinking".to_owned(),
        Block::ToolUse { name, .. } => format!("use {name}"),
        Block::ToolResult { status, .. } => format!("result {status:?}"),
        Block::Image { .. } => "image".to_owned(),
    });
    let kinds: Vec<String> = kinds.collect();
    let meta = if message.meta { " meta" } else { "" };
    writeln!(out, "{:?}{meta}: {}", message.role, kinds.join(", ")).unwrap();
}

fn head(text: &str, count: usize) -> String {
    text.chars().take(count).collect()
}

#[test]
fn every_failed_recording_is_one_typed_error_and_no_other_is() {
    let (mut failed, mut done) = (0, 0);
    for entry in glob("*/headless") {
        for exit in files(&entry, "exit") {
            let code: i32 = fs::read_to_string(&exit).unwrap().trim().parse().unwrap();
            let stream = fs::read_to_string(exit.with_extension("stream.jsonl"));
            let Ok(stream) = stream else { continue };
            let stderr = fs::read_to_string(exit.with_extension("stderr")).unwrap_or_default();
            let (events, messages) = whole(&stream, session(&exit).as_deref(), Some(code), &stderr);
            let uses =
                messages.iter().flat_map(|message| message.blocks()).filter_map(
                    |block| match block {
                        Block::ToolUse { id, .. } => Some(id.to_string()),
                        _ => None,
                    },
                );
            let mut uses: Vec<String> = uses.collect();
            let all = uses.len();
            uses.sort();
            uses.dedup();
            assert_eq!(uses.len(), all, "{}: a call is in one message", exit.display());
            let EventKind::TurnEnded { error, .. } = &events.last().unwrap().kind else {
                panic!("{}: the last event ends the turn", exit.display())
            };
            let well = code == 0 && stream.contains(r#""status":"success","stats""#);
            assert_eq!(error.is_none(), well, "{}", exit.display());
            done += usize::from(well);
            if let Some(error) = error {
                failed += 1;
                assert_eq!(error.exit_code, Some(code));
                assert!(
                    !error.message.contains("[object"),
                    "{}: {}",
                    exit.display(),
                    error.message
                );
            }
        }
    }
    assert!(failed > 0 && done > 0, "{failed} failed, {done} did not");
}

#[test]
fn a_call_that_the_stream_calls_a_success_is_cancelled_where_the_file_says_so() {
    let stream = r#"{"type":"init","session_id":"s","model":"auto"}
{"type":"tool_use","tool_name":"run_shell_command","tool_id":"c1","parameters":{"command":"sleep 9"}}
{"type":"tool_result","tool_id":"c1","status":"success","output":""}
{"type":"result","status":"success"}"#;
    let file = r#"{"sessionId":"s","projectHash":"p"}
{"id":"1","type":"gemini","content":"","toolCalls":[{"id":"c1","name":"run_shell_command","args":{"command":"sleep 9"},"status":"cancelled","result":[{"functionResponse":{"id":"c1","response":{"error":"[Operation Cancelled] Reason: User cancelled"}}}]}]}
"#;
    let (events, messages) = whole(stream, Some(file.as_bytes()), Some(0), "");
    let ended = events.iter().filter_map(|event| match &event.kind {
        EventKind::ToolEnded { status, changed, .. } => Some((event.source, *status, *changed)),
        _ => None,
    });
    let ended: Vec<_> = ended.collect();
    let expected =
        [(Source::Stream, Status::Success, false), (Source::SessionFile, Status::Cancelled, true)];
    assert_eq!(ended, expected);
    assert_eq!(messages.len(), 1, "the call is told once");
}

#[test]
fn an_agent_whose_session_file_is_deleted_is_still_there() {
    let reason = "the session file was deleted".to_owned();
    let ended = Event::new(Source::SessionFile, EventKind::SessionEnded { reason });
    let mut out = Vec::new();
    Fusion::default().session(ended, &mut out);
    assert!(matches!(out[0].kind, EventKind::Notice { .. }), "{out:?}");
}

#[test]
fn what_the_file_takes_back_and_what_was_tried_again_is_counted_as_one() {
    let stream = concat!(
        r#"{"type":"init","session_id":"s","model":"auto"}"#,
        "\n",
        r#"{"type":"message","role":"assistant","content":"all is wrong. all done","delta":true}"#,
        "\n",
        r#"{"type":"result","status":"success"}"#,
    );
    let file = [
        r#"{"sessionId":"s"}"#,
        r#"{"id":"1","type":"user","content":"wait"}"#,
        r#"{"$rewindTo":"1"}"#,
        r#"{"id":"2","type":"user","content":"go"}"#,
        r#"{"id":"3","type":"gemini","content":"all done"}"#,
        "",
    ];
    let (events, _) = whole(stream, Some(file.join("\n").as_bytes()), Some(0), "");
    let epochs = events.iter().filter_map(|event| match event.kind {
        EventKind::HistoryRewritten { epoch, .. } => Some(epoch),
        _ => None,
    });
    assert_eq!(epochs.collect::<Vec<_>>(), [1, 2], "{events:#?}");
}

#[test]
fn the_session_file_gives_what_the_stream_has_lost() {
    for version in ["0.34.0", "0.47.0", "0.61.0"] {
        let exit = recordings().join(version).join("headless/shell_fail.exit");
        let stream = fs::read_to_string(exit.with_extension("stream.jsonl")).unwrap();
        let (events, _) = whole(&stream, session(&exit).as_deref(), Some(0), "");
        let told = |source: Source, what: &str| {
            let from = events.iter().filter(|event| event.source == source);
            let text: Vec<String> =
                from.map(|event| serde_json::to_string(event).unwrap()).collect();
            text.iter().any(|event| event.contains(what))
        };
        assert!(!told(Source::Stream, "exit_code"), "{version}");
        assert!(told(Source::SessionFile, r#""exit_code":3"#), "{version}");
        assert!(told(Source::SessionFile, r#""scope":"message""#), "{version}");
    }
}

fn glob(pattern: &str) -> Vec<PathBuf> {
    let versions = fs::read_dir(recordings()).unwrap().map(|entry| entry.unwrap().path());
    let below = pattern.trim_start_matches("*/");
    versions.map(|version| version.join(below)).filter(|path| path.is_dir()).collect()
}

fn files(directory: &Path, kind: &str) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.retain(|path| path.extension().is_some_and(|extension| extension == kind));
    all.sort();
    all
}

/// As 0.61 does it when a turn is stopped: every message once more under a new id.
#[test]
fn tokens_and_thoughts_of_an_answer_that_gets_a_new_id_are_told_once() {
    let stream = concat!(
        r#"{"type":"init","session_id":"s","model":"auto"}"#,
        "\n",
        r#"{"type":"message","role":"assistant","content":"all done","delta":true}"#,
        "\n",
        r#"{"type":"result","status":"success"}"#,
    );
    let answer = r#"{"id":"2","type":"gemini","model":"m","content":"all done","tokens":{"total":15},"thoughts":[{"subject":"a","description":"b"}]}"#;
    let copy = r#"{"id":"n2","type":"gemini","content":[{"text":"all done"}]}"#;
    let list = format!(r#"{{"$set":{{"messages":[{copy}]}}}}"#);
    for records in [vec![answer, &list], vec![answer, copy, &list]] {
        let file = format!("{{\"sessionId\":\"s\"}}\n{}\n", records.join("\n"));
        let (events, messages) = whole(stream, Some(file.as_bytes()), Some(0), "");
        let count =
            |is: fn(&EventKind<'_>) -> bool| events.iter().filter(|event| is(&event.kind)).count();
        let thoughts =
            |kind: &EventKind<'_>| matches!(kind, EventKind::TextGrew { part: Part::Thinking, .. });
        let tokens = |kind: &EventKind<'_>| matches!(kind, EventKind::UsageChanged { .. });
        assert_eq!((count(thoughts), count(tokens)), (1, 1), "{events:#?}");
        assert_eq!(messages.len(), 1);
    }
}

/// The events of some lines, as JSON.
fn told(lines: &str) -> Vec<Value> {
    let mut translator = Translator::default();
    let mut events = Vec::new();
    for line in lines.lines() {
        translator.line(line, &mut events);
    }
    events.iter().map(|event| serde_json::to_value(event).unwrap()).collect()
}

#[test]
fn what_is_said_in_parts_is_read_and_what_is_no_text_is_unread() {
    let told = told(
        r#"{"type":"message","role":"user","content":[{"text":"hi "},"there"]}
{"type":"message","role":"assistant","content":{"text":"one part"},"delta":true}
{"type":"message","role":"assistant","content":[{"text":"seen "},{"chart":1}],"delta":true}
{"type":"tool_use","tool_name":"x","tool_id":"c","parameters":{}}
{"type":"tool_result","tool_id":"c","status":"error","output":{"rows":3},"error":"plain words"}
{"type":"error","severity":"error","message":{"text":"in an object"}}"#,
    );
    assert_eq!(told[0]["prompt"], "hi there");
    assert_eq!(told[1]["text"], "one part");
    assert_eq!((&told[2]["type"], &told[3]["text"]), (&"unread".into(), &"seen ".into()));
    assert_eq!(told[2]["text"], r#"[{"text":"seen "},{"chart":1}]"#);
    assert_eq!((&told[5]["type"], &told[5]["text"]), (&"unread".into(), &"{\"rows\":3}".into()));
    assert_eq!(told[6]["error"], "plain words");
    assert_eq!(told[7]["text"], "in an object");
}

#[test]
fn a_call_whose_end_is_not_known_has_not_gone_well() {
    let end = |end: &str| {
        told(&format!(
            r#"{{"type":"tool_use","tool_name":"replace","tool_id":"c","parameters":{{"file_path":"a","old_string":"x","new_string":"y"}}}}
{{"type":"tool_result","tool_id":"c",{end}}}"#
        ))
    };
    let failed = end(r#""status":"failed","error":{"message":"boom"}"#);
    assert_eq!(
        (failed.len(), &failed[1]["status"], &failed[1]["error"]),
        (2, &"error".into(), &"boom".into())
    );
    assert_eq!(failed[1]["meaning"].get("diff"), None);
    let odd = end(r#""status":"parked","output":"ok""#);
    assert_eq!((&odd[1]["type"], &odd[2]["status"]), (&"unread".into(), &"error".into()));
    assert_eq!(odd[2]["meaning"].get("diff"), None);
    assert_eq!(end(r#""status":"canceled""#)[1]["status"], "cancelled");
    assert_eq!(end(r#""status":"success""#)[1]["status"], "success");
}
