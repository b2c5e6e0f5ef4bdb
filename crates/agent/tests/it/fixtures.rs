//! Session files of other projects and of generated runs, which lie beside the repository on some machines: what each
//! of them shows is asserted here, none of them is copied.

use crate::home::shared;
use pollux_agent::claude::{self, Session};
use pollux_agent::gemini::transcript::digest::digest;
use pollux_agent::gemini::transcript::store::{self, Kind, Listing, Risk};
use pollux_agent::gemini::transcript::{Format, Transcript};
use pollux_agent::model::{Block, Message, Usage};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// Who says what in a session, in short.
fn said(transcript: &Transcript<'_>) -> Vec<(String, String, String)> {
    let short = |message: Message<'_>| {
        (message.id.to_string(), json!(message.role).as_str().unwrap().to_owned(), message.text())
    };
    transcript.messages().map(short).collect()
}

fn row(id: &str, role: &str, text: &str) -> (String, String, String) {
    (id.to_owned(), role.to_owned(), text.to_owned())
}

/// The calls of messages: Claude's name, and how the call ended.
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

#[test]
fn full_sessions_of_october_2025_are_read_whole() {
    let Some(folder) = shared("fixtures/agent-cli-sdk/full") else { return };
    // The file, its messages, its calls with those that failed or were cancelled, its tokens.
    let expected = [
        ("session-2025-10-27T19-55-981c87cb.json", 18, [13, 1, 1], 109_261),
        ("session-2025-10-29T10-36-453aa339.json", 5, [3, 0, 0], 22_257),
        ("session-2025-10-29T10-36-9c9a14e1.json", 3, [1, 0, 0], 11_431),
        ("session-2025-10-29T10-36-f96c76b0.json", 3, [1, 0, 0], 11_054),
        ("session-2025-10-29T10-39-a63242d9.json", 2, [1, 1, 0], 4_808),
        ("session-2025-10-29T10-40-359abdd0.json", 3, [1, 0, 0], 10_638),
    ];
    for (name, messages, counts, tokens) in expected {
        let text = read(&folder.join(name));
        let transcript = Transcript::read(&text);
        let sums = digest(&text);
        let add = |get: fn(&_) -> u64| sums.tools.values().map(get).sum::<u64>();
        assert_eq!(
            (
                transcript.format,
                transcript.diagnostics().len(),
                transcript.messages().count(),
                sums.messages,
                [add(|calls| calls.calls), add(|calls| calls.failed), add(|calls| calls.cancelled)],
                sums.usage().total_tokens,
            ),
            (Format::Json, 0, messages, messages as u64, counts, tokens),
            "{name}"
        );
        let id = name.rsplit('-').next().unwrap().trim_end_matches(".json");
        assert!(sums.session_id.unwrap().starts_with(id), "{name}");
    }
}

#[test]
fn the_long_session_of_october_2025_has_claudes_tools() {
    let Some(file) = shared("fixtures/agent-cli-sdk/full/session-2025-10-27T19-55-981c87cb.json")
    else {
        return;
    };
    let text = read(&file);
    let messages: Vec<_> = Transcript::read(&text).messages().collect();
    let ok = "success false";
    assert_eq!(
        calls(&messages),
        [
            "Glob",
            ok,
            "Write",
            ok,
            "Bash",
            "cancelled false",
            "Glob",
            "error true",
            "Glob",
            ok,
            "Read",
            ok,
            "WebSearch",
            ok,
            "Bash",
            ok,
            "Bash",
            ok,
            "Bash",
            ok,
            "Bash",
            ok,
            "Read",
            ok,
            "Write",
            ok,
        ]
    );
}

#[test]
fn single_messages_become_what_the_first_specification_asks_for() {
    let Some(folder) = shared("fixtures/agent-cli-sdk/individual") else { return };
    // The file, the kinds of its blocks, the call's input, the result and its status.
    let playground = "/Users/jnarowski/Dev/playground/src/test-project";
    let main = format!("{playground}/main.py");
    let list = json!({ "pattern": "*", "path": format!("{playground}/") });
    let python = json!({ "command": "python3", "description": "Run the python3 interpreter in interactive mode." });
    let created = "/private/tmp/gemini-test/created.txt";
    let edit = json!({ "file_path": created, "old_string": "Hello from Gemini CLI", "new_string": "Goodbye from Gemini CLI" });
    let all = ["thinking", "tool_use", "tool_result", "text"];
    let cases: [(&str, &[&str], &str, Value, &str); 10] = [
        ("gemini-with-thoughts", &all[..3], "Glob", list.clone(), "success"),
        (
            "tool-google_web_search",
            &all[1..],
            "WebSearch",
            json!({ "query": "restrictedpy" }),
            "success",
        ),
        ("tool-list_directory", &all[..3], "Glob", list.clone(), "success"),
        ("tool-read_file", &all[1..], "Read", json!({ "file_path": main }), "success"),
        (
            "tool-replace",
            &["thinking", "thinking", "tool_use", "tool_result"],
            "Edit",
            edit,
            "success",
        ),
        ("tool-result-cancelled", &all, "Bash", python.clone(), "cancelled"),
        ("tool-result-error", &all, "Glob", json!({ "pattern": "*", "path": "." }), "error"),
        ("tool-result-success", &all[..3], "Glob", list, "success"),
        ("tool-run_shell_command", &all, "Bash", python, "cancelled"),
        ("tool-write-file", &all, "Write", json!({ "file_path": main }), "success"),
    ];
    for (name, kinds, tool, input, status) in cases {
        let original: Value =
            serde_json::from_str(&read(&folder.join(format!("{name}.json")))).unwrap();
        let document = json!({ "sessionId": "s", "messages": [original] });
        let text = serde_json::to_string_pretty(&document).unwrap();
        let message = json!(Transcript::read(&text).messages().next().unwrap());
        let blocks = message["content"].as_array().unwrap();
        let found: Vec<&str> = blocks.iter().map(|block| block["type"].as_str().unwrap()).collect();
        assert_eq!(found, kinds, "{name}");
        let mut call = blocks.iter().find(|block| block["type"] == "tool_use").unwrap().clone();
        let content = call["input"].as_object_mut().unwrap().remove("content");
        assert_eq!(content.as_ref(), original["toolCalls"][0]["args"].get("content"), "{name}");
        let expected = json!({ "type": "tool_use", "id": original["toolCalls"][0]["id"], "name": tool, "input": input });
        assert_eq!(call, expected, "{name}");
        let response = &original["toolCalls"][0]["result"][0]["functionResponse"]["response"];
        let result = blocks.iter().find(|block| block["type"] == "tool_result").unwrap();
        let expected = json!({ "type": "tool_result", "tool_use_id": original["toolCalls"][0]["id"],
            "content": response.get("output").or(response.get("error")), "is_error": status == "error", "status": status });
        assert_eq!(*result, expected, "{name}");
        assert_eq!(message["_original"], original, "{name}");
    }
}

fn public(name: &str) -> Option<String> {
    shared(&format!("fixtures/public-index/{name}")).map(|path| read(&path))
}

#[test]
fn a_repeated_id_is_one_message_in_its_newest_state() {
    let Some(text) = public("56249730059-session-same-id-rewritten.jsonl") else { return };
    let transcript = Transcript::read(&text);
    assert_eq!(
        said(&transcript),
        [row("u1", "user", "inspect repo"), row("g1", "assistant", "checked files")]
    );
    let messages: Vec<_> = transcript.messages().collect();
    assert_eq!(calls(&messages), ["Read", "success false"]);
    assert_eq!(digest(&text).title(), Some("Inspecting repository structure"));
}

#[test]
fn what_was_rewound_is_not_shown_and_can_be_recovered() {
    let Some(text) = public("67133491350-session-rewind.jsonl") else { return };
    let transcript = Transcript::read(&text);
    assert_eq!(
        said(&transcript),
        [
            row("user-1", "user", "First current prompt"),
            row("gemini-2", "assistant", "Current answer")
        ]
    );
    let ever: Vec<(String, bool)> = transcript
        .messages_ever()
        .iter()
        .map(|message| (message.id.to_string(), message.recovered))
        .collect();
    let expected = [("user-1", false), ("gemini-1", true), ("gemini-2", false)];
    assert_eq!(ever, expected.map(|(id, recovered)| (id.to_owned(), recovered)));
}

#[test]
fn tokens_of_a_rewound_answer_were_spent_all_the_same() {
    let Some(text) = public("57514897399-session-rewind-drops-model.jsonl") else { return };
    let sums = digest(&text);
    assert_eq!((sums.messages, sums.usage().total_tokens), (0, 215_010));
    assert_eq!(sums.model.as_deref(), Some("gemini-3-pro"));
}

#[test]
fn todos_a_rewound_prompt_and_a_quota_error_are_told_apart() {
    let Some(text) = public("68955512549-session-todos-rewind-quota.jsonl") else { return };
    let messages: Vec<_> = Transcript::read(&text).messages().collect();
    let shown: Vec<Value> =
        messages.iter().map(|message| json!([message.id, message.role, message.level])).collect();
    assert_eq!(
        shown,
        [
            json!(["m1", "user", null]),
            json!(["m2", "assistant", null]),
            json!(["m4", "system", "error"])
        ]
    );
    assert_eq!(
        calls(&messages),
        ["Write", "success false", "Bash", "error true", "TodoWrite", "success false"]
    );
    let answer = json!(messages[1]);
    let todo =
        |text: &str, status: &str| json!({ "content": text, "status": status, "activeForm": text });
    assert_eq!(
        answer["content"][4]["input"],
        json!({ "todos": [todo("Write exporter", "completed"), todo("Fix tests", "in_progress")] })
    );
    assert_eq!(
        answer["content"][3]["content"], "2 failed",
        "what was shown stands in for the result"
    );
}

#[test]
fn a_batch_without_ids_replaces_what_was_there() {
    let Some(text) = public("70276517918-session-set-messages-batch.jsonl") else { return };
    let transcript = Transcript::read(&text);
    assert_eq!(
        said(&transcript),
        [row("#2", "user", "from the batch"), row("#3", "assistant", "batch answer")]
    );
    assert_eq!(transcript.meta().session_id.as_deref(), Some("abc"));
    assert_eq!(transcript.meta().project_hash, None);
    assert!(transcript.diagnostics().is_empty());
}

#[test]
fn tokens_are_geminis_here_and_disjoint_for_claude() {
    let Some(file) = shared("fixtures/ccusage/loader-test-session-a.jsonl") else { return };
    let text = read(&file);
    let sums = digest(&text);
    let gemini = Usage {
        input_tokens: 15_327,
        output_tokens: 23,
        total_tokens: 16_276,
        cached_tokens: 11_526,
        thoughts_tokens: 919,
        tool_tokens: 7,
    };
    assert_eq!(sums.usage(), gemini);
    let messages: Vec<_> = Transcript::read(&text).messages().collect();
    let row = claude::rows(&Session::default(), &messages).next().map(|row| json!(row)).unwrap();
    let claude = &row["message"]["usage"];
    assert_eq!(
        [&claude["input_tokens"], &claude["cache_read_input_tokens"], &claude["output_tokens"]],
        [3_808, 11_526, 942]
    );
}

fn generated(name: &str) -> Option<(PathBuf, Listing)> {
    let home = shared(&format!("fixtures/generated/{name}/dotgemini"))?;
    let listing = store::list(&home, &[], None, &|_, _| {});
    assert!(listing.problems.is_empty(), "{:?}", listing.problems);
    Some((home, listing))
}

#[test]
fn a_load_in_the_same_minute_is_recognised_as_overwritten_and_given_back() {
    let Some((_, listing)) = generated("acp-0.61.0") else { return };
    let shown: Vec<(&str, Kind, Option<&Risk>)> = listing
        .sessions
        .iter()
        .map(|session| (session.short_id(), session.kind, session.risk.as_ref()))
        .collect();
    assert!(shown.contains(&("1a1ce093", Kind::Main, Some(&Risk::Overwritten))), "{shown:?}");
    assert!(shown.contains(&("46796413", Kind::Stub, None)), "{shown:?}");
    let lost = listing.sessions.iter().find(|session| session.short_id() == "1a1ce093").unwrap();
    let text = read(&lost.file.path);
    let transcript = Transcript::read(&text);
    let ever = transcript.messages_ever();
    let spoken = |role: &str| {
        ever.iter().filter(|message| json!(message.role) == role && !message.meta).count()
    };
    assert!(transcript.messages().all(|message| message.meta), "nothing that was said stands");
    assert!(ever.iter().filter(|message| !message.meta).all(|message| message.recovered));
    assert_eq!((spoken("user"), spoken("assistant")), (2, 7));
}

#[test]
fn a_load_in_the_next_minute_leaves_a_stub_that_is_recognised_as_a_risk() {
    let Some((home, listing)) = generated("acp-0.61.0-load-next-minute") else { return };
    let live = listing.sessions.iter().find(|session| session.short_id() == "dd303262").unwrap();
    let chats = home.join("tmp/work/chats");
    assert_eq!(live.file.path, chats.join("session-2026-11-15T18-08-dd303262.jsonl"));
    assert_eq!(live.risk, Some(Risk::Stub(chats.join("session-2026-11-15T18-09-dd303262.jsonl"))));
    assert_eq!(live.kind, Kind::Main);
    assert_eq!(listing.sessions.len(), 2);
}

#[test]
fn the_oldest_and_the_newest_layout_hold_the_same_conversation() {
    let Some((_, old)) = generated("headless-0.20.2") else { return };
    let Some((_, new)) = generated("headless-0.61.0") else { return };
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
