//! Errors as a set: what failed, why, and what to do, as a person reads them one below the other.

use super::user::User;
use std::fmt::Write;
use std::fs;

/// Lines that do not need a daemon. `HOME` is the user's home.
const ALONE: &[&str] = &[
    "sessions show latest",
    "sessions show no-such-session",
    "sessions export latest --to somewhere",
    "sessions export latest --subagents --to somewhere --format json",
    "sessions export --all --project /nowhere --to somewhere --format json",
    "sessions follow no-such-session",
    "sessions rescue no-such-session",
    "translate --from session nothing.jsonl",
    "translate --from screen nothing.txt",
    "translate --from session nothing.jsonl --size 80x24",
    "translate --from screen nothing.txt --session nothing.jsonl",
    "run hello",
    "run --env WRONG hello",
    "run --agent-path nothing hello",
    "run --agent-command nothing-of-that-name hello",
    "run --rules nothing.toml hello",
    "run --permission deny --rules wrong.toml hello",
    "run --resume no-such-session hello",
    "capabilities --probe",
    "demo",
    "rehearse nothing.toml",
    "rehearse wrong.toml",
    "rehearse right.toml -- no-such-program",
    "claude -p hello --json-schema {}",
    "claude -p hello --permission-mode auto",
    "claude -p hello --mcp-config nothing.json",
    "claude -p hello --max-turns none",
    "claude hello",
    "acp",
    "profiles show no-such-profile",
    "profiles create ../outside",
    "profiles validate wrong.md",
    "profiles install nothing.md",
    "profiles remove reviewer",
    "hooks install --scope nowhere",
    "serve --bind 0.0.0.0 --certificate nothing.pem --key nothing.pem",
    "serve --behind-proxy nonsense",
    "serve --port 1 status",
    "man --to wrong.toml/below",
];

/// Lines for a daemon that knows nothing yet.
const WITH_DAEMON: &[&str] = &[
    "show no-such-session",
    "show latest",
    "logs no-such-session",
    "queue no-such-session",
    "queue no-such-session --text other",
    "new --agent-path nothing",
    "wait no-such-session",
    "devices --revoke nobody",
    "jobs show no-such-job",
    "jobs cancel no-such-job",
    "message nobody hello",
    "handoff no-such-profile hello",
    "launch no-such-profile",
    "launch developer --cwd /no/such/directory",
    "shutdown nobody",
    "new --driver acp --resume no-such-session",
    "new --driver acp --resume latest",
    "sessions restore no-such-session",
    "serve --port 0",
];

/// What was found is what they print, and not why they failed.
const FINDINGS: &[&str] = &["profiles validate wrong.md"];

/// A user with no agent, and some files that are wrong.
fn user() -> User {
    let user = User::new();
    let put = |name: &str, text: &str| fs::write(user.path().join(name), text).unwrap();
    put("wrong.toml", "[[rule]]\nreply = 7\nprompts = 'x'\n");
    put("right.toml", "[[rule]]\nreply = 'hello'\n");
    put("wrong.md", "---\nname: [\n---\nbody\n");
    user
}

fn told(user: &User, lines: &[&str]) -> String {
    let mut all = String::new();
    for line in lines {
        let done = user.run(line);
        assert_ne!(done.code, 0, "`pollux {line}` did what was asked: {}", done.out);
        assert_ne!(done.code, 101, "`pollux {line}` panicked: {}", done.err);
        // What clap says has its own way of saying what to do.
        let says = ["hint:", "--help"].iter().any(|word| done.err.contains(word));
        assert!(
            says || FINDINGS.contains(line),
            "`pollux {line}` says not what to do: {}",
            done.err
        );
        writeln!(all, "$ pollux {line}\n{}→ {}\n", done.err, done.code).unwrap();
    }
    all
}

#[test]
fn an_error_says_what_failed_and_why_and_what_to_do() {
    insta::assert_snapshot!("errors_alone", told(&user(), ALONE));
}

#[test]
fn an_error_of_the_daemon_says_the_same() {
    let user = user();
    let text = {
        let _down = Down(&user);
        let started = user.run("serve --detach --port 0");
        assert_eq!(started.code, 0, "{}", started.err);
        assert_eq!(user.json("search nothing-like-that --json"), serde_json::json!([]));
        let none = user.run("ls --all").err;
        assert!(none.contains("pollux new") && !none.contains("--all"), "{none}");
        told(&user, WITH_DAEMON)
    };
    insta::assert_snapshot!("errors_of_the_daemon", text);
}

/// What looks for all there is. Each has looked, also where there is nothing.
const LOOKS: &[&str] = &[
    "ls",
    "ls --all --json",
    "search nothing-like-that",
    "search nothing-like-that --json",
    "jobs",
    "jobs --json",
    "team",
    "team --json",
    "inbox",
    "devices",
    "schedule list",
    "schedule log",
    "profiles list",
    "shutdown --all",
    "sessions list",
    "sessions list --json",
    "sessions list --project /nowhere",
    "sessions stats",
    "sessions stats --json",
    "sessions search nothing-like-that",
    "sessions search nothing-like-that --json",
    "sessions rescue",
];

/// What names something. Each is refused where that is not there.
const NAMES: &[&str] = &[
    "show x",
    "logs x",
    "stop x",
    "send x hello",
    "answer x yes",
    "interrupt x",
    "mode x yolo",
    "model x other",
    "screen x",
    "attach x",
    "queue x",
    "wait x",
    "jobs show x",
    "jobs show x --json",
    "jobs cancel x",
    "jobs continue x",
    "message x hello",
    "shutdown x",
    "devices --revoke x",
    "handoff x hello",
    "launch x",
    "profiles show x",
    "profiles show x --json",
    "profiles remove x",
    "schedule run x",
    "schedule remove x",
    "schedule log x",
    "sessions show x",
    "sessions show x --json",
    "sessions follow x",
    "sessions rescue x",
    "sessions restore x",
];

#[test]
fn who_looks_is_answered_where_nothing_is_there_and_who_names_something_is_refused() {
    let user = user();
    // Without a daemon there is no team to end, and that is no error either.
    assert_eq!((user.run("shutdown --all").code, user.run("shutdown x").code), (0, 1));
    let _down = Down(&user);
    assert_eq!(user.run("serve --detach --port 0").code, 0);
    let mut wrong = Vec::new();
    for (lines, code) in [(LOOKS, 0), (NAMES, 1)] {
        for line in lines {
            let done = user.run(line);
            let says =
                if code == 0 { !done.err.contains("error:") } else { done.err.contains("hint:") };
            if done.code != code || !says {
                wrong.push(format!("`pollux {line}` → {}: {}", done.code, done.err));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Ends the daemon, whatever comes.
struct Down<'u>(&'u User);

impl Drop for Down<'_> {
    fn drop(&mut self) {
        let _ended = self.0.run("serve down");
    }
}
