//! An agent that is not as others are: it takes no mode, dies, keeps no file, and asks for what looks like something else.

use super::user::{Done, User};
use pollux_e2e::pinned::ACP_SDK;
use pollux_e2e::requires;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A daemon with such an agent. Both end with the value.
struct Odd(User);

impl Odd {
    fn new() -> Self {
        let odd = Self(User::new());
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/odd/agent.mjs");
        let agent = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && echo 0.61.0 && exit\nexec node '{script}' \"$@\"\n"
        );
        let path = odd.0.path().join("gemini");
        fs::write(&path, agent).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(odd.run("serve --detach --port 0").code, 0);
        odd
    }

    #[expect(clippy::disallowed_methods, reason = "the agent needs node, wherever it is")]
    fn run(&self, line: &str) -> Done {
        self.0.run_with(line, |command| {
            command.env("GEMINI_CLI_PATH", self.0.path().join("gemini"));
            command.env("GEMINI_API_KEY", "none");
            command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        })
    }

    /// What an editor hears that takes these steps.
    #[expect(clippy::disallowed_methods, reason = "the editor needs node, wherever it is")]
    fn edit(&self, steps: &Value) -> Vec<Value> {
        let sdk = ACP_SDK.npm().unwrap();
        let sdk = sdk.join("node_modules/@agentclientprotocol/sdk/dist/v1/unstable/acp.js");
        let client = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/editor/client.mjs");
        let mut command = self.0.command_of(Path::new("node"), "");
        command.arg(client).arg(sdk).arg(json!({ "steps": steps }).to_string());
        command.args([env!("CARGO_BIN_EXE_pollux"), "acp"]);
        command.env("GEMINI_CLI_PATH", self.0.path().join("gemini"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let mut command = assert_cmd::Command::from_std(command);
        let heard = command.timeout(Duration::from_mins(1)).output().unwrap();
        let text = String::from_utf8(heard.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// A session that waits for a prompt.
    fn session(&self) -> String {
        let begun = self.run("new --driver acp --wait hello");
        assert_eq!(begun.code, 0, "{begun:?}");
        begun.out.lines().next().unwrap().to_owned()
    }
}

/// Waits until something is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_mins(1), "{what}");
    }
}

impl Drop for Odd {
    fn drop(&mut self) {
        let _ended = self.run("serve down");
    }
}

#[test]
fn a_mode_that_the_agent_does_not_take_is_refused_in_its_words() {
    requires!(npm);
    let odd = Odd::new();
    let id = odd.session();
    let done = odd.run(&format!("mode {id} auto-edit"));
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.err.contains("I keep my mode") && done.err.contains("hint:"), "{}", done.err);
    let done = odd.run(&format!("mode {id} default"));
    assert_eq!(done.code, 0, "it is in that mode: {done:?}");
}

#[test]
fn an_editor_that_has_joined_hears_that_a_mode_or_a_model_was_not_taken() {
    requires!(npm);
    let odd = Odd::new();
    let id = odd.session();
    let model = |name: &str| json!({ "sessionId": id, "configId": "model", "value": name });
    let heard = odd.edit(&json!([
        ["load", { "sessionId": id, "cwd": odd.0.path(), "mcpServers": [] }],
        ["set_mode", { "sessionId": id, "modeId": "autoEdit" }],
        ["set_option", model("another")],
        ["set_mode", { "sessionId": id, "modeId": "default" }],
    ]));
    let errors: Vec<&Value> = heard.iter().filter(|line| line["at"] == "error").collect();
    let steps: Vec<&Value> = errors.iter().map(|error| &error["step"]).collect();
    assert_eq!(steps, ["set_mode", "set_option"], "{heard:#?}");
    let said = errors[0]["message"].as_str().unwrap();
    assert!(said.contains("I keep my mode"), "{said}");
    let last = heard.last().unwrap();
    assert_eq!((&last["at"], &last["step"]), (&json!("answer"), &json!("set_mode")), "{heard:#?}");
}

#[test]
fn what_was_said_is_told_also_where_it_is_written_down_nowhere() {
    requires!(npm);
    let odd = Odd::new();
    let done = odd.run("new --driver acp --wait hello");
    assert!(done.out.contains("you said hello"), "{done:?}");
    let done = odd.run("new --driver acp --wait --json hello");
    let told: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(told["answer"], "you said hello\n", "{told}");
    assert_eq!(told["status"], "idle", "as it is then, and not as it was before: {told}");
    assert!(told["seq"].as_u64().unwrap() > 0, "{told}");
}

#[test]
fn who_waits_for_an_agent_that_dies_is_told_of_it() {
    requires!(npm);
    let odd = Odd::new();
    let id = odd.session();
    let done = odd.run(&format!("send {id} --wait die"));
    assert_eq!(done.code, 11, "{done:?}");
    assert!(done.err.contains("warning:"), "{done:?}");
    let shown = odd.run(&format!("show {id}"));
    assert!(shown.out.contains("ended: "), "{shown:?}");
}

#[test]
fn a_pipe_and_json_get_what_was_said_as_it_was_said() {
    requires!(npm);
    let odd = Odd::new();
    let done = odd.run("run --via acp \u{1b}[31mred");
    assert_eq!(done.out, "you said \u{1b}[31mred\n", "{done:?}");
    let done = odd.run("new --driver acp --wait \u{1b}[31mred");
    assert!(done.out.ends_with("\nyou said \u{1b}[31mred\n"), "{done:?}");
    let done = odd.run("new --driver acp --wait --json \u{1b}[31mred");
    let told: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(told["answer"], "you said \u{1b}[31mred\n", "{told}");
}

#[test]
fn a_mode_of_which_nothing_is_heard_because_the_daemon_dies_was_not_set() {
    requires!(npm);
    let odd = Odd::new();
    let id = odd.session();
    let mut sets = odd.0.command(&format!("mode {id} yolo"));
    let sets = sets.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the daemon was told", || odd.run("audit").out.contains("  mode  "));
    let address = odd.0.path().join("data/pollux/daemon/address.json");
    let address: Value = serde_json::from_slice(&fs::read(address).unwrap()).unwrap();
    let pid = i32::try_from(address["pid"].as_i64().unwrap()).unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let done = sets.wait_with_output().unwrap();
    let err = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.code() == Some(2) && err.contains("the daemon has stopped"), "{err}");
}

#[test]
fn an_id_out_of_a_session_file_does_nothing_to_a_terminal() {
    let odd = Odd::new();
    let rows = [
        json!({ "sessionId": "evil\u{202e}\u{7}", "startTime": "2026-11-15T17:55:00Z" }),
        json!({ "id": "u", "type": "user", "content": "a heron" }),
        json!({ "id": "g", "type": "gemini", "content": "a stork" }),
    ];
    let rows = rows.map(|row| row.to_string() + "\n").concat();
    odd.0.put("session-2026-11-15T17-55-evil.jsonl", &rows);
    until("it is seen", || odd.run("ls --all --quiet").out.contains("evil"));
    for line in ["ls --all --quiet", "search heron", "audit"] {
        let done = odd.run(line);
        assert!(!done.out.contains(['\u{202e}', '\u{7}']), "{line}: {done:?}");
    }
}

#[test]
fn a_machine_without_certificates_has_a_daemon_too() {
    let odd = Odd::new();
    let none = odd.0.path().join("none.pem");
    fs::write(&none, "").unwrap();
    let done = odd.0.run_with("ls", |command| {
        command.env("SSL_CERT_FILE", &none).env("SSL_CERT_DIR", odd.0.path().join("none"));
    });
    assert_eq!(done.code, 0, "{done:?}");
}

#[test]
fn a_command_cannot_add_to_what_can_be_answered() {
    requires!(npm);
    let odd = Odd::new();
    let id = odd.session();
    let done = odd.run(&format!("send {id} --wait ask"));
    assert_eq!(done.code, 10, "{done:?}");
    let shown = odd.run(&format!("answer {id}"));
    for text in [&done.err, &shown.out] {
        assert!(text.contains("\n  1. Allow"), "{text}");
        assert!(!text.contains("\n  1. Nothing"), "{text}");
        assert!(text.contains("\n      1. Nothing"), "{text}");
    }
}

#[test]
fn a_warning_does_not_break_an_answer_on_a_pipe() {
    requires!(npm);
    let done = Odd::new().run("run --via headless hello");
    assert_eq!(done.out, "Hello\n", "{done:?}");
    assert!(done.err.contains("beware"), "{done:?}");
}

#[test]
fn an_interrupt_of_nothing_says_what_to_do() {
    requires!(npm);
    let odd = Odd::new();
    let id = odd.session();
    let done = odd.run(&format!("interrupt {id}"));
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.err.contains("hint:"), "{done:?}");
}

#[test]
fn who_follows_is_told_that_the_daemon_is_gone_and_got_events_to_the_byte() {
    requires!(npm);
    let odd = Odd::new();
    let id = odd.session();
    let last = odd.run(&format!("logs {id} --after 1 -n 1"));
    assert_eq!(last.out.lines().count(), 1, "{last:?}");
    let mut follows = odd.0.command(&format!("logs {id} -f"));
    let follows = follows.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert_eq!(odd.run(&format!("send {id} --wait again")).code, 0);
    let log = odd.run(&format!("logs {id}"));
    assert_eq!(odd.run("serve down").code, 0);
    let heard = follows.wait_with_output().unwrap();
    let (out, err) =
        (String::from_utf8(heard.stdout).unwrap(), String::from_utf8(heard.stderr).unwrap());
    assert!(out.starts_with(&log.out), "{out}\n\n{}", log.out);
    let ended = out.len() > log.out.len();
    assert_eq!(heard.status.code(), Some(if ended { 0 } else { 2 }), "{err}");
    assert!(ended || err.contains("the daemon has stopped"), "{err}");
}
