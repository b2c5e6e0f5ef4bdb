//! Agents that are played by a shell: what an editor may say to `pollux acp`, and what a person at a terminal is asked.

use super::run::program;
use pollux_agent::process::{Child, Program};
use pollux_agent::terminal::{Emulator, Pane, Server, Size, Socket, Window};
use pollux_e2e::{kill_server, repository, requires, wait_for};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout};

const LIMIT: Duration = Duration::from_secs(30);

/// The command of the played agent.
fn agent() -> String {
    format!("sh {}", repository().join("crates/pollux/tests/it/played/agent.sh").display())
}

/// An editor that talks to `pollux acp`.
struct Editor {
    child: Child,
    says: ChildStdin,
    hears: Lines<BufReader<ChildStdout>>,
    heard: HashMap<u64, Value>,
    /// The updates.
    told: Vec<Value>,
    /// The errors that answer no request in particular.
    wrong: Vec<Value>,
    _place: TempDir,
}

impl Editor {
    fn open() -> Self {
        let place = TempDir::new().unwrap();
        let program = Program::new(program(), place.path())
            .args(["acp", "--agent-command", &agent()])
            .env("XDG_DATA_HOME", place.path())
            .talking();
        let mut child = program.spawn().unwrap();
        let (says, hears) = (child.stdin().unwrap(), child.stdout().unwrap());
        let hears = BufReader::new(hears).lines();
        let (told, wrong) = (Vec::new(), Vec::new());
        Self { child, says, hears, heard: HashMap::new(), told, wrong, _place: place }
    }

    async fn say(&mut self, line: &[u8]) {
        self.says.write_all(line).await.unwrap();
        self.says.write_all(b"\n").await.unwrap();
    }

    /// The answer to a request, whenever it comes.
    async fn answer(&mut self, id: u64) -> Value {
        while !self.heard.contains_key(&id) {
            let line = tokio::time::timeout(LIMIT, self.hears.next_line()).await;
            assert!(line.is_ok(), "no answer: {}", self.child.stderr());
            let line = line.unwrap().unwrap().expect("it is there");
            let message: Value = serde_json::from_str(&line).unwrap();
            match message["id"].as_u64() {
                Some(id) => {
                    let answer = message.get("result").or(message.get("error"));
                    self.heard.insert(id, answer.cloned().unwrap_or_default());
                }
                None if message.get("error").is_some() => {
                    assert_eq!(message.get("id"), Some(&Value::Null), "{message}");
                    self.wrong.push(message["error"].clone());
                }
                None => self.told.push(message["params"]["update"].clone()),
            }
        }
        self.heard[&id].clone()
    }

    async fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.say(&request(id, method, &params)).await;
        self.answer(id).await
    }
}

fn request(id: u64, method: &str, params: &Value) -> Vec<u8> {
    let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    request.to_string().into_bytes()
}

fn prompt(id: u64, words: &str) -> Vec<u8> {
    let prompt = json!([{ "type": "text", "text": words }]);
    request(id, "session/prompt", &json!({ "sessionId": "s", "prompt": prompt }))
}

#[tokio::test]
async fn a_line_of_an_editor_that_is_no_message_is_answered_with_what_is_wrong_and_the_next_is_heard()
 {
    let mut editor = Editor::open();
    let lines: [&[u8]; 10] = [
        b"\xff\xfe not UTF-8",
        b"{\"id\":1",
        b"[{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"initialize\"}]",
        b"\"x\"",
        b"17",
        b"{}",
        b"",
        // Nobody answers an answer, nor what is only told.
        b"{\"id\":4,\"result\":[]}",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"}",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"session/new\",\"params\":{}}",
    ];
    for line in lines {
        editor.say(line).await;
    }
    let codes = |wrong: &[Value]| -> Vec<i64> {
        wrong.iter().map(|wrong| wrong["code"].as_i64().unwrap()).collect()
    };
    editor.say(b"{\"jsonrpc\":\"2.0\",\"id\":5}").await;
    let wrong = [
        editor.answer(5).await,
        editor.ask(6, "no/such", json!({})).await,
        editor.ask(7, "session/new", json!({ "cwd": 7 })).await,
        editor.ask(8, "session/prompt", json!({ "sessionId": "s", "prompt": "words" })).await,
        editor.ask(9, "session/prompt", json!({ "sessionId": "none", "prompt": [] })).await,
    ];
    assert_eq!(codes(&wrong), [-32600, -32601, -32602, -32602, -32602], "{wrong:#?}");
    assert_eq!(codes(&editor.wrong), [-32700, -32700, -32600, -32600, -32600, -32600]);
    let answer = editor.ask(1, "initialize", json!({ "protocolVersion": 1 })).await;
    assert_eq!(answer["protocolVersion"], 1);
    assert_eq!(editor.heard.len(), 6, "{:#?}", editor.heard);
}

#[tokio::test]
async fn a_prompt_that_an_editor_sends_while_another_is_worked_on_waits_and_both_are_answered() {
    let mut editor = Editor::open();
    editor.ask(1, "initialize", json!({ "protocolVersion": 1 })).await;
    let opened = editor.ask(2, "session/new", json!({ "cwd": "/", "mcpServers": [] })).await;
    assert_eq!(opened, json!({ "sessionId": "s" }), "an agent without modes has none");
    editor.say(&prompt(3, "slow, please")).await;
    editor.say(&prompt(4, "and then")).await;
    for id in [3, 4] {
        assert_eq!(editor.answer(id).await["stopReason"], "end_turn", "{:#?}", editor.heard);
    }
}

#[tokio::test]
async fn the_modes_of_another_agent_are_set_by_their_own_names() {
    let mut editor = Editor::open();
    editor.ask(1, "initialize", json!({ "protocolVersion": 1 })).await;
    let opened = editor.ask(2, "session/new", json!({ "cwd": "/tmp", "mcpServers": [] })).await;
    let offered = opened["modes"]["availableModes"].as_array().unwrap();
    let offered: Vec<&Value> = offered.iter().map(|mode| &mode["id"]).collect();
    // One of them is a mode that we have a word for.
    assert_eq!(offered, ["ask", "code", "auto_edit"]);
    let to = |mode: &str| json!({ "sessionId": "s", "modeId": mode });
    for (id, mode) in [(3, "code"), (4, "ask"), (5, "auto_edit")] {
        assert_eq!(editor.ask(id, "session/set_mode", to(mode)).await, json!({}), "{mode}");
    }
    let wrong = editor.ask(6, "session/set_mode", to("wild")).await;
    assert_eq!(wrong["message"], "the agent does not offer the mode `wild`");
    assert_eq!(wrong["data"]["hint"], "available modes: ask, code, acceptEdits");
    let told = editor.told.iter().filter(|it| it["sessionUpdate"] == "current_mode_update");
    let told: Vec<&Value> = told.map(|it| &it["currentModeId"]).collect();
    assert_eq!(told, ["code", "ask", "auto_edit"], "each once");
}

/// `pollux run` of a prompt for the played agent.
fn run(place: &TempDir, args: &[&str]) -> Child {
    let program = Program::new(program(), place.path())
        .args(["run", "--agent-command", &agent()])
        .args(args)
        .env("XDG_DATA_HOME", place.path());
    program.spawn().unwrap()
}

async fn printed(child: &mut Child) -> String {
    let mut text = String::new();
    child.stdout().unwrap().read_to_string(&mut text).await.unwrap();
    text
}

#[tokio::test]
async fn a_run_that_is_cut_does_not_wait_for_an_agent_that_does_not_hear() {
    let place = TempDir::new().unwrap();
    let mut child = run(&place, &["deaf", "--timeout", "1s", "-o", "events"]);
    let told = printed(&mut child).await;
    let last = told.lines().rev().find(|line| line.contains("turn_ended")).unwrap();
    let ended: Value = serde_json::from_str(last).unwrap();
    assert_eq!(ended["stop_reason"], "timeout", "{ended}");
    let took = ended["duration_ms"].as_u64().unwrap();
    assert!(took < 5000, "one second, one more for the answer, and not five: {took} ms");
    let said = child.close().await;
    assert!(said.contains("· session s"), "{said}");
}

#[tokio::test]
async fn a_run_that_is_left_in_its_middle_says_its_session() {
    let place = TempDir::new().unwrap();
    let mut child = run(&place, &["deaf", "-o", "json"]);
    let is = |holds: bool| if holds { Ok(()) } else { Err("not yet") };
    wait_for("the turn", LIMIT, async || is(place.path().join("begun").exists())).await;
    child.interrupt();
    wait_for("it stops", LIMIT, async || is(child.stderr().contains("Ctrl-C again"))).await;
    child.interrupt();
    let object: Value = serde_json::from_str(&printed(&mut child).await).unwrap();
    assert_eq!((&object["session_id"], &object["stop_reason"]), (&json!("s"), &json!("cancelled")));
    assert_eq!(child.wait().await.unwrap().code(), Some(130));
    assert!(child.close().await.contains("· session s"));
}

#[tokio::test]
async fn what_was_refused_to_the_agent_stands_in_the_object() {
    let place = TempDir::new().unwrap();
    let mut child = run(&place, &["ask", "--permission", "deny", "-o", "json"]);
    let object: Value = serde_json::from_str(&printed(&mut child).await).unwrap();
    let denied = &object["denials"];
    assert_eq!(denied.as_array().map(Vec::len), Some(1), "{object:#}");
    assert_eq!(denied[0]["tool_id"], "c");
    assert_eq!(denied[0]["reason"], "denied by the permission policy of this run");
    child.close().await;
}

/// A terminal with one program in it, and a line behind that which says how it ended and how it has left the terminal.
struct Desk {
    pane: Pane,
    place: TempDir,
}

impl Desk {
    async fn run(args: &str) -> Self {
        let place = tempfile::Builder::new().prefix("pollux-asks-").tempdir().unwrap();
        let server = Server::open(&Socket::Path(place.path().join("socket"))).await.unwrap();
        // A shell that Ctrl-C ends could not tell the rest.
        let line = format!(
            "trap : INT; '{}' run {args} --agent-command '{}'; echo \"ended $?\"; stty -a; exec cat",
            program(),
            agent()
        );
        let window = Window {
            name: "asks",
            cwd: place.path(),
            env: &[],
            command: &["/bin/sh".to_owned(), "-c".to_owned(), line],
            size: Size { columns: 160, rows: 40 },
        };
        Self { pane: Pane::open(&server, &window).await.unwrap(), place }
    }

    /// Waits until the screen is as it should be.
    async fn is(&self, label: &str, wanted: impl Fn(&str) -> bool) -> String {
        wait_for(label, LIMIT, async || {
            let captured = self.pane.capture().await.unwrap();
            let mut emulator = Emulator::new(captured.size);
            emulator.feed(captured.text.as_bytes());
            let rows = emulator.screen().rows.join("\n");
            if wanted(&rows) { Ok(rows) } else { Err(rows) }
        })
        .await
    }

    async fn shows(&self, text: &str) -> String {
        self.is(text, |rows| rows.contains(text)).await
    }

    /// Waits until the agent has answered so often, and the next prompt can be written.
    async fn heard(&self, times: usize) {
        let wanted = |rows: &str| {
            rows.matches("Heard.").count() == times && rows.trim_end().ends_with("\n›")
        };
        self.is("a place for the next prompt", wanted).await;
    }

    async fn press(&self, keys: &[&str]) {
        self.pane.press(keys).await.unwrap();
    }

    /// It has ended with this code, and the terminal is as a shell wants it.
    async fn ends(&self, code: u8) {
        self.shows(&format!("ended {code}")).await;
        let rows = self.shows("icanon").await;
        assert!(!rows.contains("-icanon") && rows.contains(" echo "), "{rows}");
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        kill_server(&self.place.path().join("socket"));
    }
}

#[tokio::test]
async fn a_person_is_asked_and_answers_with_a_key() {
    requires!(tmux);
    let desk = Desk::run("'ask me'").await;
    let rows = desk.shows("[y] Allow  [n] Reject  [w] Reject with a reason").await;
    assert!(rows.contains("  $ ls"), "{rows}");
    // Keys that are no answer are none, and of several that come at once the first is looked at.
    desk.press(&["x", "Up", "Enter"]).await;
    wait_for("an answer", LIMIT, async || {
        desk.press(&["y"]).await;
        let rows = desk.pane.capture().await.unwrap().text;
        if rows.contains("It ran.") { Ok(()) } else { Err(rows) }
    })
    .await;
    desk.ends(0).await;
}

#[tokio::test]
async fn a_person_says_no_and_why() {
    requires!(tmux);
    let desk = Desk::run("'ask me'").await;
    desk.shows("[w] Reject").await;
    desk.press(&["w"]).await;
    desk.shows("reason:").await;
    desk.pane.type_text("not on a Monday").await.unwrap();
    desk.press(&["Enter"]).await;
    desk.shows("Very well.").await;
    // Why is the next thing that the agent is told.
    desk.shows("Heard.").await;
    desk.ends(0).await;
}

#[tokio::test]
async fn ctrl_c_at_a_question_stops_the_turn() {
    requires!(tmux);
    let desk = Desk::run("'ask me'").await;
    desk.shows("[y] Allow").await;
    desk.press(&["C-c"]).await;
    desk.ends(130).await;
}

#[tokio::test]
async fn a_turn_whose_time_is_over_does_not_wait_for_somebody_to_press_a_key() {
    requires!(tmux);
    let desk = Desk::run("'ask me' --timeout 1s").await;
    desk.shows("[y] Allow").await;
    desk.ends(2).await;
}

#[tokio::test]
async fn ctrl_c_where_the_next_prompt_is_written_ends_the_session() {
    requires!(tmux);
    let desk = Desk::run("hello --interactive").await;
    desk.heard(1).await;
    desk.pane.type_text("once more").await.unwrap();
    desk.press(&["Enter"]).await;
    desk.heard(2).await;
    desk.press(&["C-c"]).await;
    desk.ends(0).await;
}
