//! The flags of a headless `pollux run`: what the CLI and the model really got.

use super::{Place, lines, pollux, program, stderr, stdout};
use pollux_e2e::requires;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;

/// A picture of one pixel.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\xa6\xd0\xb5\x08\0\0\0\0IEND\xaeB`\x82";

/// The events of a run under a script of its own.
fn told(place: &Place, script: &str, args: &[&str]) -> Vec<Value> {
    let mut command = place.rehearse_own(script, &program());
    command.args(["run", "--via", "headless", "-o", "events"]).args(args);
    command.arg("--agent-path").arg(place.cli.program());
    let ran = command.output().unwrap();
    assert!(!ran.stdout.is_empty(), "{}", stderr(&ran));
    lines(&ran)
}

/// What ended, with all that came of it.
fn results(events: &[Value]) -> Vec<&Value> {
    let ended = events.iter().filter(|event| event["type"] == "tool_ended");
    ended.filter(|event| event["source"] == "session_file").collect()
}

#[test]
fn model_session_id_env_include_and_attach_reach_the_cli_and_the_model() {
    requires!(npm);
    let place = Place::newest();
    let beside = TempDir::new().unwrap();
    fs::write(beside.path().join("note.txt"), "a note from beside\n").unwrap();
    let picture = place.directory.path().join("one pixel.png");
    fs::write(&picture, PICTURE).unwrap();
    let note = beside.path().join("note.txt").display().to_string();
    let script = format!(
        r#"
[[rule]]
prompt = "look"
reply = [{{ call = "read_file", args = {{ file_path = "{note}" }} }}]

[[rule]]
tool = "read_file"
reply = [{{ call = "run_shell_command", args = {{ command = "echo the colour is $POLLUX_TEST_COLOUR" }} }}]

[[rule]]
tool = "run_shell_command"
reply = "Seen."
"#
    );
    let id = "0b0b8f6e-5a52-4c0f-9a6e-0d7f5a1c2e3d";
    let (beside, picture) = (beside.path().display().to_string(), picture.display().to_string());
    let args = ["look at it", "--mode", "yolo", "--model", "gemini-2.5-flash-lite"];
    let more = ["--session-id", id, "--env", "POLLUX_TEST_COLOUR=green"];
    let files = ["--include", &beside, "--attach", &picture];
    let events = told(&place, &script, &[&args[..], &more, &files].concat());
    assert_eq!(events[0]["session_id"], id);
    let results = results(&events);
    assert!(results[0]["output"].as_str().unwrap().contains("a note from beside"), "{results:?}");
    assert_eq!(results[1]["meaning"]["output"], "the colour is green");
    let turns = place.turns();
    assert!(turns[0]["path"].as_str().unwrap().contains("gemini-2.5-flash-lite:"));
    assert!(turns[0]["body"]["contents"].to_string().contains("image/png"), "the picture is there");
}

#[test]
fn a_tool_that_is_allowed_runs_in_the_mode_that_only_reads() {
    requires!(npm);
    let place = Place::newest();
    let script = r#"
[[rule]]
prompt = "say"
reply = [{ call = "run_shell_command", args = { command = "echo allowed" } }]

[[rule]]
tool = "run_shell_command"
reply = "Said."
"#;
    let denied = told(&place, script, &["say it"]);
    let status = |events: &[Value]| results(events)[0]["status"].clone();
    assert_eq!(status(&denied), "error", "{denied:?}");
    let allowed = told(&place, script, &["say it", "--allow-tool", "run_shell_command(echo)"]);
    assert_eq!(status(&allowed), "success", "{allowed:?}");
    assert_eq!(results(&allowed)[0]["meaning"]["output"], "allowed");
}

#[test]
fn an_extra_argument_is_passed_on_as_it_is() {
    let directory = TempDir::new().unwrap();
    let gemini = directory.path().join("gemini");
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && echo 0.61.0 && exit\n\
        for arg; do printf '%s\\n' \"$arg\"; done > args\n\
        echo '{\"type\":\"result\",\"status\":\"success\"}'\n";
    fs::write(&gemini, script).unwrap();
    fs::set_permissions(&gemini, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = pollux(directory.path());
    command.env("XDG_CACHE_HOME", directory.path().join("cache")).env("HOME", directory.path());
    command.args(["run", "hi", "--via", "headless", "--extra-arg", "--debug"]);
    command.args(["--extra-arg=two words", "--agent-path"]);
    let ran = command.arg(&gemini).output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let args = fs::read_to_string(directory.path().join("args")).unwrap();
    let said = ["--output-format=stream-json", "--approval-mode=default", "--debug", "two words"];
    assert_eq!(args.lines().collect::<Vec<_>>(), [&said[..], &["--prompt=hi"]].concat());
}

#[test]
fn a_run_that_takes_too_long_is_ended_and_says_so() {
    requires!(npm);
    let place = Place::newest();
    let ran = place.run("slow", &["a slow story", "--timeout", "4s", "-o", "json"]);
    assert_eq!(ran.status.code(), Some(2));
    let object: Value = serde_json::from_str(&stdout(&ran)).unwrap();
    assert_eq!(object["stop_reason"], "timeout");
    assert_eq!(object["error"]["phase"], "budget");
    assert!(stderr(&ran).contains("--timeout"), "{}", stderr(&ran));
    let session = format!("· session {}", object["session_id"].as_str().unwrap());
    assert!(stderr(&ran).contains(&session), "whoever wants to go on needs it: {}", stderr(&ran));
}
