//! The tool table: every name that a version has declared, and every name that an argument has had.

use crate::test_data::recordings;
use pollux_agent::gemini::tools::{Category, category, claude_name, find, input};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

/// Every built-in tool of the versions that were looked at, with Claude's name for it.
const KNOWN: &[(&str, &str)] = &[
    ("read_file", "Read"),
    ("write_file", "Write"),
    ("replace", "Edit"),
    ("run_shell_command", "Bash"),
    ("list_background_processes", "list_background_processes"),
    ("read_background_output", "BashOutput"),
    ("glob", "Glob"),
    ("grep_search", "Grep"),
    ("search_file_content", "Grep"),
    ("list_directory", "Glob"),
    ("read_many_files", "read_many_files"),
    ("web_fetch", "WebFetch"),
    ("google_web_search", "WebSearch"),
    ("ask_user", "AskUserQuestion"),
    ("write_todos", "TodoWrite"),
    ("tracker_create_task", "tracker_create_task"),
    ("tracker_update_task", "tracker_update_task"),
    ("tracker_get_task", "tracker_get_task"),
    ("tracker_list_tasks", "tracker_list_tasks"),
    ("tracker_add_dependency", "tracker_add_dependency"),
    ("tracker_visualize", "tracker_visualize"),
    ("update_topic", "update_topic"),
    ("enter_plan_mode", "EnterPlanMode"),
    ("exit_plan_mode", "ExitPlanMode"),
    ("invoke_agent", "Task"),
    ("codebase_investigator", "Task"),
    ("cli_help", "Task"),
    ("generalist", "Task"),
    ("activate_skill", "Skill"),
    ("save_memory", "save_memory"),
    ("read_mcp_resource", "ReadMcpResourceTool"),
    ("list_mcp_resources", "ListMcpResourcesTool"),
    ("get_internal_docs", "get_internal_docs"),
    ("complete_task", "complete_task"),
];

#[test]
fn every_known_tool_is_in_the_table_under_claudes_name() {
    for (gemini, claude) in KNOWN {
        assert!(find(gemini).is_some(), "{gemini} is not in the table");
        assert_eq!(claude_name((*gemini).into(), None), *claude);
    }
}

#[test]
fn every_tool_that_a_recorded_version_declared_is_in_the_table() {
    let path = recordings().join("TOOLS.md");
    let text = fs::read_to_string(path).unwrap();
    let lists = text
        .lines()
        .filter(|line| line.starts_with("- "))
        .filter_map(|line| line.rsplit_once(": "));
    let declared: BTreeSet<&str> =
        lists.flat_map(|(_, list)| list.split(',')).map(str::trim).collect();
    assert!(declared.len() > 20, "the lists are written in another way: {declared:?}");
    // The MCP server of the recordings, before and after 0.34.
    let mcp = ["echo_text", "mcp_dummy_echo_text"];
    let unknown: Vec<&str> =
        declared.into_iter().filter(|name| find(name).is_none() && !mcp.contains(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn arguments_of_every_version_get_claudes_names() {
    let cases = [
        ("read_file", json!({ "absolute_path": "/f" }), json!({ "file_path": "/f" })),
        (
            "read_file",
            json!({ "file_path": "f", "start_line": 5, "end_line": 9, "wait_for_previous": true }),
            json!({ "file_path": "f", "offset": 5, "limit": 5 }),
        ),
        (
            "read_file",
            json!({ "path": "f", "offset": 3, "limit": 2 }),
            json!({ "file_path": "f", "offset": 4, "limit": 2 }),
        ),
        (
            "read_file",
            json!({ "file_path": "f", "start_line": 5, "offset": 1 }),
            json!({ "file_path": "f", "offset": 5 }),
        ),
        (
            "read_file",
            json!({ "file_path": "f", "start_line": i64::MIN, "end_line": i64::MAX }),
            json!({ "file_path": "f", "offset": i64::MIN, "limit": i64::MAX }),
        ),
        (
            "write_file",
            json!({ "content": "c", "file_path": "f" }),
            json!({ "file_path": "f", "content": "c" }),
        ),
        (
            "replace",
            json!({ "file_path": "f", "instruction": "why", "old_string": "a", "new_string": "b", "allow_multiple": true }),
            json!({ "file_path": "f", "old_string": "a", "new_string": "b", "replace_all": true }),
        ),
        (
            "run_shell_command",
            json!({ "command": "ls", "is_background": true, "dir_path": "src" }),
            json!({ "command": "ls", "run_in_background": true, "dir_path": "src" }),
        ),
        ("list_directory", json!({ "path": "/d" }), json!({ "pattern": "*", "path": "/d" })),
        ("list_directory", json!({ "dir_path": "d" }), json!({ "pattern": "*", "path": "d" })),
        (
            "list_directory",
            json!({ "dir_path": "a", "path": "b" }),
            json!({ "pattern": "*", "path": "a" }),
        ),
        (
            "glob",
            json!({ "pattern": "*.rs", "dir_path": "d" }),
            json!({ "pattern": "*.rs", "path": "d" }),
        ),
        (
            "search_file_content",
            json!({ "pattern": "x", "path": "d", "include": "*.rs" }),
            json!({ "pattern": "x", "path": "d", "glob": "*.rs" }),
        ),
        (
            "grep_search",
            json!({ "pattern": "x", "include_pattern": "*.rs", "names_only": true, "case_sensitive": false }),
            json!({ "pattern": "x", "glob": "*.rs", "output_mode": "files_with_matches", "-i": true }),
        ),
    ];
    check(&cases);
}

#[test]
fn arguments_that_have_to_be_worked_out_are() {
    let cases = [
        (
            "web_fetch",
            json!({ "prompt": "what is on https://example.org/a?" }),
            json!({ "url": "https://example.org/a", "prompt": "what is on https://example.org/a?" }),
        ),
        (
            "write_todos",
            json!({ "todos": [{ "description": "a", "status": "cancelled" }] }),
            json!({ "todos": [{ "content": "a", "status": "completed", "activeForm": "a" }] }),
        ),
        ("exit_plan_mode", json!({ "plan_path": "p.md" }), json!({ "plan": "p.md" })),
        ("exit_plan_mode", json!({ "plan_filename": "p.md" }), json!({ "plan": "p.md" })),
        (
            "invoke_agent",
            json!({ "agent_name": "generalist", "prompt": "go" }),
            json!({ "description": "generalist", "prompt": "go", "subagent_type": "generalist" }),
        ),
        (
            "codebase_investigator",
            json!({ "objective": "go" }),
            json!({ "description": "codebase_investigator", "prompt": "go", "subagent_type": "codebase_investigator" }),
        ),
        ("activate_skill", json!({ "name": "s" }), json!({ "skill": "s" })),
        (
            "read_background_output",
            json!({ "pid": 7, "lines": 3 }),
            json!({ "bash_id": 7, "lines": 3 }),
        ),
        (
            "never_heard_of",
            json!({ "absolute_path": "/f", "instruction": 1 }),
            json!({ "absolute_path": "/f", "instruction": 1 }),
        ),
        ("read_file", json!(["not", "an", "object"]), json!(["not", "an", "object"])),
    ];
    check(&cases);
}

fn check(cases: &[(&str, Value, Value)]) {
    for (name, given, expected) in cases {
        assert_eq!(mapped(name, given), *expected, "{name} {given}");
    }
}

fn mapped(name: &str, args: &Value) -> Value {
    let raw = RawValue::from_string(args.to_string()).unwrap();
    json!(input(name, Some(&raw)))
}

#[test]
fn arguments_of_which_nothing_can_be_made_stay_as_they_are() {
    check(&[
        (
            "read_file",
            json!({ "file_path": "x", "start_line": "10", "end_line": 20 }),
            json!({ "file_path": "x", "start_line": "10", "end_line": 20 }),
        ),
        (
            "read_file",
            json!({ "file_path": "x", "start_line": 2, "end_line": 20.5 }),
            json!({ "file_path": "x", "offset": 2, "end_line": 20.5 }),
        ),
        ("grep_search", json!({ "names_only": "some" }), json!({ "names_only": "some" })),
        (
            "web_fetch",
            json!({ "prompt": ["see https://a.b"] }),
            json!({ "prompt": ["see https://a.b"] }),
        ),
        ("write_todos", json!({ "todos": { "a": 1 } }), json!({ "todos": { "a": 1 } })),
        (
            "invoke_agent",
            json!({ "agent_name": { "x": 1 }, "prompt": "p" }),
            json!({ "agent_name": { "x": 1 }, "prompt": "p" }),
        ),
    ]);
    let half = r#"{"prompt":"see https://a.b \ud83d"}"#;
    let raw: Box<RawValue> = serde_json::from_str(half).unwrap();
    let mapped = serde_json::to_string(&input("web_fetch", Some(&raw))).unwrap();
    assert_eq!(mapped, r#"{"url":"https://a.b","prompt":"see https://a.b \ud83d"}"#);
}

#[test]
fn a_call_without_arguments_has_an_empty_object() {
    assert_eq!(json!(input("read_file", None)), json!({}));
}

#[test]
fn mcp_tools_get_claudes_name_where_the_server_is_known() {
    let named = |name: &'static str, display| claude_name(name.into(), display).into_owned();
    assert_eq!(
        named("mcp_my_server_do_it", Some("do_it (my_server MCP Server)")),
        "mcp__my_server__do_it"
    );
    assert_eq!(named("srv__do_it", Some("do_it (srv MCP Server)")), "mcp__srv__do_it");
    assert_eq!(named("do_it", Some("do_it (srv MCP Server)")), "mcp__srv__do_it");
    assert_eq!(named("do_it", Some("Do It")), "do_it");
    assert_eq!(named("mcp_other_do_it", Some("do_it (srv MCP Server)")), "mcp_other_do_it");
    assert_eq!(named("read_file", Some("read_file (evil MCP Server)")), "Read");
    assert_eq!(category("mcp_srv_read_file"), Category::Other);
    assert_eq!(category("Read_File"), Category::Other, "names are exact");
}
