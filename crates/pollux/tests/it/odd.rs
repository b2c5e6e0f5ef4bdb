//! An agent that is not as others are: it takes no mode, dies, keeps no file, and asks for what looks like something else.

use super::user::{Done, User};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

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

    /// A session that waits for a prompt.
    fn session(&self) -> String {
        let begun = self.run("new --driver acp --wait hello");
        assert_eq!(begun.code, 0, "{begun:?}");
        begun.out.lines().next().unwrap().to_owned()
    }
}

impl Drop for Odd {
    fn drop(&mut self) {
        let _ended = self.run("serve down");
    }
}

#[test]
fn a_mode_that_the_agent_does_not_take_is_refused_in_its_words() {
    let odd = Odd::new();
    let id = odd.session();
    let done = odd.run(&format!("mode {id} auto-edit"));
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.err.contains("I keep my mode") && done.err.contains("hint:"), "{}", done.err);
    let done = odd.run(&format!("mode {id} default"));
    assert_eq!(done.code, 0, "it is in that mode: {done:?}");
}

#[test]
fn what_was_said_is_told_also_where_it_is_written_down_nowhere() {
    let odd = Odd::new();
    let done = odd.run("new --driver acp --wait hello");
    assert!(done.out.contains("you said hello"), "{done:?}");
    let done = odd.run("new --driver acp --wait --json hello");
    let told: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(told["answer"], "you said hello\n", "{told}");
    assert_eq!(told["status"], "idle", "as it is then, and not as it was before: {told}");
    assert!(told["seq"].as_u64().unwrap() > 0, "{told}");
}

#[test]
fn who_waits_for_an_agent_that_dies_is_told_of_it() {
    let odd = Odd::new();
    let id = odd.session();
    let done = odd.run(&format!("send {id} --wait die"));
    assert_eq!(done.code, 11, "{done:?}");
    assert!(done.err.contains("warning:"), "{done:?}");
    let shown = odd.run(&format!("show {id}"));
    assert!(shown.out.contains("ended: "), "{shown:?}");
}

#[test]
fn a_command_cannot_add_to_what_can_be_answered() {
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
    let done = Odd::new().run("run --via headless hello");
    assert_eq!(done.out, "Hello\n", "{done:?}");
    assert!(done.err.contains("beware"), "{done:?}");
}

#[test]
fn an_interrupt_of_nothing_says_what_to_do() {
    let odd = Odd::new();
    let id = odd.session();
    let done = odd.run(&format!("interrupt {id}"));
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.err.contains("hint:"), "{done:?}");
}

#[test]
fn who_follows_is_told_that_the_daemon_is_gone_and_got_events_to_the_byte() {
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
}
