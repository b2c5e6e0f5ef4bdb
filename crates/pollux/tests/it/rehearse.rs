//! `pollux rehearse` as a user calls it, with the real CLI where it matters.

use assert_cmd::Command;
use pollux_e2e::{Cli, repository, requires, wait_until};
use std::fs;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

fn pollux(directory: &Path) -> Command {
    let mut command = Command::cargo_bin("pollux").unwrap();
    command.current_dir(directory).env("NO_COLOR", "1").env_remove("CI");
    command
}

fn greeting() -> String {
    repository().join("scripts/greeting.toml").display().to_string()
}

#[test]
fn the_real_cli_says_what_the_script_says() {
    requires!(npm);
    for cli in Cli::some().unwrap() {
        let directory = TempDir::new().unwrap();
        let gemini = cli.program().display().to_string();
        let ran = pollux(directory.path())
            .args(["rehearse", &greeting(), "--journal", "journal.jsonl", "--", &gemini])
            .args(["-p", "hello", "--output-format", "stream-json"])
            .env("GEMINI_API_KEY", "the users own")
            .env("GEMINI_MODEL", "nothing-we-want")
            .assert()
            .success();
        let stdout = String::from_utf8(ran.get_output().stdout.clone()).unwrap();
        let said: String = stdout
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .filter(|event| event["role"] == "assistant")
            .filter_map(|event| event["content"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(said, "Hello from the scripted model.", "{}", cli.version());
        let journal = fs::read_to_string(directory.path().join("journal.jsonl")).unwrap();
        assert!(journal.contains("\"rule\":\"rule 1\"") && !journal.contains("the users own"));
    }
}

#[test]
fn the_exit_code_of_the_program_is_passed_on() {
    let directory = TempDir::new().unwrap();
    let run = |line: &str| {
        let ran = pollux(directory.path())
            .args(["rehearse", &greeting(), "--", "sh", "-c", line])
            .assert();
        ran.get_output().status.code()
    };
    assert_eq!(run("exit 7"), Some(7));
    assert_eq!(run("kill -TERM $$"), Some(143));
}

#[test]
fn the_private_home_goes_with_the_program_unless_it_is_kept() {
    let directory = TempDir::new().unwrap();
    let line =
        ["sh", "-c", "test -f $GEMINI_CLI_HOME/.gemini/settings.json && echo $GEMINI_CLI_HOME"];
    let home = |args: &[&str]| {
        let ran = pollux(directory.path())
            .args(["rehearse", &greeting()])
            .args(args)
            .arg("--")
            .args(line)
            .assert();
        String::from_utf8(ran.success().get_output().stdout.clone()).unwrap().trim().to_owned()
    };
    assert!(!Path::new(&home(&[])).exists());
    let kept = home(&["--keep"]);
    assert!(Path::new(&kept).exists());
    fs::remove_dir_all(kept).unwrap();
    assert!(home(&["--home", "mine"]).ends_with("/mine"));
    assert!(directory.path().join("mine/.gemini/settings.json").exists());
}

#[tokio::test]
async fn a_daemon_that_is_started_in_a_rehearsal_is_its_own_and_ends_with_it() {
    let directory = TempDir::new().unwrap();
    let own = assert_cmd::cargo::cargo_bin("pollux").display().to_string();
    let line = format!("{own} ls --json && {own} serve status --json && echo $XDG_DATA_HOME");
    let ran = pollux(directory.path())
        .args(["rehearse", &greeting(), "--", "sh", "-c", &line])
        .env("XDG_DATA_HOME", directory.path().join("users"))
        .env("POLLUX_PORT", "0")
        .assert()
        .success();
    let said = String::from_utf8(ran.get_output().stdout.clone()).unwrap();
    let pid = said.split("\"pid\":").nth(1).unwrap().trim_start();
    let pid: String = pid.chars().take_while(char::is_ascii_digit).collect();
    assert!(!directory.path().join("users").exists(), "the user's own is left alone");
    let lives = || fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    wait_until("the daemon has ended", Duration::from_secs(5), || !lives().contains("serve")).await;
    let data = said.lines().last().unwrap();
    assert!(!Path::new(data).exists(), "{data}");
}

#[tokio::test]
async fn nothing_of_the_group_outlives_the_program() {
    let directory = TempDir::new().unwrap();
    let line = "sleep 300 & echo $!";
    let ran = pollux(directory.path())
        .args(["rehearse", &greeting(), "--", "sh", "-c", line])
        .assert()
        .success();
    let left = String::from_utf8(ran.get_output().stdout.clone()).unwrap().trim().to_owned();
    let process = Path::new("/proc").join(left);
    // A process that was killed but not yet reaped by init still has an empty command line.
    let gone = || fs::read_to_string(process.join("cmdline")).unwrap_or_default().is_empty();
    wait_until("the end of the process that was left", Duration::from_secs(5), gone).await;
}

#[test]
fn a_script_that_is_wrong_is_refused_with_line_and_column() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("bad.toml"), "[[rule]]\nprompt-regex = '('\nreply = 'x'\n")
        .unwrap();
    let ran = pollux(directory.path())
        .args(["rehearse", "--check", &greeting(), "bad.toml"])
        .assert()
        .code(1);
    let stderr = String::from_utf8(ran.get_output().stderr.clone()).unwrap();
    assert!(stderr.contains("greeting.toml: OK (1 rule): A greeting"), "{stderr}");
    assert!(
        stderr.contains("bad.toml:2:16: `prompt-regex` is not a valid regular expression"),
        "{stderr}"
    );
    assert!(stderr.contains("hint: see docs/rehearsal.md"), "{stderr}");
}

#[test]
fn a_port_in_use_and_a_missing_program_say_what_to_do() {
    let directory = TempDir::new().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ran =
        pollux(directory.path()).args(["rehearse", &greeting(), "--port", &port]).assert().code(2);
    let stderr = String::from_utf8(ran.get_output().stderr.clone()).unwrap();
    assert!(stderr.contains(&format!("could not listen on 127.0.0.1:{port}")), "{stderr}");
    assert!(stderr.contains("hint: omit `--port`"), "{stderr}");
    let ran = pollux(directory.path())
        .args(["rehearse", &greeting(), "--", "no-such-program"])
        .assert()
        .code(2);
    let stderr = String::from_utf8(ran.get_output().stderr.clone()).unwrap();
    assert!(stderr.contains("could not start `no-such-program`"), "{stderr}");
}

#[test]
fn alone_it_prints_the_environment_and_serves_until_it_is_told_to_stop() {
    requires!(npm);
    let directory = TempDir::new().unwrap();
    // A shell takes the environment from it, asks the model, and ends it.
    let line = r#"
        "$POLLUX" rehearse "$SCRIPT" > env.sh 2> note.txt &
        server=$!
        until grep -q Ctrl-C note.txt; do sleep 0.05; done
        . ./env.sh
        test -d "$GEMINI_CLI_HOME" || exit 3
        node -e 'fetch(process.env.GOOGLE_GEMINI_BASE_URL + "/v1beta/models").then(r => process.exit(r.ok ? 0 : 4))' || exit 4
        kill -TERM $server
        wait $server || exit 5
        test ! -d "$GEMINI_CLI_HOME" || exit 6
    "#;
    let program = Command::cargo_bin("pollux").unwrap().get_program().to_owned();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", line])
        .current_dir(directory.path())
        .env("POLLUX", program)
        .env("SCRIPT", greeting());
    shell.timeout(Duration::from_mins(1)).assert().success();
}

#[test]
fn what_was_recorded_through_the_real_cli_is_a_script() {
    requires!(npm);
    let cli = Cli::last().unwrap();
    let directory = TempDir::new().unwrap();
    let gemini = cli.program().display().to_string();
    // One rehearsal plays the real model, another records it.
    let line = format!(
        "'{}' rehearse --record \"$GOOGLE_GEMINI_BASE_URL\" --to recorded.toml -- '{gemini}' -p hello --output-format stream-json",
        Command::cargo_bin("pollux").unwrap().get_program().display(),
    );
    pollux(directory.path())
        .args(["rehearse", &greeting(), "--", "sh", "-c", &line])
        .assert()
        .success();
    let replayed = pollux(directory.path())
        .args([
            "rehearse",
            "recorded.toml",
            "--",
            &gemini,
            "-p",
            "hello",
            "--output-format",
            "stream-json",
        ])
        .assert()
        .success();
    assert!(String::from_utf8_lossy(&replayed.get_output().stdout).contains("scripted model."));
}
