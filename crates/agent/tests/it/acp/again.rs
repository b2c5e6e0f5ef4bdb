//! Sessions that are opened: a second time, after their handle was dropped, with a long history, by an agent of another version.

use super::hostile::{prompt, question, reasons, stage, turn, usual, words};
use super::player::{Player, config, connect, pipe};
use pollux_agent::acp::{Agent, Config, Open, Plain, Prompt, Session};
use pollux_agent::model::{EventKind, Phase};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

#[tokio::test]
async fn a_session_that_somebody_hears_is_not_opened_a_second_time() {
    let (mut player, agent, session) = stage().await;
    let again = agent.open(Open::new("/").load("s")).await.unwrap_err();
    assert_eq!(again.code, "already_open");
    // An agent that gives the same id twice does not take the first one away either.
    let answers = async {
        let new = player.hears_request("session/new").await;
        player.answers(&new, json!({ "sessionId": "s" })).await;
    };
    let ((), again) = tokio::join!(answers, agent.open(Open::new("/")));
    assert_eq!(again.unwrap_err().code, "already_open");
    drop(session);
    let answers = async {
        let load = player.hears_request("session/load").await;
        player.answers(&load, json!({})).await;
    };
    let ((), again) = tokio::join!(answers, agent.open(Open::new("/").load("s")));
    again.unwrap();
}

/// An agent of which nothing is known: the history of its sessions is what it repeats.
fn plain() -> Config {
    let mut config = config();
    config.dialect = Arc::new(Plain);
    config
}

/// The words of a loaded session that is told `count` updates before the load is answered, and the notices.
async fn repeated(count: usize) -> (usize, Vec<String>) {
    let (mut player, ours) = pipe();
    let agent = async {
        let hello = player.hears_request("initialize").await;
        player.answers(&hello, json!({ "protocolVersion": 1 })).await;
        let load = player.hears_request("session/load").await;
        for _ in 0..count {
            player.updates("s", words("again ")).await;
        }
        player.answers(&load, json!({})).await;
    };
    let client = async {
        let agent = connect(plain(), ours).await.unwrap();
        let session = agent.open(Open::new("/").load("s")).await.unwrap();
        (agent, session)
    };
    let ((), (_agent, mut session)) = tokio::join!(agent, client);
    drop(player);
    let (mut told, mut notices) = (0, Vec::new());
    while let Some(event) = session.next().await {
        match event.kind {
            EventKind::TextGrew { .. } => told += 1,
            EventKind::Notice { text, .. } => notices.push(text),
            _ => {}
        }
    }
    (told, notices)
}

#[tokio::test]
async fn a_history_that_is_repeated_before_the_load_is_answered_is_told_whole() {
    assert_eq!(repeated(1000).await, (1000, Vec::new()));
}

#[tokio::test]
async fn of_a_history_that_is_too_long_it_is_said_that_there_is_more() {
    let (told, notices) = repeated(10_100).await;
    assert_eq!((told, notices.len()), (10_000, 1), "{notices:?}");
}

/// Loads the session `s` again; the agent repeats one update before it answers.
async fn reload(player: &mut Player, agent: &Agent) -> Session {
    let answers = async {
        let load = player.hears_request("session/load").await;
        player.updates("s", words("from before")).await;
        player.answers(&load, json!({})).await;
    };
    let ((), session) = tokio::join!(answers, agent.open(Open::new("/").load("s")));
    session.unwrap()
}

#[tokio::test]
async fn a_session_whose_handle_was_dropped_is_not_in_the_way_when_it_is_loaded_again() {
    let (mut player, ours) = pipe();
    let mut config = plain();
    // Whatever is taken for the answer to a prompt ends its turn at once.
    config.budgets.quiet = Duration::ZERO;
    let client = async {
        let agent = connect(config, ours).await.unwrap();
        let session = agent.open(Open::new("/")).await.unwrap();
        (agent, session)
    };
    let ((), (agent, session)) = tokio::join!(player.opens("s"), client);
    let old = prompt(&session, &mut player).await;
    drop(session);
    let mut session = reload(&mut player, &agent).await;
    session.control().prompt(Prompt::text("go on")).await.unwrap();
    let new = player.hears_request("session/prompt").await;
    player.answers(&old, json!({ "stopReason": "cancelled" })).await;
    player.updates("s", words("still here")).await;
    player.answers(&new, json!({ "stopReason": "end_turn" })).await;
    let events = turn(&mut session).await;
    assert_eq!(session.outcome().unwrap().text, "still here");
    assert_eq!(reasons(&events), [""; 0]);
    let is_before = |kind: &EventKind<'_>| matches!(kind, EventKind::TextGrew { text, .. } if *text == *"from before");
    assert!(events.iter().any(|event| is_before(&event.kind)), "{events:#?}");
}

async fn answer_to(id: u64, player: &mut Player) -> Value {
    loop {
        let message = player.hears().await.expect("the client is there");
        if message["id"] == id {
            return message;
        }
    }
}

#[tokio::test]
async fn a_question_of_a_session_that_nobody_hears_is_cancelled_before_and_after_it_was_asked() {
    for dropped_first in [true, false] {
        let (mut player, _agent, mut session) = stage().await;
        prompt(&session, &mut player).await;
        if dropped_first {
            drop(session);
            player.says(&question(7, &usual())).await;
        } else {
            player.says(&question(7, &usual())).await;
            while !matches!(session.next().await.unwrap().kind, EventKind::Asked(_)) {}
            drop(session);
        }
        let answer = tokio::time::timeout(Duration::from_secs(10), answer_to(7, &mut player)).await;
        let answer = answer.expect("somebody answers it");
        assert_eq!(answer["result"]["outcome"]["outcome"], "cancelled");
    }
}

#[tokio::test]
async fn an_agent_that_speaks_another_version_of_the_protocol_is_a_typed_error() {
    for (said, code) in [
        (json!({ "protocolVersion": 2 }), Some("other_protocol")),
        (json!({ "protocolVersion": 1 }), None),
        (json!({}), None),
    ] {
        let (mut player, ours) = pipe();
        let answers = async {
            let hello = player.hears_request("initialize").await;
            player.answers(&hello, said.clone()).await;
        };
        let ((), agent) = tokio::join!(answers, connect(config(), ours));
        let failure = agent.err();
        assert_eq!(failure.as_ref().map(|failure| failure.code), code, "{said}");
        assert!(failure.is_none_or(|failure| failure.phase == Phase::Handshake));
    }
}
