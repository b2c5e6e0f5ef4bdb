//! Gemini CLI before 0.34: refused by every driver, and usable as a plain ACP agent.

use super::run::{Place, program, stderr, stdout};
use super::user::User;
use pollux_e2e::pinned::LAST_WITHOUT_DRIVERS;
use pollux_e2e::{Cli, requires};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;

const TOO_OLD: &str = "Gemini CLI 0.33.2 is too old: Pollux drives 0.34.0 or newer";
const UPDATE: &str = "update it with `npm install -g @google/gemini-cli`";

/// A user whose CLI reports 0.33.2 and fails if it is started for anything else.
fn user() -> User {
    let user = User::new();
    let script =
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 0.33.2 && exit\ntouch started\nexit 1\n";
    let cli = user.path().join("gemini");
    fs::write(&cli, script).unwrap();
    fs::set_permissions(&cli, fs::Permissions::from_mode(0o755)).unwrap();
    user
}

#[test]
fn every_driver_refuses_a_cli_that_is_too_old() {
    let user = user();
    let run = |line: &str| {
        user.run_with(line, |command| {
            command.env("PATH", "/usr/bin:/bin").env("GEMINI_API_KEY", "any");
            command.env("GEMINI_CLI_PATH", user.path().join("gemini"));
            command.env("POLLUX_TMUX", user.path().join("tmux"));
        })
    };
    let refused = |line: &str| {
        let done = run(line);
        assert_ne!(done.code, 0, "{line}: {}", done.out);
        let told = done.out + &done.err;
        assert!(told.contains(TOO_OLD), "{line}: {told}");
        told
    };
    let alone = [
        "run hello",
        "run hello --via headless",
        "run hello --via acp",
        "run hello --interactive",
        "new",
        "acp",
        "hooks install",
        "capabilities --probe",
        "demo --live",
    ];
    for line in alone {
        let told = refused(line);
        assert!(told.contains(&format!("error: {TOO_OLD}")), "{line}: {told}");
        assert!(told.contains(&format!("hint: {UPDATE}")), "{line}: {told}");
    }
    assert!(refused("run hello").contains("code: too_old"));
    refused("claude -p hello");
    assert_eq!(run("serve --detach --port 0").code, 0);
    refused("new --driver terminal --cwd .");
    for driver in ["acp", "headless"] {
        let session = run(&format!("new --driver {driver} --cwd .")).out;
        run(&format!("wait {session}"));
        let log = run(&format!("logs {session}")).out;
        assert!(log.contains(TOO_OLD) && log.contains(UPDATE), "{driver}: {log}");
    }
    let job = run("handoff developer hello --cwd .");
    let told = job.out + &job.err;
    assert!(told.contains(TOO_OLD), "{told}");
    assert_eq!(run("serve down").code, 0);
    assert!(!user.path().join("started").exists(), "it was asked for its version and no more");
}

#[test]
fn doctor_and_capabilities_report_a_cli_that_is_too_old() {
    let user = user();
    let json = |line: &str| -> Value {
        let done = user.run_with(line, |command| {
            command.env("GEMINI_API_KEY", "any");
            command.env("GEMINI_CLI_PATH", user.path().join("gemini"));
        });
        serde_json::from_str(&done.out).unwrap()
    };
    let findings = json("doctor --json");
    let found = findings.as_array().unwrap().iter().find(|it| it["what"] == "Gemini CLI").unwrap();
    assert_eq!(found["health"], "broken", "{found}");
    assert_eq!(found["hint"], UPDATE, "{found}");
    let text = found["found"].as_str().unwrap();
    assert!(text.contains("0.33.2") && text.contains("drives 0.34.0 or newer"), "{text}");
    let installed = &json("capabilities --json")["agents"]["gemini"]["installed"];
    assert_eq!((&installed["state"], &installed["version"]), (&"too_old".into(), &"0.33.2".into()));
    assert_eq!(installed["advice"], UPDATE);
}

#[test]
fn a_cli_before_0_34_runs_as_a_plain_acp_agent() {
    requires!(npm);
    let place = Place::new(&Cli::install(LAST_WITHOUT_DRIVERS).unwrap());
    let agent = format!("{} --experimental-acp", place.program().display());
    let mut command = place.rehearse("greeting", &program());
    let ran =
        command.args(["run", "hello", "-o", "json", "--agent-command", &agent]).output().unwrap();
    let object: Value = serde_json::from_str(&stdout(&ran)).unwrap();
    assert_eq!(object["text"], "Hello from the scripted model.", "{}", stderr(&ran));
    assert_eq!(object["stop_reason"], "end_turn");
}
