//! `pollux run` over ACP as a user calls it, with the real CLI against a scripted model, in one version: what each version does
//! is tried in `pollux-e2e`.

use super::run::{Place, lines, pollux, program, stderr, stdout};
use pollux_e2e::{repository, requires};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use tempfile::TempDir;

#[test]
fn without_a_terminal_nobody_is_asked_unless_the_flags_say_what_to_answer() {
    requires!(npm);
    let place = Place::newest();
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
    assert!(code == Some(1) && said.contains("--via headless"), "{said}");
    let (code, said) = with(&["--interactive", "-o", "json"]);
    assert!(code == Some(1) && said.contains("-o json"), "{said}");
    let (code, said) = with(&[]);
    assert_eq!(code, Some(2));
    assert!(said.contains("could not start"), "{said}");
}

#[test]
fn one_process_serves_several_prompts() {
    requires!(npm);
    let place = Place::newest();
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
fn a_file_is_attached_to_the_first_of_several_prompts() {
    requires!(npm);
    let place = Place::newest();
    let file = place.work().join("note.txt");
    fs::write(&file, "a note about herons").unwrap();
    let mut command = place.rehearse_own("[default]\nreply = \"Yes.\"\n", &program());
    command.args(["run", "--interactive", "hello one", "--attach", "note.txt", "--agent-path"]);
    let ran = command.arg(place.program()).write_stdin("hello two\n").output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let turns = place.turns();
    let told: Vec<usize> =
        turns.iter().map(|turn| turn.to_string().matches("about herons").count()).collect();
    assert_eq!(told, [1, 1], "the second has the first before it: {turns:#?}");
}

#[test]
fn an_agent_that_is_being_started_ends_with_whoever_starts_it() {
    let directory = TempDir::new().unwrap();
    // Gemini CLI as far as its version, and then nothing.
    let agent = directory.path().join("gemini");
    let silent = "#!/bin/sh\n[ \"$1\" = --version ] && echo 0.61.0 && exit\nexec sleep 1000\n";
    fs::write(&agent, silent).unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    let commands = [
        ("run hello --agent-command 'sleep 1000'", 130),
        ("run hello --agent-path ./gemini", 130),
        ("capabilities --probe --agent-command 'sleep 1000'", 130),
        ("claude -p hello --agent-path ./gemini", 1),
    ];
    for (command, code) in commands {
        let started = "grep -lsz \"^POLLUX_CHILD=$run-\" /proc/[0-9]*/environ";
        // The program that tells its version is a child too, and soon gone.
        let sleeps =
            format!("for it in $({started}); do cat ${{it%environ}}comm; done | grep -q sleep");
        let script = format!(
            "{} {command} & run=$!; until {sleeps}; do sleep 0.05; done; kill -TERM $run; wait $run; \
             echo code $?; echo left $({started} | wc -l)",
            program()
        );
        let mut bash = assert_cmd::Command::new("bash");
        bash.current_dir(directory.path()).env("HOME", directory.path());
        bash.env("XDG_DATA_HOME", directory.path().join("data"));
        let ran = bash.args(["-c", &script]).timeout(Duration::from_mins(1)).output().unwrap();
        let told = stdout(&ran);
        assert!(
            told.ends_with(&format!("code {code}\nleft 0\n")),
            "{command}: {told}{}",
            stderr(&ran)
        );
    }
}

#[test]
fn any_agent_can_be_driven_and_probed() {
    requires!(npm);
    let place = Place::newest();
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
