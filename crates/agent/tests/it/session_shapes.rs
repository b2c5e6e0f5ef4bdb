//! Shapes of session files that no recorded scenario has: single messages of the oldest format, repeated ids, rewinds, batches,
//! and homes in which the CLI overwrote a session.

use crate::home::{document, log};
use crate::test_data::recordings;
use pollux_agent::claude::{self, Session};
use pollux_agent::gemini::transcript::Transcript;
use pollux_agent::gemini::transcript::digest::digest;
use pollux_agent::gemini::transcript::store::{self, Kind, Listing, Risk};
use pollux_agent::model::{Block, Message, Usage};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// Id, role and text of each message.
fn outline(transcript: &Transcript<'_>) -> Vec<(String, String, String)> {
    let row = |message: Message<'_>| {
        (message.id.to_string(), json!(message.role).as_str().unwrap().to_owned(), message.text())
    };
    transcript.messages().map(row).collect()
}

fn row(id: &str, role: &str, text: &str) -> (String, String, String) {
    (id.to_owned(), role.to_owned(), text.to_owned())
}

/// The calls of messages: Claude's name, then the status of the result.
fn calls(messages: &[Message<'_>]) -> Vec<String> {
    let word = |block: &Block<'_>| match block {
        Block::ToolUse { name, .. } => Some(name.to_string()),
        Block::ToolResult { status, is_error, .. } => {
            Some(format!("{} {is_error}", json!(status).as_str().unwrap()))
        }
        _ => None,
    };
    messages.iter().flat_map(Message::blocks).filter_map(word).collect()
}

/// A call as the CLI of October 2025 wrote it, with an id made of its name, the time and a random number.
fn old_call(name: &str, args: &Value, response: &Value, status: &str) -> Value {
    let id = format!("{name}-1761500000000-0c0ffee0c0ffe");
    let result = json!([{ "functionResponse": { "id": id, "name": name, "response": response } }]);
    json!({ "id": id, "name": name, "args": args, "result": result, "status": status,
        "timestamp": "2025-10-26T18:00:00.000Z", "displayName": name, "description": "What the tool does",
        "renderOutputAsMarkdown": true })
}

fn old_message(thoughts: usize, call: &Value, text: &str) -> Value {
    let thought = json!({ "subject": "Looking", "description": "I look at the project.", "timestamp": "2025-10-26T18:00:00.000Z" });
    json!({ "id": "3f1c", "timestamp": "2025-10-26T18:00:01.000Z", "type": "gemini", "content": text,
        "thoughts": vec![thought; thoughts], "toolCalls": [call], "model": "gemini-2.5-pro",
        "tokens": { "input": 50, "output": 4, "cached": 40, "thoughts": 5, "tool": 0, "total": 59 } })
}

/// A message with one call, and what it becomes.
struct OldMessage {
    thoughts: usize,
    text: &'static str,
    call: Value,
    kinds: &'static [&'static str],
    tool: &'static str,
    input: Value,
}

impl OldMessage {
    fn check(&self) {
        let call = &self.call;
        let original = old_message(self.thoughts, call, self.text);
        let document = document("s", std::slice::from_ref(&original));
        let message = json!(Transcript::read(&document).messages().next().unwrap());
        assert_eq!(message["_original"], original, "{call}");
        let blocks = message["content"].as_array().unwrap();
        let found: Vec<&str> = blocks.iter().map(|block| block["type"].as_str().unwrap()).collect();
        assert_eq!(found, self.kinds, "{call}");
        let block = |kind: &str| blocks.iter().find(|block| block["type"] == kind).unwrap().clone();
        let expected =
            json!({ "type": "tool_use", "id": call["id"], "name": self.tool, "input": self.input });
        assert_eq!(block("tool_use"), expected, "{call}");
        let (failed, cancelled) = (call["status"] == "error", call["status"] == "cancelled");
        let response = &call["result"][0]["functionResponse"]["response"];
        let expected = json!({ "type": "tool_result", "tool_use_id": call["id"],
            "content": response.get("output").or(response.get("error")), "is_error": failed, "status": call["status"] });
        assert_eq!(block("tool_result"), expected, "{call}");
        let digest = digest(&document);
        let counts = digest.tools.values().next().unwrap();
        assert_eq!(
            (counts.calls, counts.failed, counts.cancelled),
            (1, u64::from(failed), u64::from(cancelled)),
            "{call}"
        );
        assert_eq!(digest.usage().total_tokens, 59, "{call}");
    }
}

const ALL_KINDS: [&str; 4] = ["thinking", "tool_use", "tool_result", "text"];

fn ok() -> Value {
    json!({ "output": "main.py\nREADME.md" })
}

fn failed() -> Value {
    json!({ "error": "The folder does not exist." })
}

#[test]
fn file_tools_of_october_2025_become_claude_blocks() {
    let file = json!({ "file_path": "/home/ana/shop/main.py" });
    let folder = json!({ "path": "/home/ana/shop/" });
    let edit =
        json!({ "file_path": "/home/ana/shop/a.txt", "old_string": "one", "new_string": "two" });
    let written = json!({ "file_path": "/home/ana/shop/main.py", "content": "print('hello')\n" });
    let absolute = json!({ "absolute_path": "/home/ana/shop/main.py" });
    let cases = [
        OldMessage {
            thoughts: 1,
            text: "",
            call: old_call("list_directory", &folder, &ok(), "success"),
            kinds: &ALL_KINDS[..3],
            tool: "Glob",
            input: json!({ "pattern": "*", "path": "/home/ana/shop/" }),
        },
        OldMessage {
            thoughts: 1,
            text: "",
            call: old_call("list_directory", &json!({ "path": "." }), &failed(), "error"),
            kinds: &ALL_KINDS[..3],
            tool: "Glob",
            input: json!({ "pattern": "*", "path": "." }),
        },
        OldMessage {
            thoughts: 0,
            text: "I read it.",
            call: old_call("read_file", &absolute, &ok(), "success"),
            kinds: &ALL_KINDS[1..],
            tool: "Read",
            input: file,
        },
        OldMessage {
            thoughts: 2,
            text: "",
            call: old_call("replace", &edit, &ok(), "success"),
            kinds: &["thinking", "thinking", "tool_use", "tool_result"],
            tool: "Edit",
            input: edit,
        },
        OldMessage {
            thoughts: 1,
            text: "It is written.",
            call: old_call("write_file", &written, &ok(), "success"),
            kinds: &ALL_KINDS,
            tool: "Write",
            input: written,
        },
    ];
    cases.iter().for_each(OldMessage::check);
}

#[test]
fn commands_and_searches_of_october_2025_become_claude_blocks() {
    let shell = json!({ "command": "python3", "description": "Start the interpreter" });
    let search = json!({ "query": "rust session formats" });
    let cancelled = json!({ "error": "[Operation Cancelled] Reason: the user pressed Esc." });
    let cases = [
        OldMessage {
            thoughts: 0,
            text: "I searched.",
            call: old_call("google_web_search", &search, &ok(), "success"),
            kinds: &ALL_KINDS[1..],
            tool: "WebSearch",
            input: search,
        },
        OldMessage {
            thoughts: 1,
            text: "I start Python.",
            call: old_call("run_shell_command", &shell, &cancelled, "cancelled"),
            kinds: &ALL_KINDS,
            tool: "Bash",
            input: shell.clone(),
        },
        OldMessage {
            thoughts: 0,
            text: "It failed.",
            call: old_call("run_shell_command", &shell, &failed(), "error"),
            kinds: &ALL_KINDS[1..],
            tool: "Bash",
            input: shell,
        },
    ];
    cases.iter().for_each(OldMessage::check);
}

fn head(id: &str) -> Value {
    json!({ "sessionId": id, "projectHash": "p", "startTime": "2026-06-01T08:00:00Z", "lastUpdated": "2026-06-01T08:00:00Z" })
}

fn user_record(id: &str, text: &str) -> Value {
    json!({ "id": id, "timestamp": "2026-06-01T08:00:01Z", "type": "user", "content": [{ "text": text }] })
}

fn gemini_record(id: &str, text: &str) -> Value {
    json!({ "id": id, "timestamp": "2026-06-01T08:00:02Z", "type": "gemini", "content": [{ "text": text }] })
}

#[test]
fn repeated_id_is_one_message_in_its_newest_state() {
    let with_call = |text: &str, status: &str| {
        let mut record = gemini_record("a1", text);
        record["toolCalls"] = json!([{ "id": "c1", "name": "read_file", "displayName": "ReadFile", "status": status }]);
        record
    };
    let text = log(&[
        head("s"),
        user_record("u1", "look at the parser"),
        with_call("reading", "running"),
        json!({ "$set": { "summary": "Looking at the parser" } }),
        with_call("the parser is fine", "success"),
    ]);
    let transcript = Transcript::read(&text);
    assert_eq!(
        outline(&transcript),
        [row("u1", "user", "look at the parser"), row("a1", "assistant", "the parser is fine")]
    );
    let messages: Vec<_> = transcript.messages().collect();
    assert_eq!(calls(&messages), ["Read", "success false"]);
    assert_eq!(digest(&text).title(), Some("Looking at the parser"));
}

#[test]
fn rewound_messages_are_hidden_and_can_be_recovered() {
    let text = log(&[
        head("s"),
        user_record("u1", "write the changelog"),
        gemini_record("a1", "the first draft"),
        json!({ "$rewindTo": "a1" }),
        gemini_record("a2", "the second draft"),
    ]);
    let transcript = Transcript::read(&text);
    assert_eq!(
        outline(&transcript),
        [row("u1", "user", "write the changelog"), row("a2", "assistant", "the second draft")]
    );
    let ever: Vec<(String, bool)> = transcript
        .messages_ever()
        .iter()
        .map(|message| (message.id.to_string(), message.recovered))
        .collect();
    let expected = [("u1", false), ("a1", true), ("a2", false)];
    assert_eq!(ever, expected.map(|(id, recovered)| (id.to_owned(), recovered)));
}

#[test]
fn tokens_of_rewound_answers_still_count() {
    let mut answer = gemini_record("a1", "x");
    answer["model"] = json!("gemini-3-pro");
    answer["tokens"] = json!({ "input": 90_000, "output": 7, "total": 90_007 });
    let text = log(&[head("s"), user_record("u1", "try"), answer, json!({ "$rewindTo": "u1" })]);
    let sums = digest(&text);
    assert_eq!((sums.messages, sums.usage().total_tokens), (0, 90_007));
    assert_eq!(sums.model.as_deref(), Some("gemini-3-pro"));
}

#[test]
fn todos_a_rewound_prompt_and_a_quota_error_are_distinguished() {
    let answer = json!({ "id": "a1", "timestamp": "2026-06-01T08:00:02Z", "type": "gemini", "content": "Half done.",
        "model": "gemini-3-pro", "toolCalls": [
            { "id": "c1", "name": "write_file", "args": { "file_path": "/home/ana/shop/csv.py" }, "status": "success" },
            { "id": "c2", "name": "run_shell_command", "args": { "command": "pytest" }, "status": "error", "resultDisplay": "1 failed" },
            { "id": "c3", "name": "write_todos", "status": "success", "args": { "todos": [
                { "description": "Write the export", "status": "completed" },
                { "description": "Fix the tests", "status": "in_progress" }] } }] });
    let text = log(&[
        head("s"),
        user_record("u1", "export as CSV"),
        answer,
        user_record("u2", "sorry, wrong window"),
        json!({ "$rewindTo": "u2" }),
        json!({ "id": "e1", "timestamp": "2026-06-01T08:10:00Z", "type": "error", "content": "Quota exceeded (RESOURCE_EXHAUSTED)" }),
    ]);
    let messages: Vec<_> = Transcript::read(&text).messages().collect();
    let shown: Vec<Value> =
        messages.iter().map(|message| json!([message.id, message.role, message.level])).collect();
    let expected = [
        json!(["u1", "user", null]),
        json!(["a1", "assistant", null]),
        json!(["e1", "system", "error"]),
    ];
    assert_eq!(shown, expected);
    assert_eq!(
        calls(&messages),
        ["Write", "success false", "Bash", "error true", "TodoWrite", "success false"]
    );
    let answer = json!(messages[1]);
    let todo =
        |text: &str, status: &str| json!({ "content": text, "status": status, "activeForm": text });
    assert_eq!(
        answer["content"][4]["input"],
        json!({ "todos": [todo("Write the export", "completed"), todo("Fix the tests", "in_progress")] })
    );
    assert_eq!(answer["content"][3]["content"], "1 failed", "the display text replaces the result");
}

#[test]
fn batch_without_ids_replaces_earlier_messages() {
    let text = log(&[
        json!({ "sessionId": "b7" }),
        json!({ "type": "user", "content": [{ "text": "an early prompt" }] }),
        json!({ "$set": { "messages": [
            { "type": "user", "content": [{ "text": "a prompt in the batch" }] },
            { "type": "gemini", "content": [{ "text": "an answer in the batch" }] }] } }),
        json!({ "$set": { "lastUpdated": "2026-06-01T09:00:00Z" } }),
    ]);
    let transcript = Transcript::read(&text);
    assert_eq!(
        outline(&transcript),
        [
            row("#2", "user", "a prompt in the batch"),
            row("#3", "assistant", "an answer in the batch")
        ]
    );
    assert_eq!(transcript.meta().session_id.as_deref(), Some("b7"));
    assert_eq!(transcript.meta().project_hash, None);
    assert!(transcript.diagnostics().is_empty());
}

#[test]
fn claude_usage_counts_cached_tokens_apart_from_input() {
    let mut answer = gemini_record("a1", "");
    answer["tokens"] = json!({ "input": 1_000, "output": 20, "cached": 700, "thoughts": 50, "tool": 7, "total": 1_077 });
    let text = log(&[head("s"), answer]);
    let gemini = Usage {
        input_tokens: 1_000,
        output_tokens: 20,
        total_tokens: 1_077,
        cached_tokens: 700,
        thoughts_tokens: 50,
        tool_tokens: 7,
    };
    assert_eq!(digest(&text).usage(), gemini);
    let messages: Vec<_> = Transcript::read(&text).messages().collect();
    let row = claude::rows(&Session::default(), &messages).next().map(|row| json!(row)).unwrap();
    let usage = &row["message"]["usage"];
    assert_eq!(
        [&usage["input_tokens"], &usage["cache_read_input_tokens"], &usage["output_tokens"]],
        [307, 700, 70]
    );
}

/// A home directory that a real CLI wrote.
fn recorded_home(name: &str) -> (PathBuf, Listing) {
    let home = recordings().join("generated").join(name).join("dotgemini");
    let listing = store::list(&home, &[], None, &|_, _| {});
    assert!(listing.problems.is_empty(), "{:?}", listing.problems);
    (home, listing)
}

#[test]
fn session_overwritten_by_a_load_in_the_same_minute_is_recovered() {
    let (_, listing) = recorded_home("acp-0.61.0");
    let shown: Vec<(&str, Kind, Option<&Risk>)> = listing
        .sessions
        .iter()
        .map(|session| (session.short_id(), session.kind, session.risk.as_ref()))
        .collect();
    assert!(shown.contains(&("1a1ce093", Kind::Main, Some(&Risk::Overwritten))), "{shown:?}");
    assert!(shown.contains(&("46796413", Kind::Stub, None)), "{shown:?}");
    let lost = listing.sessions.iter().find(|session| session.short_id() == "1a1ce093").unwrap();
    let text = fs::read_to_string(&lost.file.path).unwrap();
    let transcript = Transcript::read(&text);
    let ever = transcript.messages_ever();
    let spoken = |role: &str| {
        ever.iter().filter(|message| json!(message.role) == role && !message.meta).count()
    };
    assert!(transcript.messages().all(|message| message.meta), "the CLI dropped every message");
    assert!(ever.iter().filter(|message| !message.meta).all(|message| message.recovered));
    assert_eq!((spoken("user"), spoken("assistant")), (2, 7));
}

#[test]
fn stub_left_by_a_load_in_the_next_minute_is_marked_as_a_risk() {
    let (home, listing) = recorded_home("acp-0.61.0-load-next-minute");
    let live = listing.sessions.iter().find(|session| session.short_id() == "dd303262").unwrap();
    let chats = home.join("tmp/work/chats");
    assert_eq!(live.file.path, chats.join("session-2026-11-15T18-08-dd303262.jsonl"));
    assert_eq!(live.risk, Some(Risk::Stub(chats.join("session-2026-11-15T18-09-dd303262.jsonl"))));
    assert_eq!(live.kind, Kind::Main);
    assert_eq!(listing.sessions.len(), 2);
}

#[test]
fn oldest_and_newest_layout_hold_the_same_conversation() {
    let (_, old) = recorded_home("headless-0.20.2");
    let (_, new) = recorded_home("headless-0.61.0");
    let hash = "df143c2ca906a2e5367b7d1dd6df28704f4056321d4d591acdbe01ae386cab52";
    assert_eq!(old.sessions[0].digest.project_hash.as_deref(), Some(hash));
    assert_eq!(old.sessions[0].project_name(), hash);
    assert_eq!(new.sessions[0].project_name(), "/home/develop/gen/out/g061/work");
    let tools = |listing: &Listing| -> Vec<(String, u64)> {
        let tools = &listing.sessions[0].digest.tools;
        tools.iter().map(|(name, calls)| (name.clone(), calls.calls)).collect()
    };
    assert_eq!(tools(&old), tools(&new));
}
