//! Editors drive the real Gemini CLI through `pollux acp`: the official SDK of the protocol, and `acpx`.

mod many;

use super::run::{Place, program, stderr, stdout};
use pollux_e2e::pinned::{ACP_SDK, ACP_SDK_PYTHON, ACPX};
use pollux_e2e::{repository, requires};
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

/// What an editor printed.
struct Heard(Vec<Value>);

impl Heard {
    fn at(&self, at: &str) -> Vec<&Value> {
        self.0.iter().filter(|line| line["at"] == at).collect()
    }

    fn answer(&self, step: &str) -> &Value {
        let found = self.at("answer").into_iter().find(|line| line["step"] == step);
        &found.ok_or_else(|| format!("{step}: {:#?}", self.0)).unwrap()["answer"]
    }

    fn updates(&self, kind: &str) -> Vec<&Value> {
        let updates = self.at("update").into_iter().map(|line| &line["update"]);
        updates.filter(|update| update["sessionUpdate"] == kind).collect()
    }

    fn words(&self, kind: &str) -> String {
        self.updates(kind).iter().filter_map(|it| it["content"]["text"].as_str()).collect()
    }
}

/// Runs an editor under a rehearsal of a script.
fn edit(place: &Place, script: &str, plan: &Value, args: &[&str]) -> Heard {
    let mut command = if script.contains('\n') {
        place.rehearse_own(script, "node")
    } else {
        place.rehearse(script, "node")
    };
    let sdk = ACP_SDK.npm().unwrap();
    let sdk = sdk.join("node_modules/@agentclientprotocol/sdk/dist/v1/unstable/acp.js");
    let client = repository().join("crates/pollux/tests/it/editor/client.mjs");
    command.arg(client).arg(sdk).arg(plan.to_string()).arg(program()).arg("acp").args(args);
    // A plan of hundreds of steps takes its time.
    let steps = plan["steps"].as_array().map_or(0, Vec::len);
    command.timeout(Duration::from_mins(2) + Duration::from_secs(10) * steps.try_into().unwrap());
    let ran = command.env("GEMINI_CLI_PATH", place.program()).output().unwrap();
    let heard: Vec<Value> =
        stdout(&ran).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!heard.is_empty(), "{}", stderr(&ran));
    Heard(heard)
}

fn text(words: &str) -> Value {
    json!([{ "type": "text", "text": words }])
}

#[test]
fn a_prompt_is_worked_on_and_the_editor_is_asked() {
    requires!(npm);
    let place = Place::newest();
    let cwd = place.work();
    let steps = json!([
        ["new", { "cwd": cwd, "mcpServers": [] }, "s"],
        ["prompt", { "sessionId": "$s", "prompt": text("edit the greeting") }],
    ]);
    let heard = edit(&place, "edit", &json!({ "steps": steps }), &[]);
    let about = heard.answer("initialize");
    let can = &about["agentCapabilities"]["sessionCapabilities"];
    for ability in ["list", "resume", "fork", "close"] {
        assert!(can[ability].is_object(), "{ability}: {about:#}");
    }
    let new = heard.answer("new");
    assert_eq!(new["modes"]["currentModeId"], "default");
    assert!(new["configOptions"][0]["options"].as_array().unwrap().len() > 1, "{new:#}");
    assert_eq!(heard.at("asked").len(), 1, "{:#?}", heard.0);
    let calls = heard.updates("tool_call");
    assert_eq!(calls.len(), 1);
    let diff = &calls[0]["content"][0];
    assert_eq!(
        (&diff["type"], &diff["oldText"]),
        (&"diff".into(), &"hello world\nsecond line\n".into())
    );
    let ends = heard.updates("tool_call_update");
    assert!(ends.iter().any(|end| end["status"] == "completed"), "{ends:#?}");
    assert!(ends.iter().any(|end| end["rawInput"]["old_string"] == "hello world"), "{ends:#?}");
    assert!(fs::read_to_string(place.work().join("hello.txt")).unwrap().contains("brave"));
    assert_eq!(heard.words("agent_message_chunk"), "Editing. Done. The greeting is braver now.");
    let answer = heard.answer("prompt");
    assert_eq!(answer["stopReason"], "end_turn");
    assert!(answer["usage"]["totalTokens"].as_u64().unwrap() > 0, "{answer:#}");
    assert!(heard.updates("usage_update")[0]["used"].as_u64().unwrap() > 0);
}

#[test]
fn a_call_that_is_turned_down_has_an_end_too() {
    requires!(npm);
    let place = Place::newest();
    let steps = json!([
        ["new", { "cwd": place.work(), "mcpServers": [] }, "s"],
        ["prompt", { "sessionId": "$s", "prompt": text("touch a file") }],
    ]);
    let heard = edit(&place, "approval", &json!({ "steps": steps, "decide": "reject_once" }), &[]);
    assert!(!place.work().join("approved.txt").exists());
    let call = heard.updates("tool_call")[0];
    assert_eq!((&call["title"], &call["kind"]), (&"touch approved.txt".into(), &"execute".into()));
    let ends = heard.updates("tool_call_update");
    let ends: Vec<&Value> = ends.into_iter().filter(|end| !end["status"].is_null()).collect();
    assert_eq!(ends.len(), 1, "{ends:#?}");
    assert_eq!(
        (&ends[0]["status"], &ends[0]["toolCallId"]),
        (&"failed".into(), &call["toolCallId"])
    );
}

#[test]
fn plans_modes_and_models_are_told_as_the_protocol_has_them() {
    requires!(npm);
    let place = Place::newest();
    let steps = json!([
        ["new", { "cwd": place.work(), "mcpServers": [] }, "s"],
        ["set_mode", { "sessionId": "$s", "modeId": "yolo" }],
        ["set_mode", { "sessionId": "$s", "modeId": "no_such_mode" }],
        ["set_option", { "sessionId": "$s", "configId": "model", "value": "gemini-2.5-flash" }],
        ["prompt", { "sessionId": "$s", "prompt": text("plan the work") }],
        ["prompt", { "sessionId": "no such session", "prompt": text("hello") }],
    ]);
    let script = "[[rule]]\nprompt = \"plan\"\nreply = [{ call = \"write_todos\", args = { todos = [{ description = \"Look\", status = \"completed\" }, { description = \"Leap\", status = \"pending\" }] } }]\n\
        [[rule]]\ntool = \"write_todos\"\nreply = \"Planned.\"\n";
    let older = ["--model", "gemini-2.5-pro"];
    let heard = edit(&place, script, &json!({ "steps": steps }), &older);
    let modes = heard.updates("current_mode_update");
    assert_eq!(
        modes.first().map(|mode| &mode["currentModeId"]),
        Some(&"yolo".into()),
        "{:#?}",
        heard.0
    );
    assert!(!heard.words("agent_message_chunk").contains("MODE_UPDATE"));
    let errors = heard.at("error");
    assert_eq!(errors.len(), 2, "{errors:#?}");
    assert!(errors[0]["message"].as_str().unwrap().contains("not offer the mode `no_such_mode`"));
    assert!(errors[0]["data"]["hint"].as_str().unwrap().contains("available modes: default"));
    let option = &heard.answer("set_option")["configOptions"][0];
    assert_eq!(option["currentValue"], "gemini-2.5-flash");
    let plan = heard.updates("plan");
    assert_eq!(plan.len(), 1, "{:#?}", heard.0);
    assert_eq!(
        plan[0]["entries"][0],
        json!({ "content": "Look", "priority": "medium", "status": "completed" })
    );
}

#[test]
fn a_session_that_is_open_is_not_opened_twice() {
    requires!(npm);
    let place = Place::newest();
    let again = json!({ "cwd": place.work(), "sessionId": "$s", "mcpServers": [] });
    let steps = json!([
        ["new", { "cwd": place.work(), "mcpServers": [] }, "s"],
        ["prompt", { "sessionId": "$s", "prompt": text("hello") }],
        ["load", again],
        ["resume", again],
        ["prompt", { "sessionId": "$s", "prompt": text("hello again") }],
    ]);
    let heard = edit(&place, "greeting", &json!({ "steps": steps }), &[]);
    let errors = heard.at("error");
    let codes: Vec<&Value> = errors.iter().map(|error| &error["data"]["code"]).collect();
    assert_eq!(codes, ["already_open", "already_open"], "{:#?}", heard.0);
    let answers = heard.at("answer").into_iter().filter(|line| line["step"] == "prompt");
    assert_eq!(answers.count(), 2, "the one that is open goes on: {:#?}", heard.0);
}

#[test]
fn the_sdk_for_python_drives_it() {
    requires!(npm, python);
    let place = Place::newest();
    let sdk = ACP_SDK_PYTHON.python().unwrap();
    let mut command = place.rehearse("edit", "python3");
    command.arg(repository().join("crates/pollux/tests/it/editor/client.py"));
    command.arg(program()).arg(place.work().canonicalize().unwrap());
    let command = command.env("PYTHONPATH", sdk).env("GEMINI_CLI_PATH", place.program());
    let ran = command.output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let heard =
        Heard(stdout(&ran).lines().map(|line| serde_json::from_str(line).unwrap()).collect());
    assert_eq!(heard.at("asked").len(), 1, "{:#?}", heard.0);
    assert!(fs::read_to_string(place.work().join("hello.txt")).unwrap().contains("brave"));
    assert_eq!(heard.answer("prompt")["stopReason"], "end_turn");
    assert_eq!(heard.words("agent_message_chunk"), "Editing. Done. The greeting is braver now.");
    let listed = heard.answer("list")["sessions"].as_array().unwrap();
    let own = heard.at("answer").into_iter().find(|line| line["step"] == "list").unwrap();
    assert!(listed.iter().any(|it| it["sessionId"] == own["session"]), "{listed:#?}");
}

#[test]
fn acpx_drives_it() {
    requires!(npm);
    let place = Place::newest();
    let acpx = ACPX.npm().unwrap().join("node_modules/.bin/acpx");
    let agent = format!("{} acp", program());
    let mut command = place.rehearse("edit", &acpx.display().to_string());
    command.args([
        "--approve-all",
        "--format",
        "text",
        "--agent",
        &agent,
        "exec",
        "edit the greeting",
    ]);
    let ran = command.env("GEMINI_CLI_PATH", place.program()).output().unwrap();
    let said = stdout(&ran);
    assert!(said.contains("The greeting is braver now."), "{said}\n{}", stderr(&ran));
    assert!(fs::read_to_string(place.work().join("hello.txt")).unwrap().contains("brave"));
}

#[test]
fn another_agent_can_stand_behind_it() {
    requires!(npm);
    let place = Place::newest();
    // Gemini CLI itself, as if nothing were known of it.
    let agent = format!("{} --acp", place.program().display());
    let steps = json!([
        ["list", {}],
        ["new", { "cwd": place.work(), "mcpServers": [] }, "s"],
        ["prompt", { "sessionId": "$s", "prompt": text("touch a file") }],
    ]);
    let heard = edit(&place, "approval", &json!({ "steps": steps }), &["--agent-command", &agent]);
    assert_eq!(heard.at("error")[0]["code"], -32601, "nothing is known of its sessions");
    assert!(place.work().join("approved.txt").exists(), "{:#?}", heard.0);
    let calls = heard.updates("tool_call");
    assert_eq!(calls.len(), 1);
    assert!(heard.updates("tool_call_update").iter().any(|end| end["status"] == "completed"));
}
