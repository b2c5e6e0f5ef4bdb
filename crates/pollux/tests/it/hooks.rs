//! `pollux hook` and `pollux hooks`, as Gemini CLI and as a person call them.

mod real;

use crate::user::User;
use pollux_agent::gemini::hooks::deliver::Place;
use pollux_agent::gemini::hooks::inbox::Inbox;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

const PAYLOAD: &str = r#"{"session_id":"s","hook_event_name":"BeforeAgent","prompt":"hi"}"#;

/// Calls a hook as the CLI does: the payload on stdin, then its end.
fn call(user: &User, event: &str, payload: &[u8], env: &[(&str, &str)]) -> Output {
    let mut command = user.command(&format!("hook {event}"));
    command.envs(env.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload).unwrap();
    child.wait_with_output().unwrap()
}

fn place(user: &User) -> Place {
    let own = user.path().join("data/pollux");
    Place { socket: own.join("run/hooks.sock"), spool: own.join("spool/hooks.jsonl") }
}

fn answered(ran: &Output) {
    assert_eq!(ran.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "{}");
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "");
}

#[test]
fn a_hook_answers_and_spools_where_nobody_listens() {
    let user = User::new();
    let key = [("GEMINI_CLI_POLLUX_KEY", "new-1")];
    answered(&call(&user, "BeforeAgent", PAYLOAD.as_bytes(), &key));
    let line = fs::read_to_string(place(&user).spool).unwrap();
    let frame: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&frame["event"], &frame["key"]), (&"BeforeAgent".into(), &"new-1".into()));
    assert_eq!(frame["payload"]["prompt"], "hi");
}

#[tokio::test]
async fn a_hook_hands_its_payload_to_whoever_listens() {
    let user = User::new();
    let inbox = Inbox::open(place(&user)).await.unwrap();
    let ran = tokio::task::spawn_blocking(move || {
        (call(&user, "BeforeAgent", PAYLOAD.as_bytes(), &[]), user)
    });
    let line = inbox.next().await.unwrap();
    let (ran, user) = ran.await.unwrap();
    answered(&ran);
    assert!(line.contains(PAYLOAD));
    assert!(!place(&user).spool.exists(), "what was handed over is not spooled");
}

#[test]
fn whatever_a_hook_is_told_the_cli_goes_on() {
    let user = User::new();
    for (event, payload) in [
        ("Later", "{}"),
        ("BeforeAgent", ""),
        ("BeforeAgent", "not JSON\n"),
        ("AfterTool", "\u{0}"),
    ] {
        answered(&call(&user, event, payload.as_bytes(), &[]));
    }
    // No place to spool to, and a socket path that is too long for any socket.
    let user = User::new();
    fs::write(user.path().join("data"), "a file, not a directory").unwrap();
    let long = format!("/{}", "x".repeat(300));
    answered(&call(
        &user,
        "BeforeAgent",
        PAYLOAD.as_bytes(),
        &[("GEMINI_CLI_POLLUX_SOCKET", &long)],
    ));
}

#[test]
fn a_hook_whose_answer_nobody_hears_hands_its_payload_over_all_the_same() {
    let user = User::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = user.command("hook BeforeAgent");
    let mut child = command.stdin(Stdio::piped()).stdout(writer).spawn().unwrap();
    child.stdin.take().unwrap().write_all(PAYLOAD.as_bytes()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(place(&user).spool.exists());
}

#[test]
fn a_payload_that_a_listener_does_not_want_to_its_end_is_spooled() {
    let user = User::new();
    let socket = user.path().join("rude.sock");
    let rude = UnixListener::bind(&socket).unwrap();
    let listens = std::thread::spawn(move || drop(rude.accept().unwrap()));
    let long = format!("\"{}\"", "x".repeat(2_000_000));
    let env = [("GEMINI_CLI_POLLUX_SOCKET", socket.to_str().unwrap())];
    answered(&call(&user, "AfterTool", long.as_bytes(), &env));
    listens.join().unwrap();
    assert!(place(&user).spool.exists());
}

#[test]
fn a_hung_listener_adds_no_more_than_the_limit() {
    let user = User::new();
    let socket = user.path().join("hung.sock");
    let _hung = UnixListener::bind(&socket).unwrap();
    let long = format!("\"{}\"", "x".repeat(2_000_000));
    let env = [("GEMINI_CLI_POLLUX_SOCKET", socket.to_str().unwrap())];
    // The shortest of a few calls: what a busy machine does in between is not our time.
    let calls = (0..5).map(|_| {
        let since = Instant::now();
        answered(&call(&user, "AfterTool", long.as_bytes(), &env));
        since.elapsed()
    });
    let took = calls.min().unwrap();
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert!(place(&user).spool.exists());
}

#[test]
fn hooks_are_installed_shown_and_removed_as_an_extension() {
    let user = User::new();
    let done = user.run("hooks install");
    assert_eq!(done.code, 0, "{}", done.err);
    let status: Value = serde_json::from_str(&user.run("hooks status --json").out).unwrap();
    assert_eq!(status["places"][0]["installed"], true);
    assert_eq!(status["places"][1]["installed"], false);
    let command = status["places"][0]["command"].as_str().unwrap();
    assert!(command.contains("pollux' hook "), "{command}");
    assert!(user.run("hooks install").err.contains("nothing to do"));
    assert_eq!(user.run("hooks uninstall").code, 0);
    assert!(!user.path().join(".gemini/extensions/pollux").exists());
}

#[test]
fn hooks_in_settings_come_and_go_without_a_trace() {
    let user = User::new();
    let before = "{\n  // mine\n  \"ui\": { \"theme\": \"x\" }\n}\n";
    let project = user.path().join("project");
    let places = [user.path(), &project].map(|place| place.join(".gemini/settings.json"));
    for file in &places {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, before).unwrap();
    }
    let texts = || places.each_ref().map(|file| fs::read_to_string(file).unwrap());
    let call = |line: String| {
        let ran = user.command(&line).current_dir(&project).output().unwrap();
        let err = String::from_utf8(ran.stderr).unwrap();
        assert!(ran.status.success(), "{line}: {err}");
        err
    };
    for (at, scope) in ["user", "project"].into_iter().enumerate() {
        call(format!("hooks install --as settings --scope {scope}"));
        let installed = texts().map(|text| text.contains("// mine") && text.contains(" hook "));
        assert_eq!(installed, [at == 0, at == 1], "{scope}: in its own file, and in no other");
        let said = call(format!("hooks uninstall --as settings --scope {scope}"));
        assert!(said.contains("restored "), "{said}");
        assert_eq!(texts(), [before, before]);
    }
}

#[test]
fn settings_that_are_no_json_are_refused_with_a_hint() {
    let user = User::new();
    let file = user.path().join(".gemini/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "{ \"a\": 1, }").unwrap();
    let done = user.run("hooks install --as settings");
    assert_eq!(done.code, 1, "{}", done.err);
    assert!(done.err.contains("was not changed") && done.err.contains("hint:"), "{}", done.err);
    assert_eq!(fs::read_to_string(&file).unwrap(), "{ \"a\": 1, }");
    assert_eq!(
        user.run("hooks install --scope project").code,
        1,
        "an extension is for all sessions"
    );
}
