//! One conversation is one session, also where its agent learns its own id late: what was seen of it before, in its file or by a
//! hook, is not shown beside it.

use super::house::{House, Socket, gemini_with, settings, subscribe, wait_until};
use super::terminal::hook;
use super::told::Stagehand;
use pollux_agent::gemini::hooks::extension::Extension;
use pollux_agent::model::{EventKind, Text};
use pollux_e2e::{Cli, PINNED, Stage, requires, wait_for};
use serde_json::{Value, json};
use std::time::Duration;

const LIMIT: Duration = Duration::from_mins(1);
const OWN: &str = "6c4f3a52-6f3b-4a8e-9b53-0d6f3d0f1f0a";
const OTHER: &str = "0b9a6a3e-3c55-4f6f-8f6e-6e3a1f8d2c11";

async fn listed(house: &House) -> Vec<Value> {
    house.get("/api/v1/sessions").await["sessions"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_turns_out_to_be_the_agents_own_is_gone_from_the_list_and_those_who_look_are_told() {
    let hand = Stagehand::default();
    let house = House::open(hand.agents()).await;
    let socket = house.directory.path().join("hooks.sock");
    wait_until("the socket for hooks", || socket.exists()).await;
    let id = house.begin(json!({ "cwd": "/work" })).await;
    wait_until("the agent", || hand.is_there(&id)).await;
    hook(&house, "SessionStart", OWN, &json!({ "source": "startup" }));
    wait_until("what the hook told", || house.api.hub.feed(OWN).is_ok()).await;
    let mut all: Socket = house.socket().await;
    all.say(json!({ "type": "watch" })).await;
    assert_eq!(all.next_of("sessions").await["sessions"].as_array().unwrap().len(), 2);
    let mut reader: Socket = house.socket().await;
    reader.say(subscribe(OWN)).await;
    reader.next_of("snapshot").await;
    let session_id = Text::from(OWN.to_owned());
    let from = Text::from("new-1".to_owned());
    hand.say(&id, EventKind::SessionRekeyed { from, session_id }).await;
    let sessions = all.next_of("sessions").await["sessions"].clone();
    assert_eq!(sessions.as_array().unwrap().len(), 1, "{sessions}");
    assert_eq!((&sessions[0]["id"], &sessions[0]["agent_id"]), (&json!(id), &json!(OWN)));
    let error = reader.next_of("error").await;
    assert_eq!(error["error"]["code"], "unknown_session", "{error}");
    // Whoever knows it by the agent's own id still finds it, and so does the next hook.
    assert_eq!(house.api.hub.find(OWN).unwrap(), id);
    hook(&house, "BeforeAgent", OWN, &json!({ "prompt": "tidy up" }));
    // Hooks are heard one after the other: when the next was, that one was too.
    hook(&house, "SessionStart", OTHER, &json!({ "source": "startup" }));
    wait_until("what the next hook told", || house.api.hub.feed(OTHER).is_ok()).await;
    // The next daemon knows of no further one either.
    let directory = house.close().await;
    let house = House::with(directory, hand.agents(), &settings()).await;
    let mut known: Vec<Value> = listed(&house).await.iter().map(|it| it["id"].clone()).collect();
    known.sort_by_key(|known| *known == json!(OTHER));
    assert_eq!(known, [json!(id), json!(OTHER)]);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_in_a_terminal_that_is_told_no_id_is_one_session_with_its_file_and_its_hooks() {
    requires!(npm, tmux);
    let cli = Cli::install(PINNED[0]).unwrap();
    let stage = Stage::with(&cli, "terminal").await.unwrap();
    Extension::new(&stage.home().gemini()).install(env!("CARGO_BIN_EXE_pollux"), "0.1.0").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let agents = gemini_with(&stage, Some(directory.path()));
    let house = House::at(directory, &stage.home().gemini(), agents, &settings()).await;
    let id = house.begin(json!({ "cwd": stage.workspace(), "driver": "terminal" })).await;
    let prompt = json!({ "type": "prompt", "text": "talk a little" });
    assert_eq!(house.command(&id, "c1", prompt).await.0, 200);
    wait_for("the answer, once", LIMIT, async || {
        let page = house.get(&format!("/api/v1/sessions/{id}/messages")).await;
        let listed = listed(&house).await;
        let answered = page.to_string().contains("and another one.");
        if answered && listed.len() == 1 && listed[0]["agent_id"].is_string() {
            Ok(())
        } else {
            Err((page, listed))
        }
    })
    .await;
    house.command(&id, "s1", json!({ "type": "stop" })).await;
    wait_for("the end", LIMIT, async || {
        let listed = listed(&house).await;
        if listed.len() == 1 && listed[0]["status"] == "exited" { Ok(()) } else { Err(listed) }
    })
    .await;
    house.close().await;
}
