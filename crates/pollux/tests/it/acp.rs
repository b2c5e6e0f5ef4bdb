//! `pollux run` over ACP as a user calls it, with the real CLI against a scripted model, in one version: what each version does
//! is tried in `pollux-e2e`.

use super::run::{Place, lines, pollux, program, stderr, stdout};
use pollux_e2e::repository;
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

#[test]
fn without_a_terminal_nobody_is_asked_unless_the_flags_say_what_to_answer() {
    let Some(place) = Place::newest() else { return };
    let ran = place.run("approval", &["touch a file"]);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert!(!place.work().join("approved.txt").exists(), "deny is the default");
    assert!(stderr(&ran).contains("⊘ cancelled"), "{}", stderr(&ran));

    let ran = place.run("approval", &["touch a file", "--permission", "auto", "-o", "events"]);
    assert!(place.work().join("approved.txt").exists(), "{}", stderr(&ran));
    let answered = lines(&ran).into_iter().find(|event| event["type"] == "answered").unwrap();
    assert_eq!(
        (&answered["choice"], &answered["derived"]),
        (&"proceed_once".into(), &"policy".into())
    );

    fs::remove_file(place.work().join("approved.txt")).unwrap();
    let rules = place.work().join("rules.toml");
    let rule = |text: &str| {
        fs::write(&rules, text).unwrap();
        place.run("approval", &["touch a file", "--rules", rules.to_str().unwrap()])
    };
    rule("[[rule]]\nverdict = \"allow\"\ncategory = \"command\"\ncommand = \"ls\"\n");
    assert!(!place.work().join("approved.txt").exists());
    rule("[[rule]]\nverdict = \"allow\"\ncategory = \"command\"\ncommand = \"touch\"\n");
    assert!(place.work().join("approved.txt").exists());
}

#[test]
fn what_cannot_be_asked_or_told_is_refused_before_anything_starts() {
    let directory = TempDir::new().unwrap();
    // There is no such agent: whatever is started fails in another way.
    let run = |args: &[&str]| {
        let ran = pollux(directory.path()).arg("run").args(args).output().unwrap();
        (ran.status.code(), stderr(&ran))
    };
    let any = ["hello", "--agent-command", "/nowhere/agent"];
    let with = |more: &[&'static str]| run(&[any.as_slice(), more].concat());
    let (code, said) = with(&["--permission", "ask"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("needs a terminal") && said.contains("hint:"), "{said}");
    let (code, said) = with(&["--permission", "rules"]);
    assert!(code == Some(1) && said.contains("--rules FILE"), "{said}");
    let (code, said) = with(&["--rules", "/nowhere/rules.toml"]);
    assert!(code == Some(1) && said.contains("cannot use the rules"), "{said}");
    let (code, said) = with(&["--via", "headless"]);
    assert!(code == Some(1) && said.contains("speaks ACP"), "{said}");
    let (code, said) = with(&["--interactive", "-o", "json"]);
    assert!(code == Some(1) && said.contains("one object"), "{said}");
    let (code, said) = with(&[]);
    assert_eq!(code, Some(2));
    assert!(said.contains("could not be started"), "{said}");
}

#[test]
fn one_process_serves_several_prompts() {
    let Some(place) = Place::newest() else { return };
    let mut command = place.rehearse("greeting", &program());
    command.args(["run", "--interactive", "hello one", "-o", "events", "--agent-path"]);
    let ran =
        command.arg(place.program()).write_stdin("hello two\n\nhello three\n").output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let events = lines(&ran);
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    assert_eq!((of("session_started"), of("turn_started"), of("turn_ended")), (1, 3, 3));
    let prompts: Vec<&Value> =
        events.iter().filter(|e| e["type"] == "turn_started").map(|e| &e["prompt"]).collect();
    assert_eq!(prompts, ["hello one", "hello two", "hello three"]);
}

#[test]
fn any_agent_can_be_driven_and_probed() {
    let Some(place) = Place::newest() else { return };
    // Gemini CLI itself, as if nothing were known of it.
    let agent = format!("{} --acp", place.program().display());
    let mut command = place.rehearse("greeting", &program());
    let ran =
        command.args(["run", "hello", "-o", "json", "--agent-command", &agent]).output().unwrap();
    let object: Value = serde_json::from_str(&stdout(&ran)).unwrap();
    assert_eq!(object["text"], "Hello from the scripted model.");
    assert_eq!(object["session_file"], Value::Null, "nothing is known of its files");

    let mut command = place.rehearse("greeting", &program());
    let ran = command
        .args(["capabilities", "--probe", "--agent-path"])
        .arg(place.program())
        .output()
        .unwrap();
    let said = stdout(&ran);
    for word in ["Gemini CLI", "autoEdit", "gemini-2.5-pro", "oauth-personal"] {
        assert!(said.contains(word), "{word}: {said}{}", stderr(&ran));
    }
    let mut command = place.rehearse("greeting", &program());
    let probe = ["capabilities", "--probe", "--json", "--agent-command", &agent];
    let object: Value =
        serde_json::from_str(&stdout(&command.args(probe).output().unwrap())).unwrap();
    assert_eq!(object["agent"]["protocol"], 1);
    assert_eq!(object["agent"]["_original"]["agentInfo"]["name"], "gemini-cli");
    assert_eq!(object["session"]["opened"]["mode"], "default");
}

#[test]
fn a_recorded_conversation_is_translated() {
    let recording = repository().join("recordings/0.61.0/acp/always_edit.jsonl");
    let directory = TempDir::new().unwrap();
    let ran = pollux(directory.path())
        .args(["translate", "--from", "acp"])
        .arg(recording)
        .output()
        .unwrap();
    let events = lines(&ran);
    let modes: Vec<&Value> = events.iter().filter_map(|event| event.get("mode")).collect();
    assert_eq!(modes, ["default", "auto_edit"]);
    assert!(!stdout(&ran).contains("MODE_UPDATE"));
}
