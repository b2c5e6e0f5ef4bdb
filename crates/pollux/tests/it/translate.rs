//! `pollux translate` on recorded screens, streams and hooks.

use crate::user::User;
use serde_json::Value;
use std::path::Path;

fn lines(arguments: &[&str]) -> Vec<Value> {
    let mut command = User::new().command("translate");
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings");
    let ran = command.args(arguments).current_dir(recordings).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let out = String::from_utf8(ran.stdout).unwrap();
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_screen_is_told_as_events_and_as_what_was_read() {
    let screen = "0.61.0/tui/shell-approval.120x40.txt";
    for arguments in [
        vec![
            "--from",
            "screen",
            screen,
            "--title",
            "✋  Action Required (ws3)",
            "--size",
            "120x40",
        ],
        vec!["--from", "screen", screen],
        vec!["--from", "screen", "0.61.0/tui/shell-approval.120x40.ansi"],
    ] {
        let lines = lines(&arguments);
        let asked = lines.iter().find(|line| line["type"] == "asked").unwrap();
        assert_eq!(asked["kind"], "command");
        assert_eq!(asked["options"][2]["label"], "No, suggest changes (esc)");
        let last = lines.last().unwrap();
        assert_eq!((&last["type"], &last["status"]), (&"reading".into(), &"waiting".into()));
        assert_eq!(last["question"]["options"][0]["selected"], true);
    }
    let typed = lines(&["--from", "screen", "0.34.0/tui/idle-typing.80x24.txt"]);
    assert_eq!(typed.last().unwrap()["draft"], "hello this is typed but not sent");
}

#[test]
fn a_hook_is_told_as_events() {
    let lines = lines(&["--from", "hook", "0.61.0/hooks/Notification.json"]);
    assert!(lines.iter().all(|line| line["type"] == "asked" && line["source"] == "hook"));
    assert_eq!(lines.len(), 3);
}

#[test]
fn a_stream_alone_tells_how_its_run_ended_and_no_exit_code_that_nobody_saw() {
    let ended = |file: &str| lines(&["--from", "stream-json", file]).pop().unwrap();
    let done = ended("0.61.0/headless/greet.stream.jsonl");
    assert_eq!((&done["type"], &done["stop_reason"]), (&"turn_ended".into(), &"end_turn".into()));
    let failed = ended("0.61.0/headless/err400.stream.jsonl");
    assert_eq!((&failed["type"], &failed["stop_reason"]), (&"turn_ended".into(), &"error".into()));
    assert_eq!(failed["error"]["http_status"], 400);
    assert_eq!(failed["error"].get("exit_code"), None);
    let cut = ended("0.61.0/headless/err500x.stream.jsonl");
    assert_ne!(cut["type"], "turn_ended");
}
