//! The same with the SDK for Python.

use super::{Heard, exe};
use crate::run::{Place, stderr};
use pollux_e2e::pinned::CLAUDE_SDK_PYTHON;
use pollux_e2e::{repository, requires};

fn drive(place: &Place, script: &str, what: &str) -> Heard {
    let sdk = CLAUDE_SDK_PYTHON.python().unwrap();
    let mut command = if script.contains('\n') {
        place.rehearse_own(script, "python3")
    } else {
        place.rehearse(script, "python3")
    };
    let drive = repository().join("crates/pollux/tests/it/claude/drive.py");
    command.arg(drive).arg(exe(place)).arg(what);
    command.env("PYTHONPATH", sdk).env("GEMINI_CLI_PATH", place.program());
    let ran = command.output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert!(!stderr(&ran).contains("unsupported"), "{}", stderr(&ran));
    Heard::of(&ran)
}

fn kinds(heard: &Heard) -> Vec<&str> {
    heard.at("message").iter().filter_map(|line| line["kind"].as_str()).collect()
}

#[test]
fn one_question_is_answered_with_the_words_as_they_come() {
    requires!(npm, python);
    let place = Place::newest();
    let heard = drive(&place, "greeting", "once");
    let kinds = kinds(&heard);
    assert_eq!((kinds.first(), kinds.last()), (Some(&"SystemMessage"), Some(&"ResultMessage")));
    assert!(kinds.contains(&"StreamEvent") && kinds.contains(&"AssistantMessage"), "{kinds:?}");
    let last = heard.messages().pop().unwrap();
    assert_eq!(last["result"], "Hello from the scripted model.");
    assert_eq!(last["usage"]["input_tokens"], 1214);
}

#[test]
fn a_callback_allows_and_denies() {
    requires!(npm, python);
    let place = Place::newest();
    let heard = drive(&place, "edit", "deny");
    assert_eq!(heard.at("asked")[0]["name"], "Edit");
    let file = || std::fs::read_to_string(place.work().join("hello.txt")).unwrap();
    assert!(!file().contains("brave"));
    drive(&place, "edit", "allow");
    assert!(file().contains("brave"));
}

#[test]
fn three_turns_with_another_mode_and_model() {
    requires!(npm, python);
    let place = Place::newest();
    let heard = drive(&place, "greeting", "turns");
    let results = kinds(&heard).iter().filter(|kind| **kind == "ResultMessage").count();
    assert_eq!(results, 3, "{:#?}", heard.0);
    let error = heard.at("error")[0]["message"].as_str().unwrap();
    assert!(error.contains("no counterpart"), "{error}");
}

#[test]
fn a_tool_of_the_callers_own_process_is_called() {
    requires!(npm, python);
    let place = Place::newest();
    let script = "[[rule]]\nprompt = \"add\"\nreply = [{ call = \"mcp_calc_add\", args = { a = 2, b = 3 } }]\n\
        [[rule]]\ntool = \"mcp_calc_add\"\nresult = \"The sum is 5\"\nreply = \"It is five.\"\n";
    let heard = drive(&place, script, "tool");
    assert_eq!(heard.at("called").len(), 1, "{:#?}", heard.0);
    assert_eq!(heard.messages().pop().unwrap()["result"], "It is five.");
}
