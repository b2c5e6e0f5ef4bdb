//! `pollux claude` as a shell calls it.

use super::exe;
use crate::run::{Place, lines, pollux, program, stderr, stdout};
use pollux_e2e::requires;
use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;

fn claude(place: &Place, script: &str, args: &[&str]) -> std::process::Output {
    let mut command = place.rehearse(script, &exe(place).display().to_string());
    command.args(args).env("GEMINI_CLI_PATH", place.program()).output().unwrap()
}

#[test]
fn one_prompt_is_answered_as_words_as_one_object_and_as_lines() {
    requires!(npm);
    let place = Place::newest();
    let ran = claude(&place, "greeting", &["-p", "hello"]);
    assert_eq!(stdout(&ran), "Hello from the scripted model.\n", "{}", stderr(&ran));
    let ran = claude(
        &place,
        "greeting",
        &["-p", "hello", "--output-format", "json", "--model", "sonnet"],
    );
    let object: Value = serde_json::from_str(&stdout(&ran)).unwrap();
    assert_eq!(object["result"], "Hello from the scripted model.");
    assert!(stderr(&ran).contains("`sonnet` is a Claude model"), "{}", stderr(&ran));
    let ran =
        claude(&place, "greeting", &["-p", "hello", "--output-format=stream-json", "--verbose"]);
    let kinds: Vec<String> =
        lines(&ran).iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["system", "assistant", "result"]);
    let ran = claude(&place, "error-400", &["-p", "be refused"]);
    assert_eq!((ran.status.code(), stdout(&ran).as_str()), (Some(1), ""));
}

#[test]
fn without_somebody_to_ask_only_what_a_rule_allows_is_done() {
    requires!(npm);
    let place = Place::newest();
    let made = || place.work().join("approved.txt").exists();
    let run = |more: &[&str]| {
        let args = [&["-p", "touch a file", "--output-format", "json"], more].concat();
        serde_json::from_str::<Value>(&stdout(&claude(&place, "approval", &args))).unwrap()
    };
    let object = run(&[]);
    assert!(!made() && object["permission_denials"][0]["tool_name"] == "Bash", "{object:#}");
    run(&["--allowedTools", "Bash(ls:*)"]);
    assert!(!made());
    run(&["--dangerously-skip-permissions", "--disallowedTools", "Bash"]);
    assert!(!made(), "a tool that is taken away is not used in any mode");
    run(&["--allowedTools", "Read,Bash(touch:*)"]);
    assert!(made());
    fs::remove_file(place.work().join("approved.txt")).unwrap();
    run(&["--settings", r#"{"permissions":{"defaultMode":"bypassPermissions"}}"#]);
    assert!(made());
}

#[test]
fn what_the_user_forbids_by_a_policy_stays_forbidden_beside_what_a_flag_forbids() {
    requires!(npm);
    let place = Place::newest();
    let policies = place.home().join(".gemini/policies");
    fs::create_dir_all(&policies).unwrap();
    let rule = "[[rule]]\ntoolName = \"run_shell_command\"\ndecision = \"deny\"\npriority = 100\n";
    fs::write(policies.join("own.toml"), rule).unwrap();
    let flags = ["--dangerously-skip-permissions", "--disallowedTools", "WebFetch"];
    let ran = claude(&place, "approval", &[&["-p", "touch a file"], &flags[..]].concat());
    assert!(stdout(&ran).ends_with("Done, or not.\n"), "{}", stderr(&ran));
    assert!(!place.work().join("approved.txt").exists(), "{}", stderr(&ran));
}

#[test]
fn the_model_is_told_what_the_flags_say() {
    requires!(npm);
    let place = Place::newest();
    let mut command =
        place.rehearse_own("[default]\nreply = \"Yes.\"\n", &exe(&place).display().to_string());
    command.env("GEMINI_CLI_PATH", place.program());
    let system =
        ["--system-prompt", "You are a parrot.", "--append-system-prompt", "Say it twice."];
    let ran = command.args(["-p", "hello"]).args(system).output().unwrap();
    assert_eq!(stdout(&ran), "Yes.\n", "{}", stderr(&ran));
    let request = place.turns().remove(0).to_string();
    for said in ["You are a parrot.", "Say it twice.", "hello"] {
        assert!(request.contains(said), "{said}: {request}");
    }
}

#[test]
fn settings_are_taken_as_far_as_they_mean_something() {
    requires!(npm);
    let place = Place::newest();
    let other = TempDir::new().unwrap();
    let file = place.root().join("settings.json");
    let settings = json!({
        "$schema": "https://json.schemastore.org/claude-code-settings.json",
        "model": "gemini-2.5-flash",
        "env": { "MADE_BY": "the settings", "MADE_IN": 1969 },
        "permissions": {
            "allow": ["Bash(printenv:*)"],
            "additionalDirectories": [other.path()],
            "neverHeardOf": 1,
        },
        "cleanupPeriodDays": 3,
    });
    fs::write(&file, settings.to_string()).unwrap();
    let script = "[[rule]]\nprompt = \"who\"\nreply = [{ call = \"run_shell_command\", args = { command = \"printenv MADE_BY MADE_IN\" } }]\n\
        [[rule]]\ntool = \"run_shell_command\"\nresult = \"the settings\"\nreply = \"The settings did.\"\n\
        [[rule]]\ntool = \"run_shell_command\"\nreply = \"Nobody knows.\"\n";
    let mut command = place.rehearse_own(script, &exe(&place).display().to_string());
    command.args(["-p", "who made it?", "--output-format", "json", "--settings"]).arg(&file);
    let ran = command.env("GEMINI_CLI_PATH", place.program()).output().unwrap();
    let object: Value = serde_json::from_str(&stdout(&ran)).unwrap();
    assert_eq!(object["result"], "The settings did.", "{object:#}");
    assert!(object["modelUsage"]["gemini-2.5-flash"].is_object(), "{object:#}");
    let turns = place.turns();
    assert!(turns[0].to_string().contains(other.path().to_str().unwrap()), "{:#}", turns[0]);
    assert!(turns[1].to_string().contains("1969"), "{:#}", turns[1]);
    for name in ["`permissions.neverHeardOf`", "`cleanupPeriodDays`"] {
        let said = format!("ignored setting {name}: it has no counterpart");
        assert!(stderr(&ran).contains(&said), "{said}: {}", stderr(&ran));
    }
    // What is to be asked about is asked about in every mode; here nobody is there to be asked.
    for rules in [r#""ask":["Bash(touch:*)"]"#, r#""deny":["Bash(touch:*)"]"#] {
        let settings =
            format!(r#"{{"permissions":{{"defaultMode":"bypassPermissions",{rules}}}}}"#);
        let ran = claude(&place, "approval", &["-p", "touch a file", "--settings", &settings]);
        assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
        assert!(!place.work().join("approved.txt").exists(), "{rules}");
    }
}

const NO_BYPASS: &str = r#"{"permissions":{"disableBypassPermissionsMode":"disable"}}"#;

#[test]
fn what_has_no_counterpart_is_refused_with_words() {
    let directory = TempDir::new().unwrap();
    let run = |args: &[&str]| {
        let ran = pollux(directory.path()).arg("claude").args(args).output().unwrap();
        (ran.status.code(), stderr(&ran))
    };
    for (args, said) in [
        (&["-p", "x", "--json-schema", "{}"][..], "`--json-schema` has no counterpart"),
        (&["-p", "x", "--permission-mode", "auto"], "the permission mode `auto`"),
        (&["-p", "x", "--allowedTools", "Edit(docs/**)"], "only Bash takes a pattern"),
        (&["-p", "x", "--permission-prompt-tool", "mcp__a__b"], "is not supported"),
        (
            &["-p", "x", "--mcp-config", r#"{"mcpServers":{"a":{"type":"ws","url":"x"}}}"#],
            "unsupported type `ws`",
        ),
        (&["-p", "x", "--resume"], "needs a session ID"),
        (&["-p", "x", "--settings", "/nowhere.json"], "could not read /nowhere.json"),
        (&["-p", "x", "--settings", "{"], "could not parse the settings"),
        (&["-p", "x", "--settings", r#"{"hooks":{"Stop":[]}}"#], "the setting `hooks`"),
        (&["-p", "x", "--settings", r#"{"sandbox":{"enabled":true}}"#], "the setting `sandbox`"),
        (
            &["-p", "x", "--settings", r#"{"permissions":{"deny":"Bash"}}"#],
            "must be a list of strings",
        ),
        (
            &["-p", "x", "--dangerously-skip-permissions", "--settings", NO_BYPASS],
            "do not allow the mode `bypassPermissions`",
        ),
        (&["x"], "open Gemini's own screen with `pollux new`"),
        (&["-p", "x", "--no-such-flag"], "unexpected argument"),
    ] {
        let (code, err) = run(args);
        assert!(code == Some(1) && err.contains(said), "{args:?}: {code:?} {err}");
    }
    let version = pollux(directory.path()).args(["claude", "--version"]).output().unwrap();
    assert!(stdout(&version).starts_with("2.1.0 (Pollux "), "{}", stdout(&version));
    assert!(program().ends_with("pollux"));
}
