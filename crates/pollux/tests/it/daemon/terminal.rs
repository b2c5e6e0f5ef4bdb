//! The real Gemini CLI in a terminal, under the daemon: orders, the screen from afar, and a daemon that comes and goes.

use super::house::{House, Socket, gemini_on, is_idle, settings, subscribe, turn};
use pollux::daemon::log::Feed;
use pollux_agent::gemini::hooks::deliver::frame;
use pollux_agent::gemini::terminal::{Live, Start};
use pollux_agent::model::SessionStatus;
use pollux_agent::terminal::Socket as TmuxSocket;
use pollux_e2e::{Cli, PINNED, Stage, kill_server, repository, requires, wait_for};
use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

const LIMIT: Duration = Duration::from_mins(1);

/// A stage with a tmux server of its own, which goes with it.
struct Desk(Stage);

impl Desk {
    async fn new() -> Self {
        Self(Stage::with(&Cli::install(PINNED[2]).unwrap(), "terminal").await.unwrap())
    }

    fn tmux(&self) -> PathBuf {
        self.0.home().path().join("tmux.sock")
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        kill_server(&self.tmux());
    }
}

async fn joined(house: &House, id: &str) -> (Socket, Value) {
    let mut socket = house.socket().await;
    socket.say(subscribe(id)).await;
    let snapshot = socket.next_of("snapshot").await;
    (socket, snapshot)
}

async fn idle(house: &House, id: &str) -> Value {
    wait_for("an idle agent", LIMIT, async || {
        let summary = house.get(&format!("/api/v1/sessions/{id}")).await;
        if summary["status"] == "idle" { Ok(summary) } else { Err(summary) }
    })
    .await
}

async fn events(house: &House, id: &str) -> Vec<Value> {
    let page = house.get(&format!("/api/v1/sessions/{id}/events?limit=1000")).await;
    page["events"].as_array().unwrap().clone()
}

fn of_kind<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().map(|event| &event["event"]).filter(|event| event["type"] == kind).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_in_a_terminal_is_steered_by_the_daemon_and_outlives_it() {
    requires!(npm, tmux);
    let desk = Desk::new().await;
    let house = House::on(&desk.0).await;
    let id = house.begin(json!({ "cwd": desk.0.workspace(), "driver": "terminal" })).await;
    idle(&house, &id).await;
    let (mut socket, _) = joined(&house, &id).await;
    house.command(&id, "c1", json!({ "type": "prompt", "text": "run a command" })).await;
    let frames = socket
        .until(|frame| {
            frame["session"]["status"] == "waiting" && frame["session"]["questions"][0].is_object()
        })
        .await;
    let open = frames.last().unwrap()["session"]["questions"][0].clone();
    let options = open["question"]["options"].as_array().unwrap();
    let once = options.iter().find(|option| option["effect"] == "allow_once").unwrap();
    let answer = json!({ "type": "answer", "question_id": open["question"]["id"],
        "choice": once["id"], "shown": open["shown"] });
    // Killed in the middle of a question, the daemon finds it again.
    let directory = house.close().await;
    let gemini = desk.0.home().path().join(".gemini");
    let house = House::at(directory, &gemini, gemini_on(&desk.0), &settings()).await;
    let (status, late) = house.command(&id, "a0", answer).await;
    assert_eq!((status, &late["code"]), (409, &json!("unknown_question")), "{late}");
    let open = wait_for("the question", LIMIT, async || {
        let summary = house.get(&format!("/api/v1/sessions/{id}")).await;
        let open = summary["questions"][0].clone();
        if open.is_object() { Ok(open) } else { Err(summary) }
    })
    .await;
    let answer = json!({ "type": "answer", "question_id": open["question"]["id"],
        "choice": once["id"], "shown": open["shown"] });
    let (status, answered) = house.command(&id, "a1", answer).await;
    assert_eq!((status, &answered["reply"]["done"]["yours"]), (200, &json!(true)), "{answered}");
    idle(&house, &id).await;
    assert!(desk.0.workspace().join("made.txt").exists());
    let told = events(&house, &id).await;
    assert_eq!(of_kind(&told, "turn_started").len(), 1, "{told:#?}");
    assert_eq!(of_kind(&told, "turn_ended").len(), 1, "{told:#?}");
    let page = house.get(&format!("/api/v1/sessions/{id}/messages")).await;
    let text = page.to_string();
    assert!(text.contains("run a command") && text.contains("Done, or not."), "{text}");
    let directory = house.close().await;
    let house = House::at(directory, &gemini, gemini_on(&desk.0), &settings()).await;
    let summary = idle(&house, &id).await;
    assert_eq!(
        summary["messages"].as_u64(),
        Some(page["messages"].as_array().unwrap().len() as u64)
    );
    let again = events(&house, &id).await;
    assert_eq!(
        of_kind(&again, "message_recorded").len(),
        of_kind(&told, "message_recorded").len(),
        "nothing is told twice"
    );
    let (status, _) = house.command(&id, "s1", json!({ "type": "stop" })).await;
    assert_eq!(status, 200);
    wait_for("the end", LIMIT, async || {
        let summary = house.get(&format!("/api/v1/sessions/{id}")).await;
        if summary["status"] == "exited" { Ok(()) } else { Err(summary) }
    })
    .await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_screen_is_seen_from_afar_keys_are_pressed_and_the_desk_keeps_its_window() {
    requires!(npm, tmux);
    let desk = Desk::new().await;
    let house = House::on(&desk.0).await;
    let id = house.begin(json!({ "cwd": desk.0.workspace(), "driver": "terminal" })).await;
    idle(&house, &id).await;
    let (mut socket, _) = joined(&house, &id).await;
    socket.say(json!({ "type": "screen", "session_id": id, "on": true })).await;
    let first = socket.next_of("screen").await;
    assert_eq!(
        (&first["whole"], &first["columns"], &first["rows"]),
        (&json!(true), &json!(120), &json!(40))
    );
    assert_eq!(first["lines"].as_array().unwrap().len(), 40);
    assert!(first.to_string().contains("Type your message"), "{first}");
    // A `?` in an empty box would call for help, an Enter too soon would be a new line, and what is typed next is not part of it.
    let asks = json!({ "type": "keys", "text": "shall we talk?", "keys": ["Enter"] });
    for (name, keys) in [("k0", asks), ("k1", json!({ "type": "keys", "text": "typed from afar" }))]
    {
        let (status, told) = house.command(&id, name, keys).await;
        assert_eq!(status, 200, "{told}");
    }
    let frames = socket
        .until(|frame| frame["type"] == "screen" && frame.to_string().contains("typed from afar"))
        .await;
    let last = frames.last().unwrap();
    assert!(last["whole"] == false && last["lines"].as_array().unwrap().len() < 40, "{last}");
    assert_eq!((&last["columns"], &last["rows"]), (&json!(120), &json!(40)));
    let (status, wrong) =
        house.command(&id, "k2", json!({ "type": "keys", "keys": ["kill-server"] })).await;
    assert_eq!((status, &wrong["code"]), (409, &json!("wrong_keys")));
    wait_for("the answer to what was typed", LIMIT, async || {
        let page = house.get(&format!("/api/v1/sessions/{id}/messages")).await.to_string();
        let said = page.contains("\"shall we talk?\"") && page.contains("and another one.");
        if said { Ok(()) } else { Err(page) }
    })
    .await;
    // Unless somebody asks for another size, and until they give it back.
    for (name, command, size) in [
        ("f0", json!({ "type": "fit", "columns": 50, "rows": 30 }), (50, 30)),
        ("f1", json!({ "type": "fit", "columns": 60, "rows": 30 }), (60, 30)),
        ("f2", json!({ "type": "give_back" }), (120, 40)),
    ] {
        let fitted = command["type"] == "fit";
        assert_eq!(house.command(&id, name, command).await.0, 200);
        socket.until(|frame| is_sized(frame, size, fitted)).await;
    }
    // Whoever goes without a word gives it back too.
    let mut phone = house.socket().await;
    let fit = json!({ "type": "fit", "columns": 50, "rows": 30 });
    phone.say(json!({ "type": "command", "id": "f4", "session_id": id, "command": fit })).await;
    socket.until(|frame| is_sized(frame, (50, 30), true)).await;
    drop(phone);
    socket.until(|frame| is_sized(frame, (120, 40), false)).await;
    let (status, wrong) =
        house.command(&id, "f3", json!({ "type": "fit", "columns": 2, "rows": 2 })).await;
    assert_eq!((status, &wrong["code"]), (409, &json!("wrong_size")));
    socket.say(json!({ "type": "screen", "session_id": id, "on": false })).await;
    house.command(&id, "s1", json!({ "type": "stop" })).await;
    socket.until(|frame| frame["session"]["status"] == "exited").await;
    house.close().await;
}

fn is_sized(frame: &Value, (columns, rows): (u16, u16), fitted: bool) -> bool {
    let now = (&frame["columns"], &frame["rows"], &frame["fitted"]);
    now == (&json!(columns), &json!(rows), &json!(fitted))
}

async fn beside(desk: &Desk) -> Live {
    let version = pollux_agent::gemini::cli::Version::read(desk.0.cli().version());
    let cli =
        pollux_agent::gemini::cli::Cli { path: desk.0.cli().program().to_path_buf(), version };
    let mut start = Start::new()
        .socket(TmuxSocket::Path(desk.tmux()))
        .cli(cli)
        .home(desk.0.home().path())
        .cwd(desk.0.workspace());
    for (name, value) in desk.0.env() {
        start = start.env(name, value);
    }
    start.start().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_was_started_without_the_daemon_is_taken_up_whenever_it_comes() {
    requires!(npm, tmux);
    let desk = Desk::new().await;
    let live = beside(&desk).await;
    let house = House::on(&desk.0).await;
    let sessions = house.get("/api/v1/sessions").await["sessions"].clone();
    let id = sessions[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(sessions[0]["driver"], "terminal", "{sessions}");
    idle(&house, &id).await;
    let second = beside(&desk).await;
    let adopt = json!({ "pane": second.pane().id(), "socket": desk.tmux() });
    let (status, told) = house.post("/api/v1/sessions/adopt", adopt).await;
    assert_eq!((status, &told["driver"]), (201, &json!("terminal")), "{told}");
    let other = told["id"].as_str().unwrap().to_owned();
    assert_ne!(other, id);
    idle(&house, &other).await;
    // What somebody types at the desk is told too.
    let (mut socket, _) = joined(&house, &id).await;
    live.orders().prompt("run a command").await.unwrap();
    socket.until(|frame| frame["session"]["status"] == "waiting").await;
    house.command(&id, "i1", json!({ "type": "interrupt" })).await;
    socket.until(is_idle).await;
    for id in [&id, &other] {
        let (status, _) = house.command(id, "s1", json!({ "type": "stop" })).await;
        assert_eq!(status, 200);
    }
    house.close().await;
}

/// Hands over what a hook was told.
pub(super) fn hook(house: &House, event: &str, session: &str, more: &Value) {
    let mut payload = json!({ "session_id": session, "hook_event_name": event, "cwd": "/work",
        "transcript_path": "", "timestamp": "2026-11-15T12:00:00Z" });
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut socket = UnixStream::connect(house.directory.path().join("hooks.sock")).unwrap();
    socket.write_all(&frame(event, None, payload.to_string().as_bytes())).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_make_a_session_of_the_users_own_terminal_appear_and_live() {
    let house = House::open(super::told::Stagehand::default().agents()).await;
    let socket = house.directory.path().join("hooks.sock");
    super::house::wait_until("the socket for hooks", || socket.exists()).await;
    let id = "6c4f3a52-6f3b-4a8e-9b53-0d6f3d0f1f0a";
    hook(&house, "SessionStart", id, &json!({ "source": "startup" }));
    hook(&house, "BeforeAgent", id, &json!({ "prompt": "tidy up" }));
    let is = async |status: &str| {
        wait_for(status, LIMIT, async || {
            let all = house.get("/api/v1/sessions").await["sessions"].clone();
            if all[0]["status"] == status { Ok(all[0].clone()) } else { Err(all) }
        })
        .await
    };
    let session = is("working").await;
    assert_eq!((&session["id"], &session["title"]), (&json!(id), &json!("tidy up")));
    assert!(session.get("driver").is_none(), "it is only read");
    let details = json!({ "type": "exec", "title": "Run?", "command": "rm -r build" });
    hook(
        &house,
        "Notification",
        id,
        &json!({ "notification_type": "ToolPermission", "details": details }),
    );
    let session = is("waiting").await;
    assert_eq!(session["questions"][0]["question"]["meaning"]["command"], "rm -r build");
    let (status, refused) = house.command(id, "c", json!({ "type": "interrupt" })).await;
    assert_eq!((status, &refused["code"]), (409, &json!("read_only")));
    hook(&house, "BeforeTool", id, &json!({ "tool_name": "run_shell_command", "tool_input": {} }));
    is("working").await;
    hook(&house, "AfterAgent", id, &json!({}));
    is("idle").await;
    hook(&house, "SessionEnd", id, &json!({ "reason": "exit" }));
    is("exited").await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_appeared_before_its_file_is_read_when_that_is_there() {
    let house = House::open(super::told::Stagehand::default().agents()).await;
    let socket = house.directory.path().join("hooks.sock");
    super::house::wait_until("the socket for hooks", || socket.exists()).await;
    let id = "999189a6-f70d-4c71-948a-bc14b038616e";
    hook(&house, "SessionStart", id, &json!({ "source": "startup" }));
    let idle = |feed: &Feed| feed.summary().status == SessionStatus::Idle;
    let lives = || house.api.hub.feed(id).is_ok_and(|(_, feed)| idle(&feed));
    super::house::wait_until("it lives", lives).await;
    let chats = house.directory.path().join(".gemini/tmp/p/chats");
    std::fs::create_dir_all(&chats).unwrap();
    let recorded = repository().join("recordings/0.61.0/sessions/edit.jsonl");
    std::fs::copy(recorded, chats.join("session-2026-11-15T17-55-999189a6.jsonl")).unwrap();
    let path = format!("/api/v1/sessions/{id}/messages");
    wait_for("its messages", LIMIT, async || {
        let page = house.get(&path).await;
        if page["messages"][0].is_object() { Ok(()) } else { Err(page) }
    })
    .await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_turn_in_a_terminal_waits_for_the_first_one() {
    requires!(npm, tmux);
    let desk = Desk::new().await;
    let house = House::on(&desk.0).await;
    let id = house.begin(json!({ "cwd": desk.0.workspace(), "driver": "terminal" })).await;
    idle(&house, &id).await;
    let talk = |text: &str| json!({ "type": "prompt", "text": text });
    house.command(&id, "c1", talk("talk of one thing")).await;
    let all = ["talk of one thing", "talk of another", "talk of a third"];
    for (command, text) in ["c2", "c3"].into_iter().zip(all.into_iter().skip(1)) {
        let (_, queued) = house.command(&id, command, talk(text)).await;
        assert_eq!(queued["reply"]["done"]["done"], "queued", "{queued}");
    }
    let told = wait_for("the last turn", LIMIT, async || {
        let told = events(&house, &id).await;
        if of_kind(&told, "turn_ended").len() == all.len() { Ok(told) } else { Err(told) }
    })
    .await;
    let prompts: Vec<&Value> =
        of_kind(&told, "turn_started").into_iter().map(|event| &event["prompt"]).collect();
    assert_eq!(prompts, all, "{told:#?}");
    idle(&house, &id).await;
    house.command(&id, "s1", json!({ "type": "stop" })).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_the_cli_that_begins_no_turn_is_over_all_the_same() {
    requires!(npm, tmux);
    let desk = Desk::new().await;
    let house = House::on(&desk.0).await;
    let id = house.begin(json!({ "cwd": desk.0.workspace(), "driver": "terminal" })).await;
    idle(&house, &id).await;
    let (mut socket, _) = joined(&house, &id).await;
    house.command(&id, "c1", json!({ "type": "prompt", "text": "/help" })).await;
    turn(&mut socket).await;
    house.command(&id, "c2", json!({ "type": "prompt", "text": "talk of one thing" })).await;
    turn(&mut socket).await;
    house.command(&id, "s1", json!({ "type": "stop" })).await;
    house.close().await;
}
