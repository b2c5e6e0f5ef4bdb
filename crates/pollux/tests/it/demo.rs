//! `pollux demo` as a stranger calls it, with the real CLI.

use assert_cmd::Command;
use pollux_e2e::Cli;
use std::fs;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

fn demo(place: &Path) -> Command {
    let temporary = place.join("tmp");
    fs::create_dir_all(&temporary).unwrap();
    let mut command = Command::cargo_bin("pollux").unwrap();
    command.arg("demo").current_dir(place).env("NO_COLOR", "1").env("TMPDIR", temporary);
    command.env("HOME", place).env_remove("GEMINI_CLI_HOME").env_remove("CI");
    command
}

#[test]
fn a_demo_plays_a_session_with_an_edit_that_was_allowed_and_leaves_nothing() {
    for cli in Cli::all().unwrap() {
        let place = TempDir::new().unwrap();
        let ran = demo(place.path())
            .args(["--unattended", "--agent-path"])
            .arg(cli.program())
            .timeout(Duration::from_mins(2))
            .assert()
            .success();
        let (out, told) = (&ran.get_output().stdout, &ran.get_output().stderr);
        let (out, told) = (String::from_utf8_lossy(out), String::from_utf8_lossy(told));
        assert!(out.contains("#pair=") && out.contains("code  "), "{out}");
        for line in ["→ replace", "✓ answered", "→ run_shell_command", "Hello, and welcome!"]
        {
            assert!(told.contains(line), "{}: no `{line}` in {told}", cli.version());
        }
        assert_eq!(fs::read_dir(place.path().join("tmp")).unwrap().count(), 0);
    }
}

#[test]
fn without_an_agent_a_demo_asks_before_it_fetches_one() {
    let place = TempDir::new().unwrap();
    let ran = demo(place.path())
        .env("PATH", "/nowhere")
        .env_remove("GEMINI_CLI_PATH")
        .timeout(Duration::from_mins(1))
        .assert()
        .code(1);
    let told = String::from_utf8_lossy(&ran.get_output().stderr).into_owned();
    assert!(told.contains("there is no Gemini CLI on this machine"), "{told}");
    assert!(told.contains("hint: `--yes` fetches one from npm"), "{told}");
}
