//! Older versions of the CLI, servers of `--mcp-config`, and pictures.

use super::drive;
use crate::run::{Place, lines, program, stderr, stdout};
use pollux_e2e::{Cli, repository, requires};
use serde_json::{Value, json};
use std::fs;

#[test]
fn older_versions_of_the_cli_edit_a_file_after_the_callback_has_allowed_it() {
    requires!(npm);
    let mut all = Cli::all().unwrap();
    all.pop();
    for cli in all {
        let place = Place::new(&cli);
        let plan =
            json!({ "prompt": "edit the greeting", "decide": { "*": { "behavior": "allow" } } });
        let heard = drive(&place, "edit", &plan);
        assert_eq!(heard.at("asked").len(), 1, "{}: {:#?}", cli.version(), heard.0);
        let result = heard.messages().into_iter().find(|it| it["type"] == "result").unwrap();
        assert_eq!(result["result"], "Done. The greeting is braver now.", "{}", cli.version());
        assert!(result["usage"]["output_tokens"].as_u64().unwrap() > 0, "{}", cli.version());
        let file = fs::read_to_string(place.work().join("hello.txt")).unwrap();
        assert!(file.contains("brave"), "{}: {file}", cli.version());
    }
}

#[test]
fn a_server_of_the_mcp_config_is_started_and_called() {
    requires!(npm);
    let place = Place::newest();
    let script = "[[rule]]\nprompt = \"add\"\nreply = [{ call = \"mcp_calc_add\", args = { a = 2, b = 40 } }]\n\
        [[rule]]\ntool = \"mcp_calc_add\"\nresult = \"42\"\nreply = \"It is 42.\"\n[[rule]]\ntool = \"mcp_calc_add\"\nreply = \"No sum.\"\n";
    let server = repository().join("crates/pollux/tests/it/claude/server.mjs");
    let plan = json!({
        "prompt": "add two and forty",
        "decide": { "*": { "behavior": "allow" } },
        "options": { "mcpServers": { "calc": { "type": "stdio", "command": "node", "args": [server] } } },
    });
    let heard = drive(&place, script, &plan);
    assert_eq!(heard.at("asked")[0]["name"], "mcp__calc__add", "{:#?}", heard.0);
    let result = heard.messages().into_iter().find(|it| it["type"] == "result").unwrap();
    assert_eq!(result["result"], "It is 42.", "{:#?}", heard.0);
}

#[test]
fn a_system_prompt_of_the_caller_is_there_as_long_as_the_session() {
    requires!(npm);
    let place = Place::newest();
    let plan = json!({
        "prompts": ["hello one", "hello two"],
        "options": { "systemPrompt": "You are a parrot." },
        // In another mode the CLI reads it again.
        "between": { "1": [["setPermissionMode", "plan"]] },
    });
    let heard = drive(&place, "[default]\nreply = \"Yes.\"\n", &plan);
    let answer = &heard.at("control")[0]["answer"];
    assert!(answer["error"].is_null(), "{:#?}", heard.0);
    let results: Vec<&Value> =
        heard.messages().into_iter().filter(|it| it["type"] == "result").collect();
    assert_eq!(results.len(), 2, "{:#?}", heard.0);
    assert_eq!(results[1]["result"], "Yes.", "{:#?}", heard.0);
    assert!(place.turns().iter().all(|turn| turn.to_string().contains("You are a parrot.")));
}

#[test]
fn a_session_that_asks_nobody_does_nothing_unasked_and_asks_again_when_it_shall() {
    requires!(npm);
    let place = Place::newest();
    let touch = |name: &str| {
        format!(
            "[[rule]]\nprompt = \"{name}\"\nreply = [{{ call = \"run_shell_command\", args = {{ command = \"touch {name}.txt\" }} }}]\n"
        )
    };
    let script = ["first", "second", "third"].map(touch).concat()
        + "[[rule]]\ntool = \"run_shell_command\"\nreply = \"Done, or not.\"\n";
    let plan = json!({
        "prompts": ["first", "second", "third"],
        "decide": { "*": { "behavior": "allow" } },
        "options": { "permissionMode": "bypassPermissions", "allowDangerouslySkipPermissions": true },
        "between": {
            "1": [["setPermissionMode", "dontAsk"]],
            "2": [["setPermissionMode", "default"]],
        },
    });
    let heard = drive(&place, &script, &plan);
    let made = |name: &str| place.work().join(format!("{name}.txt")).exists();
    assert!(made("first"), "{:#?}", heard.0);
    assert!(!made("second"), "nobody allowed it: {:#?}", heard.0);
    assert!(made("third"), "{:#?}", heard.0);
    assert_eq!(heard.at("asked").len(), 1, "{:#?}", heard.0);
    let inits = heard.messages().into_iter().filter(|it| it["subtype"] == "init");
    let modes: Vec<&Value> = inits.map(|init| &init["permissionMode"]).collect();
    assert_eq!(modes, ["bypassPermissions", "dontAsk", "default"]);
}

#[test]
fn a_picture_reaches_the_model() {
    requires!(npm);
    let place = Place::newest();
    // One pixel.
    let data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let image = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": data } });
    let script = "[[rule]]\nprompt = \"what is this\"\nreply = \"One pixel.\"\n";
    let plan = json!({ "prompts": ["what is this?"], "image": image });
    let heard = drive(&place, script, &plan);
    let result = heard.messages().into_iter().find(|it| it["type"] == "result").unwrap();
    assert_eq!(result["result"], "One pixel.", "{:#?}", heard.0);
    let asked: Vec<Value> = place.turns();
    assert!(asked.iter().any(|turn| turn.to_string().contains(data)), "{asked:#?}");
}

#[test]
fn a_caller_that_answers_no_more_is_not_waited_for() {
    requires!(npm);
    let place = Place::newest();
    let script = "[[rule]]\nprompt = \"touch\"\nreply = [{ call = \"run_shell_command\", args = { command = \"touch approved.txt\" } }]\n\
        [[rule]]\nprompt = \"the caller has disconnected\"\nreply = \"I see.\"\n[[rule]]\ntool = \"run_shell_command\"\nreply = \"Done, or not.\"\n";
    let user = json!({ "type": "user", "message": { "role": "user", "content": "touch a file" } });
    let stream = ["--input-format", "stream-json", "--output-format", "stream-json"];
    let asks = ["-p", "--permission-prompt-tool", "stdio"];
    // Once it is at the end of its stdin, and once it was never there: then stdin is the prompt.
    let cases = [(&stream[..], user.to_string() + "\n"), (&[], "touch a file".to_owned())];
    for (format, stdin) in cases {
        let mut command = place.rehearse_own(script, &program());
        command.arg("claude").args(asks).args(format).env("GEMINI_CLI_PATH", place.program());
        let ran = command.write_stdin(stdin).output().unwrap();
        let told = stdout(&ran);
        assert_eq!(ran.status.code(), Some(0), "{told}{}", stderr(&ran));
        assert!(told.contains("I see."), "the model is told why: {told}");
        assert_eq!(told.contains("can_use_tool"), !format.is_empty(), "{told}");
        assert!(!place.work().join("approved.txt").exists());
    }
}

#[test]
fn a_prompt_that_is_refused_holds_up_none_of_those_behind_it() {
    requires!(npm);
    let place = Place::newest();
    let user = |text: &str| {
        json!({ "type": "user", "message": { "role": "user", "content": text } }).to_string() + "\n"
    };
    // All of them at once, and then the end of stdin. The second one says nothing.
    let stdin = ["hello", " ", "hello again"].map(user).concat();
    let mut command = place.rehearse("greeting", &program());
    command.arg("claude").args(["--input-format", "stream-json", "--output-format", "stream-json"]);
    let ran = command.env("GEMINI_CLI_PATH", place.program()).write_stdin(stdin).output().unwrap();
    let told = lines(&ran);
    let results = told.iter().filter(|line| line["type"] == "result");
    let ends: Vec<&Value> = results.map(|result| &result["subtype"]).collect();
    assert_eq!(ends, ["success", "error_during_execution", "success"], "{}", stderr(&ran));
}

#[test]
fn a_turn_in_whose_middle_the_program_is_ended_is_no_success() {
    requires!(npm);
    let place = Place::newest();
    let line = format!(
        "{} claude -p slow --output-format stream-json --include-partial-messages > told & run=$!; \
         until grep -q text_delta told; do sleep 0.05; done; kill -TERM $run; wait $run",
        program()
    );
    let mut command = place.rehearse("slow", "bash");
    let ran = command.args(["-c", &line]).env("GEMINI_CLI_PATH", place.program()).output().unwrap();
    assert_eq!(ran.status.code(), Some(1), "{}", stderr(&ran));
    let told = fs::read_to_string(place.work().join("told")).unwrap();
    let last: Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
    assert_eq!(last["type"], "result", "{told}");
    assert_eq!(last["subtype"], "error_during_execution", "{told}");
}
