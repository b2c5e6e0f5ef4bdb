//! `pollux demo` as a stranger calls it, with the real CLI.

#![expect(clippy::disallowed_methods, reason = "where Node is, only the environment tells")]

use assert_cmd::Command;
use pollux_e2e::{Cli, PINNED, requires};
use std::fs;
use std::os::unix::fs::PermissionsExt;
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

/// Plays the demo with one of the pinned versions.
fn plays(which: usize) {
    let cli = Cli::install(PINNED[which]).unwrap();
    let place = TempDir::new().unwrap();
    let ran = demo(place.path())
        .args(["--unattended", "--agent-path"])
        .arg(cli.program())
        .timeout(Duration::from_mins(4))
        .assert()
        .success();
    let (out, told) = (&ran.get_output().stdout, &ran.get_output().stderr);
    let (out, told) = (String::from_utf8_lossy(out), String::from_utf8_lossy(told));
    assert!(out.contains("#pair=") && out.contains("code  "), "{out}");
    let lines = ["→ replace", "✓ answered", "→ run_shell_command", "Hello, and welcome!"];
    let review =
        ["⇢ handed the review to a second agent, reviewer-", "I found nothing that is wrong."];
    for line in lines.into_iter().chain(review) {
        assert!(told.contains(line), "{}: no `{line}` in {told}", cli.version());
    }
    assert_eq!(fs::read_dir(place.path().join("tmp")).unwrap().count(), 0);
}

#[test]
fn a_demo_plays_an_edit_that_was_allowed_and_a_review_and_leaves_nothing() {
    requires!(npm);
    plays(2);
}

#[test]
fn a_demo_plays_with_the_middle_version() {
    requires!(npm);
    plays(1);
}

#[test]
fn a_demo_plays_with_the_oldest_version() {
    requires!(npm);
    plays(0);
}

#[test]
fn where_there_is_no_agent_one_is_fetched_from_npm_and_goes_again() {
    requires!(npm);
    let place = TempDir::new().unwrap();
    // Node and npm, and no agent that somebody has put beside them.
    let programs = place.path().join("bin");
    fs::create_dir(&programs).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for name in ["node", "npm"] {
        let found = std::env::split_paths(&path).map(|it| it.join(name)).find(|it| it.exists());
        std::os::unix::fs::symlink(found.unwrap().canonicalize().unwrap(), programs.join(name))
            .unwrap();
    }
    let ran = demo(place.path())
        .args(["--yes", "--unattended"])
        .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
        .env_remove("GEMINI_CLI_PATH")
        .timeout(Duration::from_mins(4))
        .assert()
        .success();
    let told = String::from_utf8_lossy(&ran.get_output().stderr).into_owned();
    assert!(told.contains("downloaded @google/gemini-cli@"), "{told}");
    assert!(told.contains("I found nothing that is wrong."), "{told}");
    assert_eq!(fs::read_dir(place.path().join("tmp")).unwrap().count(), 0);
}

#[test]
fn a_live_demo_where_nobody_is_signed_in_says_so() {
    requires!(npm);
    let cli = Cli::last().unwrap();
    let place = TempDir::new().unwrap();
    let ran = demo(place.path())
        .args(["--live", "--unattended", "--agent-path"])
        .arg(cli.program())
        .env_remove("GEMINI_API_KEY")
        .env_remove("GOOGLE_API_KEY")
        .timeout(Duration::from_mins(1))
        .assert()
        .code(2);
    let told = String::from_utf8_lossy(&ran.get_output().stderr).into_owned();
    assert!(told.contains("error: could not start the agent: "), "{told}");
    assert!(told.contains("set GEMINI_API_KEY, or run `gemini` once"), "{told}");
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
    assert!(told.contains("Gemini CLI is not installed"), "{told}");
    assert!(told.contains("hint: download it from npm"), "{told}");
}

#[test]
fn a_demo_that_is_stopped_while_it_fetches_leaves_nothing() {
    let place = TempDir::new().unwrap();
    let programs = place.path().join("bin");
    fs::create_dir(&programs).unwrap();
    // A fetch that never ends.
    let npm = "#!/bin/sh\necho $$ > $HOME/fetches.part; mv $HOME/fetches.part $HOME/fetches; exec sleep 4718.25\n";
    fs::write(programs.join("npm"), npm).unwrap();
    fs::set_permissions(programs.join("npm"), fs::Permissions::from_mode(0o755)).unwrap();
    let line = "$0 demo --yes & demo=$!\n\
        until [ -e $HOME/fetches ]; do sleep 0.05; done\n\
        kill -TERM $demo; wait $demo; echo ended $?\n\
        if grep -qs 4718.25 /proc/$(cat $HOME/fetches)/cmdline; then echo it fetches still; fi";
    let temporary = place.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let ran = Command::new("sh")
        .args(["-c", line, &super::run::program()])
        .current_dir(place.path())
        .env("HOME", place.path())
        .env("TMPDIR", &temporary)
        .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
        .env_remove("GEMINI_CLI_PATH")
        .env_remove("GEMINI_CLI_HOME")
        .timeout(Duration::from_mins(1))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(told, "ended 130\n", "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(fs::read_dir(temporary).unwrap().count(), 0);
}
