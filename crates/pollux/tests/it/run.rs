//! `pollux run` as a user calls it, with the real CLI against a scripted model.

mod flags;
mod rough;

use assert_cmd::Command;
use pollux_e2e::pinned::CLAUDE_SDK;
use pollux_e2e::{Cli, repository, requires};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;
use tempfile::TempDir;

/// A workspace, a home that stays, and a version of the CLI.
pub(super) struct Place {
    cli: Cli,
    directory: TempDir,
}

impl Place {
    pub(super) fn new(cli: &Cli) -> Self {
        let place = Self { cli: cli.clone(), directory: TempDir::new().unwrap() };
        fs::create_dir(place.work()).unwrap();
        fs::write(place.work().join("hello.txt"), "hello world\nsecond line\n").unwrap();
        place
    }

    pub(super) fn newest() -> Self {
        Self::new(&Cli::last().unwrap())
    }

    /// The CLI.
    pub(super) fn program(&self) -> &Path {
        self.cli.program()
    }

    pub(super) fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// The directory that all of it is in.
    pub(super) fn root(&self) -> PathBuf {
        self.directory.path().to_path_buf()
    }

    /// A program under a rehearsal of a script.
    pub(super) fn rehearse(&self, script: &str, program: &str) -> Command {
        let mut command = pollux(&self.work());
        let script = repository().join("scripts").join(format!("{script}.toml"));
        command.arg("rehearse").arg(script).arg("--home").arg(self.home()).arg("--").arg(program);
        command.env("XDG_CACHE_HOME", self.directory.path().join("cache"));
        command.env("XDG_DATA_HOME", self.directory.path().join("data"));
        command
    }

    /// The same with a script of the test's own, and a journal of what the model was asked.
    pub(super) fn rehearse_own(&self, script: &str, program: &str) -> Command {
        let (file, journal) = (self.directory.path().join("own.toml"), self.journal_file());
        fs::write(&file, script).unwrap();
        let mut command = pollux(&self.work());
        command.arg("rehearse").arg(file).arg("--home").arg(self.home());
        command.arg("--journal").arg(journal).arg("--").arg(program);
        command.env("XDG_CACHE_HOME", self.directory.path().join("cache"));
        command.env("XDG_DATA_HOME", self.directory.path().join("data"));
        command
    }

    fn journal_file(&self) -> PathBuf {
        self.directory.path().join("journal.jsonl")
    }

    /// The requests that were turns of the conversation.
    pub(super) fn turns(&self) -> Vec<Value> {
        let journal = fs::read_to_string(self.journal_file()).unwrap();
        let entries = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        entries.filter(|entry| entry["kind"] == "request" && entry["asks"] == "turn").collect()
    }

    pub(super) fn run(&self, script: &str, args: &[&str]) -> Output {
        let mut command = self.rehearse(script, &program());
        command.arg("run").args(args).arg("--agent-path").arg(self.cli.program());
        command.output().unwrap()
    }
}

pub(super) fn program() -> String {
    assert_cmd::cargo::cargo_bin("pollux").display().to_string()
}

pub(super) fn pollux(directory: &Path) -> Command {
    let mut command = Command::cargo_bin("pollux").unwrap();
    command.current_dir(directory).env("NO_COLOR", "1").env_remove("CI");
    command.timeout(Duration::from_mins(2));
    command
}

pub(super) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(super) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

pub(super) fn lines(output: &Output) -> Vec<Value> {
    stdout(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_answer_is_on_stdout_and_the_tools_are_on_stderr() {
    requires!(npm);
    for cli in Cli::some().unwrap() {
        let ran = Place::new(&cli).run("shell", &["run the commands", "--mode", "yolo"]);
        assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
        let said = "Running. \n\nAnd one that fails. \n\nDone. The second command failed.\n";
        assert_eq!(stdout(&ran), said, "{}", cli.version());
        let aside = stderr(&ran);
        assert!(aside.contains("▸ run_shell_command echo before; exit 3"), "{aside}");
        assert!(
            aside.contains("✗ exit 3 · 1 line") && aside.contains("✓ exit 0 · 2 lines"),
            "{aside}"
        );
    }
}

#[test]
fn one_object_at_the_end_has_it_all() {
    requires!(npm);
    let place = Place::newest();
    let ran = place.run("edit", &["edit the greeting", "--mode", "acceptEdits", "-o", "json"]);
    let object: Value = serde_json::from_str(&stdout(&ran)).unwrap();
    assert_eq!(object["text"], "Editing.\n\nDone. The greeting is braver now.");
    assert_eq!((&object["stop_reason"], &object["error"]), (&"end_turn".into(), &Value::Null));
    assert_eq!(object["num_turns"], 2);
    assert!(object["usage"]["total_tokens"].as_u64().unwrap() > 2000);
    assert_eq!(
        fs::read_to_string(place.work().join("hello.txt")).unwrap(),
        "hello brave new world\nsecond line\n"
    );
}

#[test]
fn a_failure_is_typed_in_every_format() {
    requires!(npm);
    let place = Place::newest();
    for format in ["text", "json", "events", "claude"] {
        let ran = place.run("error-401", &["use a bad key", "-o", format]);
        assert_eq!(ran.status.code(), Some(2), "{format}");
        assert!(stderr(&ran).contains("API key not valid"), "{format}: {}", stderr(&ran));
        assert!(stderr(&ran).contains("HTTP 401") && stderr(&ran).contains("hint:"));
    }
    for via in ["headless", "acp"] {
        let ran = place.run("error-401", &["use a bad key", "-o", "json", "--via", via]);
        let error = serde_json::from_str::<Value>(&stdout(&ran)).unwrap()["error"].clone();
        assert_eq!((&error["phase"], &error["code"]), (&"request".into(), &"not_allowed".into()));
        assert_eq!(error["http_status"], 401, "{via}");
        if via == "headless" {
            assert_eq!(error["exit_code"], 145);
            assert_eq!(error["upstream"]["type"], "result");
        } else {
            assert_eq!(error["rpc_code"], 401);
            assert_eq!(error["upstream"]["code"], 401);
        }
    }
    let ran = place.run("error-401", &["use a bad key", "-o", "claude"]);
    let last = lines(&ran).pop().unwrap();
    assert_eq!((&last["type"], &last["is_error"]), (&"result".into(), &true.into()));
}

#[test]
fn what_cannot_be_started_says_why_and_what_to_do() {
    let directory = TempDir::new().unwrap();
    let run = |args: &[&str]| pollux(directory.path()).arg("run").args(args).output().unwrap();
    let ran = run(&["hello", "--agent-path", "/nowhere/gemini", "-o", "json"]);
    assert_eq!(ran.status.code(), Some(2));
    let object: Value = serde_json::from_str(&stdout(&ran)).unwrap();
    assert_eq!(
        (&object["error"]["phase"], &object["error"]["code"]),
        (&"find".into(), &"agent_absent".into())
    );
    assert!(stderr(&ran).contains("npm install -g @google/gemini-cli"));

    let ran = run(&[]);
    assert_eq!(ran.status.code(), Some(1), "{}", stderr(&ran));
    let ran = run(&["hello", "--mode", "everything"]);
    assert_eq!(ran.status.code(), Some(1));
    assert!(stderr(&ran).contains("acceptEdits"));
}

#[test]
fn the_prompt_comes_from_the_argument_from_stdin_or_from_both() {
    requires!(npm);
    let place = Place::newest();
    let asked = |args: &[&str], stdin: &str| {
        let mut command = place.rehearse("greeting", &program());
        command
            .arg("run")
            .args(args)
            .args(["-o", "events", "--agent-path"])
            .arg(place.cli.program());
        let output = command.write_stdin(stdin).output().unwrap();
        let events = lines(&output);
        let started = events.iter().find(|event| event["type"] == "turn_started").cloned();
        started.unwrap()["prompt"].as_str().unwrap().to_owned()
    };
    assert_eq!(asked(&["hello"], ""), "hello");
    assert_eq!(asked(&["-"], "hello from afar"), "hello from afar");
    assert_eq!(asked(&[], "hello from afar"), "hello from afar");
    assert_eq!(asked(&["hello"], "some text"), "some text\n\nhello");
    let long = format!("hello {}", "x".repeat(300_000));
    assert_eq!(asked(&[], &long), long, "more than an argument can hold");
}

#[test]
fn ctrl_c_stops_kindly_with_130() {
    requires!(npm);
    let place = Place::newest();
    let gemini = place.cli.program().display().to_string();
    let script = format!(
        "{} run slow -o events --agent-path {gemini} > events & run=$!; \
         until grep -q text_grew events; do sleep 0.05; done; kill -INT $run; wait $run",
        program()
    );
    let ran =
        place.rehearse("slow", "bash").args(["-c", &format!("set -m; {script}")]).output().unwrap();
    assert_eq!(ran.status.code(), Some(130), "{}", stderr(&ran));
    let events = fs::read_to_string(place.work().join("events")).unwrap();
    let last: Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["stop_reason"]), (&"turn_ended".into(), &"cancelled".into()));
}

/// A run in the background, to which something is done once the agent speaks.
fn disturbed(place: &Place, start: &str, then: &str) -> Output {
    let gemini = place.cli.program().display().to_string();
    let grew = "grep -c text_grew events 2>/dev/null";
    let script = format!(
        "set -m; ({start} exec {} run slow -o events --agent-path {gemini} > events) & run=$!; \
         until [ \"$({grew})\" -gt 0 ]; do sleep 0.05; done 2>/dev/null; {then}; wait $run; \
         echo code $?; echo left $(grep -lsz \"^POLLUX_CHILD=$run-\" /proc/[0-9]*/environ | wc -l)",
        program()
    );
    place.rehearse("slow", "bash").args(["-c", &script]).output().unwrap()
}

#[test]
fn a_terminal_that_is_closed_stops_the_agent_and_leaves_nothing_behind() {
    requires!(npm);
    let place = Place::newest();
    let ran = disturbed(&place, "", "kill -HUP $run");
    assert_eq!(stdout(&ran), "code 130\nleft 0\n", "{}", stderr(&ran));
    let events = fs::read_to_string(place.work().join("events")).unwrap();
    let last: Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["stop_reason"]), (&"turn_ended".into(), &"cancelled".into()));
}

#[test]
fn a_run_that_is_ended_in_a_turn_takes_no_further_prompt() {
    requires!(npm);
    let place = Place::newest();
    fs::write(place.work().join("prompts"), "slow\nslow again\n").unwrap();
    let line = format!(
        "{} run --interactive -o events --agent-path {} < prompts > events & run=$!; \
         until grep -q text_grew events; do sleep 0.05; done; kill -TERM $run; wait $run",
        program(),
        place.cli.program().display()
    );
    let ran = place.rehearse("slow", "bash").args(["-c", &line]).output().unwrap();
    assert_eq!(ran.status.code(), Some(130), "{}", stderr(&ran));
    let events = fs::read_to_string(place.work().join("events")).unwrap();
    assert_eq!(events.matches("\"turn_started\"").count(), 1, "{events}");
}

#[test]
fn a_run_that_shall_outlive_its_terminal_does() {
    requires!(npm);
    let place = Place::newest();
    let more = "was=$(grep -c text_grew events); kill -HUP $run; \
                until [ $(grep -c text_grew events) -gt $((was + 10)) ]; do sleep 0.05; done; kill -INT $run";
    let ran = disturbed(&place, "trap '' HUP;", more);
    assert_eq!(stdout(&ran), "code 130\nleft 0\n", "{}", stderr(&ran));
}

#[test]
fn a_session_is_gone_on_with_and_not_lost() {
    requires!(npm);
    for cli in Cli::some().unwrap() {
        let place = Place::new(&cli);
        let id = |output: &Output| {
            let object: Value = serde_json::from_str(&stdout(output)).unwrap();
            object["session_id"].as_str().map(str::to_owned)
        };
        let refused = place.run("greeting", &["hello", "--resume", "latest"]);
        assert_eq!(refused.status.code(), Some(1), "no id is made up");
        let first = id(&place.run("greeting", &["hello", "-o", "json"])).unwrap();
        pollux_e2e::home::age(&place.home()).unwrap();
        let again = place.run("greeting", &["hello again", "-o", "json", "--resume", "latest"]);
        assert_eq!(id(&again).as_deref(), Some(&*first), "{}: {}", cli.version(), stderr(&again));
        let object: Value = serde_json::from_str(&stdout(&again)).unwrap();
        let asked: Vec<&Value> = object["messages"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|message| message["role"] == "user" && message["meta"] != true)
            .collect();
        assert_eq!(asked.len(), 1, "only what this run has said: {asked:?}");
        // The next start of the CLI is what deletes a resumed session.
        place.run("greeting", &["hello", "-o", "json"]);
        let mut show = pollux(&place.work());
        show.env("GEMINI_CLI_HOME", place.home()).env("XDG_CACHE_HOME", place.work().join("c"));
        let shown = show.args(["sessions", "show", &first]).output().unwrap();
        assert!(stdout(&shown).contains("hello again"), "{}: {}", cli.version(), stderr(&shown));
    }
}

#[test]
fn a_session_is_not_left_at_risk_where_nobody_reads_the_run_that_goes_on_with_it() {
    requires!(npm);
    let place = Place::newest();
    place.run("greeting", &["hello"]);
    pollux_e2e::home::age(&place.home()).unwrap();
    let (own, gemini) = (program(), place.cli.program().display().to_string());
    let claude =
        "claude -p hello --output-format stream-json --include-partial-messages --continue";
    for run in [
        "run hello -o events --via headless --resume latest",
        "run hello -o events --via acp --resume latest",
        claude,
    ] {
        let line = format!("{own} {run} --agent-path {gemini} | head -n 1");
        let ran = place.rehearse("greeting", "bash").args(["-c", &line]).output().unwrap();
        assert_eq!(lines(&ran).len(), 1, "{}", stderr(&ran));
    }
    let mut list = pollux(&place.work());
    list.env("GEMINI_CLI_HOME", place.home()).env("XDG_CACHE_HOME", place.work().join("c"));
    let listed = list.args(["sessions", "list", "--all", "--json"]).output().unwrap();
    let listed: Vec<Value> = serde_json::from_str(&stdout(&listed)).unwrap();
    // The stubs that every start of the CLI leaves have ids of their own.
    let (stubs, sessions): (Vec<&Value>, Vec<&Value>) =
        listed.iter().partition(|session| session["kind"] == "stub");
    assert_eq!(sessions.len(), 1, "{listed:#?}");
    assert!(sessions[0].get("at_risk").is_none(), "{listed:#?}");
    assert!(
        stubs.iter().all(|stub| stub["session_id"] != sessions[0]["session_id"]),
        "{listed:#?}"
    );
}

#[test]
fn claudes_own_sdk_reads_a_run_as_one_of_claudes() {
    requires!(npm);
    let place = Place::newest();
    let sdk = CLAUDE_SDK.npm().unwrap();
    let sdk = sdk.join("node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs");
    let script = repository().join("crates/pollux/tests/it/run/claude.mjs");
    let mut command = place.rehearse("shell", "node");
    command.arg(script).arg(sdk).arg(program()).arg(place.cli.program()).arg("run the commands");
    let ran = command.output().unwrap();
    let messages = lines(&ran);
    let kinds: Vec<&str> = messages.iter().filter_map(|message| message["type"].as_str()).collect();
    assert_eq!(kinds.first(), Some(&"system"), "{}", stderr(&ran));
    assert_eq!(kinds.last(), Some(&"result"));
    let result = messages.last().unwrap();
    assert_eq!(
        (&result["subtype"], &result["result"]),
        (&"success".into(), &"Done. The second command failed.".into())
    );
    let blocks =
        messages.iter().filter_map(|message| message["message"]["content"].as_array()).flatten();
    let blocks: Vec<&Value> = blocks.collect();
    let uses: Vec<&Value> =
        blocks.iter().copied().filter(|block| block["type"] == "tool_use").collect();
    let results: Vec<&Value> =
        blocks.iter().copied().filter(|block| block["type"] == "tool_result").collect();
    assert_eq!((uses.len(), results.len()), (2, 2));
    assert_eq!(uses[1]["name"], "Bash");
    assert_eq!(uses[1]["id"], results[1]["tool_use_id"]);
    assert!(results[1]["content"].as_str().unwrap().contains("Exit Code: 3"));
}

#[test]
fn a_recorded_stream_is_translated_with_and_without_its_session() {
    let root = repository().join("recordings/0.61.0");
    let stream = root.join("headless/shell_fail.stream.jsonl");
    let translate = |more: &[&str]| {
        let mut command = pollux(&root);
        command.args(["translate", "--from", "stream-json"]).arg(&stream).args(more);
        stdout(&command.output().unwrap())
    };
    assert!(!translate(&[]).contains("exit_code"));
    assert!(translate(&["--session", "sessions/shell_fail.jsonl"]).contains(r#""exit_code":3"#));
}
