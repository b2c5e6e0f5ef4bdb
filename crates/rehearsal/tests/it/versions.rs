//! One script for every version: a call is said in the words that the request declares.

use crate::http::{rehearse, stream, turn};
use pollux_rehearsal::{Ask, Asks};
use serde_json::{Value, json};

/// What a call becomes where these tools are declared: name to properties.
async fn said_as(call: &str, tools: Value) -> (String, Value) {
    let rehearsal = rehearse(&format!("[[rule]]\nreply = [{call}]")).await;
    let mut body = turn("x");
    let declare = |(name, properties): (&String, &Value)| {
        let required: Vec<&String> = properties.as_object().unwrap().keys().collect();
        json!({ "name": name, "parametersJsonSchema": { "properties": properties, "required": required } })
    };
    let declared: Vec<Value> = tools.as_object().unwrap().iter().map(declare).collect();
    body["tools"] = json!([{ "functionDeclarations": declared }]);
    let chunks = stream(&rehearsal, &body).await;
    let call = &chunks[0]["candidates"][0]["content"]["parts"][0]["functionCall"];
    (call["name"].as_str().unwrap().to_owned(), call["args"].clone())
}

#[tokio::test]
async fn a_tool_that_changed_its_name_is_called_by_the_declared_one() {
    let (name, args) = said_as(
        "{ call = 'grep_search', args = { pattern = 'a', dir_path = 'src', include_pattern = '*.rs' } }",
        json!({ "search_file_content": { "pattern": {}, "path": {}, "include": {} } }),
    )
    .await;
    assert_eq!(name, "search_file_content");
    assert_eq!(args, json!({ "pattern": "a", "path": "src", "include": "*.rs" }));
}

#[tokio::test]
async fn a_path_is_absolute_where_the_tool_wants_it() {
    let wants =
        json!({ "list_directory": { "path": { "description": "The absolute path to list" } } });
    let (_, args) = said_as("{ call = 'list_directory', args = { dir_path = '.' } }", wants).await;
    assert_eq!(args, json!({ "path": "/work/space" }));
}

#[tokio::test]
async fn a_sub_agent_is_called_as_the_tool_that_it_was() {
    let call = "{ call = 'invoke_agent', args = { agent_name = 'codebase_investigator', prompt = 'look' } }";
    let (name, args) = said_as(call, json!({ "codebase_investigator": { "objective": {} } })).await;
    assert_eq!((name.as_str(), args), ("codebase_investigator", json!({ "objective": "look" })));
    let today = json!({ "invoke_agent": { "agent_name": {}, "prompt": {} } });
    assert_eq!(said_as(call, today).await.0, "invoke_agent");
}

#[tokio::test]
async fn the_tool_of_an_mcp_server_needs_no_server_name() {
    let call = "{ call = 'echo_text', args = { text = 'x' } }";
    assert_eq!(
        said_as(call, json!({ "mcp_dummy_echo_text": { "text": {} } })).await.0,
        "mcp_dummy_echo_text"
    );
    let call = "{ call = 'mcp_dummy_echo_text', args = { text = 'x' } }";
    assert_eq!(said_as(call, json!({ "echo_text": { "text": {} } })).await.0, "echo_text");
}

#[tokio::test]
async fn words_that_only_some_versions_want_are_filled_in() {
    let call =
        "{ call = 'replace', args = { file_path = 'a', old_string = 'b', new_string = 'c' } }";
    let wants = json!({ "replace": { "instruction": { "type": "STRING" } } });
    assert_eq!(said_as(call, wants).await.1["instruction"], "The script asks for it.");
}

#[tokio::test]
async fn an_exact_call_is_sent_as_it_is_written() {
    let call = "{ call = 'read_file', args = { path = 'a', when = 2026-01-02 }, exact = true }";
    let (_, args) = said_as(call, json!({ "read_file": { "absolute_path": {} } })).await;
    assert_eq!(args, json!({ "path": "a", "when": "2026-01-02" }));
}

#[test]
fn the_working_directory_is_found_in_the_words_of_every_age() {
    for told in [
        "I'm currently working in the directory: /a b/c\nHere is the folder structure",
        "I'm currently working in the following directories:\n  - /a b/c\n  - /d\n",
        "- **Workspace Directories:**\n  - /a b/c\n- **Directory Structure:**",
    ] {
        let body = json!({ "contents": [{ "role": "user", "parts": [{ "text": told }] }] });
        assert_eq!(Ask::read("m", &body, true).cwd.as_deref(), Some("/a b/c"), "{told}");
    }
    let told =
        json!({ "systemInstruction": { "parts": [{ "text": "working in the directory: /x" }] } });
    assert_eq!(Ask::read("m", &told, true).cwd.as_deref(), Some("/x"));
}

#[test]
fn a_request_that_is_nonsense_is_a_turn_without_words() {
    for body in [
        Value::Null,
        json!([1]),
        json!({ "contents": "?" }),
        json!({ "contents": [{ "parts": 3 }] }),
    ] {
        let ask = Ask::read("m", &body, true);
        assert_eq!((ask.asks, ask.prompt.as_str(), ask.step), (Asks::Turn, "", 0));
    }
}
