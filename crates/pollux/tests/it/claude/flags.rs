//! `pollux claude` as a shell calls it.

use super::exe;
use crate::run::{Place, lines, pollux, program, stderr, stdout};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

fn claude(place: &Place, script: &str, args: &[&str]) -> std::process::Output {
    let mut command = place.rehearse(script, &exe(place).display().to_string());
    command.args(args).env("GEMINI_CLI_PATH", place.program()).output().unwrap()
}

#[test]
fn one_prompt_is_answered_as_words_as_one_object_and_as_lines() {
    let Some(place) = Place::newest() else { return };
    let ran = claude(&place, "greeting", &["-p", "hello"]);
    assert_eq!(stdout(&ran), "Hello from the scripted model.\n", "{}", stderr(&ran));
    let ran = claude(
        &place,
        "greeting",
        &["-p", "hello", "--output-format", "json", "--model", "sonnet"],
    );
    let object: Value = serde_json::from_str(&stdout(&ran)).unwrap();
    assert_eq!(object["result"], "Hello from the scripted model.");
    assert!(stderr(&ran).contains("`sonnet` is a model of Claude's"), "{}", stderr(&ran));
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
    let Some(place) = Place::newest() else { return };
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
fn the_model_is_told_what_the_flags_say() {
    let Some(place) = Place::newest() else { return };
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
fn what_has_no_counterpart_is_refused_with_words() {
    let directory = TempDir::new().unwrap();
    let run = |args: &[&str]| {
        let ran = pollux(directory.path()).arg("claude").args(args).output().unwrap();
        (ran.status.code(), stderr(&ran))
    };
    for (args, said) in [
        (&["-p", "x", "--json-schema", "{}"][..], "`--json-schema` has no counterpart"),
        (&["-p", "x", "--permission-mode", "auto"], "the permission mode `auto`"),
        (&["-p", "x", "--allowedTools", "Edit(docs/**)"], "only commands can be told apart"),
        (&["-p", "x", "--permission-prompt-tool", "mcp__a__b"], "only `stdio` has"),
        (
            &["-p", "x", "--mcp-config", r#"{"mcpServers":{"a":{"type":"ws","url":"x"}}}"#],
            "of the type `ws`",
        ),
        (&["-p", "x", "--resume"], "needs an id"),
        (&["x"], "`pollux new` opens Gemini's own"),
        (&["-p", "x", "--no-such-flag"], "unexpected argument"),
    ] {
        let (code, err) = run(args);
        assert!(code == Some(1) && err.contains(said), "{args:?}: {code:?} {err}");
    }
    let version = pollux(directory.path()).args(["claude", "--version"]).output().unwrap();
    assert!(stdout(&version).starts_with("2.1.0 (Pollux "), "{}", stdout(&version));
    assert!(program().ends_with("pollux"));
}
