//! Programs made for Claude's Agent SDKs, from their registries, drive the real Gemini CLI through `pollux claude`.

mod flags;
mod more;
mod python;
mod transcripts;
mod types;

use super::run::{Place, program, stderr, stdout};
use pollux_e2e::home::age;
use pollux_e2e::pinned::CLAUDE_SDK;
use pollux_e2e::{repository, requires};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// What a program printed.
pub(super) struct Heard(pub(super) Vec<Value>);

impl Heard {
    pub(super) fn of(output: &std::process::Output) -> Self {
        let lines =
            stdout(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let heard = Self(lines);
        assert!(!heard.0.is_empty(), "{}", stderr(output));
        heard
    }

    pub(super) fn at(&self, at: &str) -> Vec<&Value> {
        self.0.iter().filter(|line| line["at"] == at).collect()
    }

    pub(super) fn messages(&self) -> Vec<&Value> {
        self.at("message").into_iter().map(|line| &line["message"]).collect()
    }

    fn of_type(&self, kind: &str) -> Vec<&Value> {
        self.messages().into_iter().filter(|message| message["type"] == kind).collect()
    }

    fn results(&self) -> Vec<&Value> {
        self.of_type("result")
    }

    fn kinds(&self) -> Vec<&str> {
        self.messages().iter().filter_map(|message| message["type"].as_str()).collect()
    }
}

/// Where the SDK is.
pub(super) fn sdk() -> PathBuf {
    CLAUDE_SDK.npm().unwrap().join("node_modules")
}

/// Where the programs of these tests are.
fn here() -> PathBuf {
    repository().join("crates/pollux/tests/it/claude")
}

/// The program under the name that makes it `claude`.
pub(super) fn exe(place: &Place) -> PathBuf {
    let path = place.root().join("pollux-claude");
    if !path.exists() {
        std::os::unix::fs::symlink(program(), &path).unwrap();
    }
    path
}

/// Runs a program made for the SDK, under a rehearsal of a script of the library, or of its own.
pub(super) fn drive(place: &Place, script: &str, plan: &Value) -> Heard {
    let mut command = if script.contains('\n') {
        place.rehearse_own(script, "node")
    } else {
        place.rehearse(script, "node")
    };
    let drive = here().join("drive.mjs");
    let sdk = sdk().join("@anthropic-ai/claude-agent-sdk/sdk.mjs");
    command.arg(drive).arg(sdk).arg(exe(place)).arg(plan.to_string());
    command.env("GEMINI_CLI_PATH", place.program());
    Heard::of(&command.output().unwrap())
}

#[test]
fn a_program_of_thirty_lines_edits_a_file_after_its_callback_has_allowed_it() {
    requires!(npm);
    let place = Place::newest();
    let program = fs::read_to_string(here().join("thirty.mjs")).unwrap();
    assert!(program.lines().count() <= 30);
    // Where a program has its packages.
    let own = place.root().join("program");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("program.mjs"), program).unwrap();
    std::os::unix::fs::symlink(sdk(), own.join("node_modules")).unwrap();
    let mut command = place.rehearse("edit", "node");
    command.arg(own.join("program.mjs")).arg(exe(&place));
    let ran = command.env("GEMINI_CLI_PATH", place.program()).output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let heard = Heard::of(&ran);
    let asked = heard.at("asked");
    assert_eq!(asked.len(), 1, "{:#?}", heard.0);
    assert_eq!(asked[0]["name"], "Edit");
    let input = &asked[0]["input"];
    assert_eq!(
        (&input["old_string"], &input["new_string"]),
        (&"hello world\n".into(), &"hello brave new world\n".into())
    );
    assert!(input["file_path"].as_str().unwrap().ends_with("/work/hello.txt"));
    let file = fs::read_to_string(place.work().join("hello.txt")).unwrap();
    assert_eq!(file, "hello brave new world\nsecond line\n");
    let kinds = heard.kinds();
    assert_eq!((kinds.first(), kinds.last()), (Some(&"system"), Some(&"result")), "{kinds:?}");
    let result = heard.results()[0];
    assert_eq!((&result["subtype"], &result["is_error"]), (&"success".into(), &false.into()));
    assert_eq!(result["result"], "Done. The greeting is braver now.");
    assert_eq!(result["num_turns"], 2);
    assert_eq!(result["permission_denials"], json!([]));
    // The call in the transcript is the call that was asked about.
    let blocks = heard.of_type("assistant").into_iter();
    let blocks: Vec<&Value> =
        blocks.filter_map(|it| it["message"]["content"].as_array()).flatten().collect();
    let used = blocks.iter().find(|block| block["type"] == "tool_use").unwrap();
    assert_eq!((&used["name"], &used["id"]), (&"Edit".into(), &asked[0]["id"]));
    usage_is_right(&place, result);
}

/// The tokens of the result are those that the model's server counted.
fn usage_is_right(place: &Place, result: &Value) {
    let mut stats = super::run::pollux(&place.work());
    stats.env("GEMINI_CLI_HOME", place.home()).env("XDG_CACHE_HOME", place.root().join("cache"));
    let ran = stats.args(["sessions", "show", "latest", "--json"]).output().unwrap();
    let messages: Value = serde_json::from_str(&stdout(&ran)).unwrap();
    let sum = |name: &str| -> u64 {
        messages.as_array().unwrap().iter().filter_map(|it| it["usage"][name].as_u64()).sum()
    };
    let usage = &result["usage"];
    let input = sum("input_tokens") - sum("cached_tokens") + sum("tool_tokens");
    assert!(input > 0, "{messages:#}");
    assert_eq!(usage["input_tokens"], input);
    assert_eq!(usage["cache_read_input_tokens"], sum("cached_tokens"));
    assert_eq!(usage["output_tokens"], sum("output_tokens") + sum("thoughts_tokens"));
}

#[test]
fn a_call_that_is_denied_is_not_made_and_the_model_is_told_why() {
    requires!(npm);
    let place = Place::newest();
    let deny = json!({ "behavior": "deny", "message": "Not in this house." });
    let script = "[[rule]]\nprompt = \"touch\"\nreply = [{ call = \"run_shell_command\", args = { command = \"touch approved.txt\" } }]\n\
        [[rule]]\nprompt = \"Not in this house\"\nreply = \"I see.\"\n[[rule]]\ntool = \"run_shell_command\"\nreply = \"Done, or not.\"\n";
    let heard =
        drive(&place, script, &json!({ "prompt": "touch a file", "decide": { "Bash": deny } }));
    assert_eq!(heard.at("asked")[0]["input"]["command"], "touch approved.txt");
    assert!(!place.work().join("approved.txt").exists());
    let result = heard.results()[0];
    assert_eq!(result["result"], "I see.", "{:#?}", heard.0);
    let denial = &result["permission_denials"][0];
    assert_eq!(
        (&denial["tool_name"], &denial["tool_input"]["command"]),
        (&"Bash".into(), &"touch approved.txt".into())
    );

    let stop = json!({ "behavior": "deny", "message": "Stop.", "interrupt": true });
    let heard =
        drive(&place, "approval", &json!({ "prompt": "touch a file", "decide": { "Bash": stop } }));
    assert!(!place.work().join("approved.txt").exists());
    assert_eq!(heard.results()[0]["subtype"], "error_during_execution", "{:#?}", heard.0);
}

#[test]
fn a_changed_input_is_refused_and_that_is_said() {
    requires!(npm);
    let place = Place::newest();
    let change = json!({ "behavior": "allow", "updatedInput": { "command": "touch other.txt" } });
    let script = "[[rule]]\nprompt = \"was not made\"\nreply = \"I see.\"\n\
        [[rule]]\nprompt = \"touch\"\nreply = [{ call = \"run_shell_command\", args = { command = \"touch approved.txt\" } }]\n\
        [[rule]]\ntool = \"run_shell_command\"\nreply = \"Done, or not.\"\n";
    let heard =
        drive(&place, script, &json!({ "prompt": "touch a file", "decide": { "Bash": change } }));
    assert!(
        !place.work().join("approved.txt").exists() && !place.work().join("other.txt").exists()
    );
    let said = heard.of_type("system").into_iter().filter_map(|it| it["content"].as_str());
    let said: Vec<&str> = said.collect();
    assert!(
        said.iter().any(|text| text.contains("cannot change the input of a call")),
        "{:#?}",
        heard.0
    );
    assert_eq!(heard.results()[0]["permission_denials"].as_array().unwrap().len(), 1);
}

#[test]
fn three_turns_of_one_session_with_another_mode_and_model_between_them() {
    requires!(npm);
    let place = Place::newest();
    let plan = json!({
        "prompts": ["hello one", "hello two", "hello three"],
        "decide": { "*": { "behavior": "allow" } },
        "between": {
            "1": [["setPermissionMode", "plan"], ["setModel", "gemini-2.5-flash"], ["supportedModels"]],
            "2": [["setPermissionMode", "auto"], ["setMaxThinkingTokens", 5]],
        },
    });
    let heard = drive(&place, "greeting", &plan);
    assert_eq!(heard.results().len(), 3, "{:#?}", heard.0);
    let inits: Vec<&Value> =
        heard.of_type("system").into_iter().filter(|it| it["subtype"] == "init").collect();
    let modes: Vec<&Value> = inits.iter().map(|init| &init["permissionMode"]).collect();
    assert_eq!(modes, ["default", "plan", "plan"]);
    assert_eq!(inits[1]["model"], "gemini-2.5-flash");
    let sessions: Vec<&Value> = heard.messages().iter().map(|it| &it["session_id"]).collect();
    assert!(
        sessions.iter().all(|id| **id == *sessions[0]) && sessions[0].as_str().unwrap().len() == 36
    );
    let controls = heard.at("control");
    assert!(
        controls[2]["answer"].as_array().unwrap().iter().any(|it| it["value"] == "auto"),
        "{:#?}",
        controls[2]
    );
    for refused in &controls[3..5] {
        let why = refused["answer"]["error"].as_str().unwrap_or_default();
        assert!(why.contains("no counterpart"), "{refused:#}");
    }
}

#[test]
fn an_interrupt_ends_the_turn_and_the_session_goes_on() {
    requires!(npm);
    let place = Place::newest();
    let script = "[[rule]]\nprompt = \"count\"\nreply = [{ text = \"One, two, \" }, { stall = true }]\n\
        [[rule]]\nprompt = \"hello\"\nreply = \"Hello again.\"\n";
    let plan = json!({
        "prompts": ["count to ten", "hello"],
        "options": { "includePartialMessages": true },
        "interruptOnWords": true,
    });
    let heard = drive(&place, script, &plan);
    let results = heard.results();
    assert_eq!(results.len(), 2, "{:#?}", heard.0);
    assert_eq!(
        (&results[0]["subtype"], &results[0]["is_error"]),
        (&"error_during_execution".into(), &true.into())
    );
    assert_eq!(results[1]["result"], "Hello again.");
}

#[test]
fn a_session_is_gone_on_with_and_forked() {
    requires!(npm);
    let place = Place::newest();
    let run = |options: Value| {
        age(&place.home()).unwrap();
        drive(&place, "greeting", &json!({ "prompt": "hello", "options": options }))
    };
    let id = |heard: &Heard| heard.results()[0]["session_id"].as_str().unwrap().to_owned();
    let own = "11111111-2222-4333-8444-555555555555";
    let first = run(json!({ "sessionId": own }));
    assert_eq!(id(&first), own, "{:#?}", first.0);
    // It is known by the id that the caller gave it.
    let again = run(json!({ "resume": own }));
    let gemini = id(&again);
    assert_eq!(again.results()[0]["subtype"], "success", "{:#?}", again.0);
    assert_ne!(gemini, own);
    let forked = run(json!({ "resume": gemini, "forkSession": true }));
    assert_ne!(id(&forked), gemini);
    assert_eq!(forked.results()[0]["subtype"], "success", "{:#?}", forked.0);
    let latest = run(json!({ "continue": true }));
    assert_eq!(id(&latest), id(&forked));
    let unknown = run(json!({ "resume": "99999999-2222-4333-8444-555555555555" }));
    let error = unknown.at("error")[0]["message"].as_str().unwrap();
    assert!(error.contains("no session matches"), "{error}");
}

#[test]
fn a_tool_of_the_callers_own_process_is_called() {
    requires!(npm);
    let place = Place::newest();
    let script = "[[rule]]\nprompt = \"add\"\nreply = [{ call = \"mcp_calc_add\", args = { a = 2, b = 3 } }]\n\
        [[rule]]\ntool = \"mcp_calc_add\"\nresult = \"The sum is 5\"\nreply = \"It is five.\"\n";
    let plan = json!({
        "prompt": "add 2 and 3",
        "server": true,
        "decide": { "mcp__calc__add": { "behavior": "allow" } },
    });
    let heard = drive(&place, script, &plan);
    assert_eq!(heard.at("called").len(), 1, "{:#?}", heard.0);
    let asked = &heard.at("asked")[0];
    assert_eq!((&asked["name"], &asked["input"]["b"]), (&"mcp__calc__add".into(), &3.into()));
    assert_eq!(heard.results()[0]["result"], "It is five.");
}

#[test]
fn a_hook_comes_before_every_call_and_can_prevent_it() {
    requires!(npm);
    let place = Place::newest();
    let deny = json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "It is secret.",
    } });
    let context = json!({ "hookSpecificOutput": {
        "hookEventName": "UserPromptSubmit", "additionalContext": "The moon is full.",
    } });
    let script = "[[rule]]\nprompt = \"read\"\nreply = [{ call = \"read_file\", args = { file_path = \"hello.txt\" } }]\n\
        [[rule]]\nprompt = \"It is secret\"\nreply = \"Then not.\"\n[[rule]]\ntool = \"read_file\"\nresult = \"hello world\"\nreply = \"I have read it.\"\n";
    let plan = |hooks: Value| json!({ "prompt": "read it", "hooks": hooks });
    // A read, which the CLI would not ask about.
    let heard = drive(
        &place,
        script,
        &plan(json!({ "PreToolUse": { "matcher": "Read", "answer": deny } })),
    );
    let hook = &heard.at("hook")[0];
    assert_eq!(
        (&hook["event"], &hook["tool"]),
        (&"PreToolUse".into(), &"Read".into()),
        "{:#?}",
        heard.0
    );
    assert_eq!(hook["input"]["file_path"], "hello.txt");
    assert_eq!(heard.results()[0]["result"], "Then not.", "{:#?}", heard.0);
    let hooks = json!({ "PreToolUse": {}, "PostToolUse": { "matcher": "Read" }, "UserPromptSubmit": { "answer": context } });
    let heard = drive(&place, script, &plan(hooks));
    assert_eq!(heard.results()[0]["result"], "I have read it.", "{:#?}", heard.0);
    let events: Vec<&Value> = heard.at("hook").iter().map(|hook| &hook["event"]).collect();
    assert_eq!(events, ["UserPromptSubmit", "PreToolUse", "PostToolUse"]);
    let is_told = |turn: &Value| turn.to_string().contains("The moon is full.");
    assert!(place.turns().iter().any(is_told));
    let heard = drive(&place, script, &plan(json!({ "Stop": {} })));
    let error = heard.at("error")[0]["message"].as_str().unwrap();
    assert!(error.contains("the hook `Stop` has no counterpart"), "{error}");
}

#[test]
fn what_goes_wrong_is_a_result_or_an_error_with_words() {
    requires!(npm);
    let place = Place::newest();
    let heard = drive(&place, "error-400", &json!({ "prompts": ["be refused"] }));
    let result = heard.results()[0];
    assert_eq!(
        (&result["subtype"], &result["is_error"]),
        (&"error_during_execution".into(), &true.into())
    );
    assert!(!result["errors"][0].as_str().unwrap().is_empty(), "{result:#}");

    let script = "[[rule]]\nprompt = \"loop\"\nreply = [{ call = \"list_directory\", args = { dir_path = \".\" } }]\n\
        [[rule]]\ntool = \"list_directory\"\nreply = [{ call = \"list_directory\", args = { dir_path = \".\" } }]\n";
    let heard =
        drive(&place, script, &json!({ "prompts": ["loop"], "options": { "maxTurns": 2 } }));
    assert_eq!(heard.results()[0]["subtype"], "error_max_turns", "{:#?}", heard.0);

    // A model that says nothing: the caller gives up, and nothing is left running.
    let heard = drive(&place, "stall", &json!({ "prompt": "stall", "abortAfter": 15000 }));
    assert!(heard.at("error")[0]["message"].as_str().unwrap().contains("abort"), "{:#?}", heard.0);

    let heard =
        drive(&place, "greeting", &json!({ "prompt": "hello", "options": { "maxBudgetUsd": 1 } }));
    let error = heard.at("error")[0]["message"].as_str().unwrap();
    assert!(error.contains("exited with code 1") || error.contains("max-budget-usd"), "{error}");
}

#[test]
fn ten_at_once_do_not_disturb_each_other() {
    requires!(npm);
    let place = Place::newest();
    // The first start in a new home is alone: it writes the CLI's settings.
    drive(&place, "greeting", &json!({ "prompt": "hello" }));
    let one = |n: usize| {
        let place = &place;
        move || {
            let heard = drive(place, "greeting", &json!({ "prompt": format!("hello {n}") }));
            let result = heard.results()[0];
            assert_eq!(result["result"], "Hello from the scripted model.", "{:#?}", heard.0);
            result["session_id"].as_str().unwrap().to_owned()
        }
    };
    let mut ids: Vec<String> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..10).map(|n| scope.spawn(one(n))).collect();
        all.into_iter().map(|it| it.join().unwrap()).collect()
    });
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 10);
}
