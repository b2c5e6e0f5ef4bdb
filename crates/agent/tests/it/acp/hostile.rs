//! Agents that mean no good, or are broken: an event, never a panic, never memory without end.

use super::player::{Player, config, connect, pipe};
use pollux_agent::acp::{Agent, Beside, Dialect, Done, Open, Policy, Prompt, Session};
use pollux_agent::model::{Event, EventKind, Message, Mode, Phase, Status, StopReason};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// A player that has opened a session, and the client with it.
pub(super) async fn stage() -> (Player, Agent, Session) {
    let (mut player, ours) = pipe();
    let client = async {
        let agent = connect(config(), ours).await.unwrap();
        let session = agent.open(Open::new("/")).await.unwrap();
        (agent, session)
    };
    let ((), (agent, session)) = tokio::join!(player.opens("s"), client);
    (player, agent, session)
}

pub(super) async fn prompt(session: &Session, player: &mut Player) -> Value {
    session.control().prompt(Prompt::text("hello")).await.unwrap();
    player.hears_request("session/prompt").await
}

/// The events of a turn to its end.
pub(super) async fn turn(session: &mut Session) -> Vec<Event<'static>> {
    let mut events = Vec::new();
    while let Some(event) = session.next().await {
        let ended = matches!(event.kind, EventKind::TurnEnded { .. });
        events.push(event);
        if ended {
            break;
        }
    }
    events
}

pub(super) fn reasons(events: &[Event<'_>]) -> Vec<String> {
    let reasons = events.iter().filter_map(|event| match &event.kind {
        EventKind::Unread { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    reasons.collect()
}

pub(super) fn words(text: &str) -> Value {
    json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } })
}

#[tokio::test]
async fn noise_is_told_and_the_turn_goes_on() {
    let (mut player, _agent, mut session) = stage().await;
    let request = prompt(&session, &mut player).await;
    for noise in [
        "Loaded cached credentials.",
        "17",
        "[1,2]",
        "null",
        "{\"id\":1",
        "{\"jsonrpc\":\"2.0\"}",
        "{\"id\":9999,\"result\":{}}",
        "{\"id\":\"abc\",\"result\":{}}",
        "{\"id\":{\"a\":1},\"error\":[]}",
        "{\"method\":\"session/update\"}",
        "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"other\",\"update\":{}}}",
        "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"dance\"}}}",
        "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":5}}",
        "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"tool_call\"}}}",
        "{\"method\":\"who/knows\",\"params\":{}}",
    ] {
        player.says(noise).await;
    }
    player.writes(b"\xff\xfe not UTF-8 \x00\n").await;
    player.writes(b"\r\n\n").await;
    player.updates("s", words("still here")).await;
    player.answers(&request, json!({ "stopReason": "end_turn" })).await;
    let events = turn(&mut session).await;
    assert_eq!(reasons(&events).len(), 16, "{:#?}", reasons(&events));
    assert_eq!(session.outcome().unwrap().text, "still here");
}

#[tokio::test]
async fn an_answer_that_comes_twice_ends_one_turn() {
    let (mut player, _agent, mut session) = stage().await;
    let request = prompt(&session, &mut player).await;
    player.updates("s", words("one")).await;
    player.answers(&request, json!({ "stopReason": "end_turn" })).await;
    player.answers(&request, json!({ "stopReason": "cancelled" })).await;
    let events = turn(&mut session).await;
    let EventKind::TurnEnded { stop_reason, .. } = &events.last().unwrap().kind else {
        panic!("the turn ends")
    };
    assert_eq!(*stop_reason, StopReason::EndTurn);
    assert_eq!(reasons(&events), ["a response without a matching request"]);
}

#[tokio::test]
async fn a_huge_frame_is_cut_and_deep_nesting_is_read_over() {
    let (mut player, _agent, mut session) = stage().await;
    let request = prompt(&session, &mut player).await;
    let feed = async {
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..70 {
            assert!(player.writes(&piece).await);
        }
        player.says("").await;
        let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
        let update = format!("{{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{deep}}}");
        let params = format!("{{\"sessionId\":\"s\",\"update\":{update}}}");
        player.says(&format!("{{\"method\":\"session/update\",\"params\":{params}}}")).await;
        player.updates("s", words("fine")).await;
        player.answers(&request, json!({ "stopReason": "end_turn" })).await;
    };
    let (events, ()) = tokio::join!(turn(&mut session), feed);
    let reasons = reasons(&events);
    assert!(reasons.contains(&"the line is too long".to_owned()), "{reasons:?}");
    let shown = events.iter().filter_map(|event| match &event.kind {
        EventKind::Unread { text, reason, .. } if reason == "the line is too long" => {
            Some(text.len())
        }
        _ => None,
    });
    assert!(shown.max().unwrap() < 10_000, "a line of 70 MB is not told whole");
    assert_eq!(session.outcome().unwrap().text, "fine");
}

#[tokio::test]
async fn a_reader_who_sleeps_slows_the_agent_and_nothing_is_lost() {
    let (mut player, _agent, mut session) = stage().await;
    let request = prompt(&session, &mut player).await;
    let mut said = 0_u32;
    // Nobody reads: at some point the pipe is full, and the agent has to wait.
    while let Ok(()) = tokio::time::timeout(
        Duration::from_millis(300),
        player.updates("s", words(&format!("{said} "))),
    )
    .await
    {
        said += 1;
        assert!(said < 20_000, "nothing holds the agent back");
    }
    // Orders are heard all the same.
    let busy = session.control().prompt(Prompt::text("more")).await.unwrap_err();
    assert_eq!(busy.code, "busy");
    let finish = async {
        // The line that did not fit was cut off in its middle: it is noise now.
        player.says("").await;
        player.answers(&request, json!({ "stopReason": "end_turn" })).await;
    };
    let (events, ()) = tokio::join!(turn(&mut session), finish);
    let text: String = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::TextGrew { text, .. } => Some(text.to_string()),
            _ => None,
        })
        .collect();
    let all: Vec<String> = (0..said).map(|number| format!("{number} ")).collect();
    assert!(text.starts_with(&all.concat()), "what was said before is all there");
}

#[tokio::test]
async fn an_agent_that_never_answers_spends_its_budget_by_name() {
    let (mut player, ours) = pipe();
    let mut config = config();
    config.budgets.start = Duration::from_millis(100);
    config.budgets.control = Duration::from_millis(150);
    let failure = connect(config.clone(), ours).await.unwrap_err();
    assert_eq!((failure.phase, failure.code), (Phase::Budget, "start_timeout"));
    assert!(failure.message.contains("initialize") && failure.message.contains("start limit"));
    drop(player.hears().await);

    // Who answers at first has all the time for that, however busy the machine is.
    config.budgets.start = Duration::from_secs(5);
    let (mut player, ours) = pipe();
    let silent = async {
        let hello = player.hears_request("initialize").await;
        player.answers(&hello, json!({ "protocolVersion": 1 })).await;
        player.hears_request("session/new").await
    };
    let client = async {
        let agent = connect(config, ours).await.unwrap();
        agent.open(Open::new("/")).await.unwrap_err()
    };
    let (_, failure) = tokio::join!(silent, client);
    assert_eq!((failure.phase, failure.code), (Phase::Budget, "control_timeout"));
    assert!(failure.message.contains("session/new"), "{}", failure.message);
}

/// What is beside the protocol never has all that was said.
#[derive(Debug)]
struct Behind;

impl Dialect for Behind {
    fn beside(&self, _: &str) -> Box<dyn Beside> {
        Box::new(Self)
    }
}

impl Beside for Behind {
    fn begin(&mut self, _: &mut Vec<Event<'static>>) {}

    fn event(&mut self, event: Event<'static>, out: &mut Vec<Event<'static>>) {
        out.push(event);
    }

    fn look(&mut self, _: &mut Vec<Event<'static>>) {}

    fn is_settled(&self) -> bool {
        false
    }

    fn end(&mut self, _: Done, _: &mut Vec<Event<'static>>) {}

    fn messages(&self) -> Vec<Message<'static>> {
        Vec::new()
    }
}

#[tokio::test]
async fn a_turn_that_was_stopped_does_not_wait_for_what_is_written_down_nowhere() {
    let (mut player, ours) = pipe();
    let mut config = config();
    config.budgets.quiet_cap = Duration::from_mins(5);
    config.dialect = Arc::new(Behind);
    let client = async {
        let agent = connect(config, ours).await.unwrap();
        let session = agent.open(Open::new("/")).await.unwrap();
        (agent, session)
    };
    let ((), (_agent, mut session)) = tokio::join!(player.opens("s"), client);
    let request = prompt(&session, &mut player).await;
    player.updates("s", words("half of an")).await;
    session.control().cancel().await.unwrap();
    player.answers(&request, json!({ "stopReason": "cancelled" })).await;
    let events = tokio::time::timeout(Duration::from_mins(1), turn(&mut session)).await.unwrap();
    let Some(EventKind::TurnEnded { stop_reason, .. }) = events.last().map(|event| &event.kind)
    else {
        panic!("{events:#?}")
    };
    assert_eq!(*stop_reason, StopReason::Cancelled);
}

#[tokio::test]
async fn a_cancel_that_nobody_hears_ends_the_turn_within_its_bound_and_the_session_is_stuck() {
    let (mut player, _agent, mut session) = stage().await;
    prompt(&session, &mut player).await;
    session.control().cancel().await.unwrap();
    let events = turn(&mut session).await;
    let EventKind::TurnEnded { stop_reason, .. } = &events.last().unwrap().kind else {
        panic!("the turn ends")
    };
    assert_eq!(*stop_reason, StopReason::Cancelled);
    let refused = session.control().prompt(Prompt::text("again")).await.unwrap_err();
    assert_eq!(refused.code, "stuck");
}

pub(super) fn question(id: u64, options: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": {
        "sessionId": "s",
        "toolCall": { "toolCallId": "run_shell_command-1", "kind": "execute", "title": "rm -rf /" },
        "options": options,
    } })
    .to_string()
}

pub(super) fn usual() -> Value {
    json!([
        { "optionId": "proceed_always", "name": "Allow", "kind": "allow_always" },
        { "optionId": "proceed_once", "name": "Always!", "kind": "allow_once" },
        { "optionId": "cancel", "name": "Reject", "kind": "reject_once" },
    ])
}

#[tokio::test]
async fn auto_is_once_whatever_is_listed_first_and_no_option_is_no_yes() {
    let (mut player, ours) = pipe();
    let client = async {
        let agent = connect(config().policy(Policy::Auto), ours).await.unwrap();
        let session = agent.open(Open::new("/")).await.unwrap();
        (agent, session)
    };
    let ((), (_agent, mut session)) = tokio::join!(player.opens("s"), client);
    let request = prompt(&session, &mut player).await;
    player.says(&question(1, &usual())).await;
    let answer = player.hears().await.unwrap();
    assert_eq!(answer["result"]["outcome"]["optionId"], "proceed_once");
    for odd in [
        json!([]),
        json!("yes"),
        json!([{ "optionId": "x", "kind": "allow_always" }]),
        json!([5, null]),
    ] {
        player.says(&question(2, &odd)).await;
        let answer = player.hears().await.unwrap();
        assert_eq!(answer["result"]["outcome"]["outcome"], "cancelled");
    }
    player.says("{\"id\":3,\"method\":\"session/request_permission\",\"params\":{\"sessionId\":\"who\"}}").await;
    assert_eq!(player.hears().await.unwrap()["error"]["code"], -32602);
    player.says("{\"id\":4,\"method\":\"terminal/create\",\"params\":{}}").await;
    assert_eq!(player.hears().await.unwrap()["error"]["code"], -32601);
    player
        .says("{\"id\":5,\"method\":\"fs/read_text_file\",\"params\":{\"path\":\"/etc/passwd\"}}")
        .await;
    assert_eq!(player.hears().await.unwrap()["error"]["code"], -32601, "files are off");
    player.answers(&request, json!({ "stopReason": "end_turn" })).await;
    turn(&mut session).await;
}

#[tokio::test]
async fn the_first_answer_wins_and_the_second_is_told_what_holds() {
    let (mut player, _agent, mut session) = stage().await;
    let request = prompt(&session, &mut player).await;
    player.says(&question(7, &usual())).await;
    loop {
        let event = session.next().await.unwrap();
        if let EventKind::Asked(question) = &event.kind {
            assert_eq!(question.id.to_str(), "q1");
            break;
        }
    }
    let control = session.control();
    let wrong = control.answer("q1", "proceed_forever", None).await.unwrap_err();
    assert_eq!(wrong.code, "unknown_choice");
    control.answer("q1", "cancel", Some("not on this machine".to_owned())).await.unwrap();
    let second = control.answer("q1", "proceed_once", None).await.unwrap_err();
    assert_eq!(second.code, "answered_already");
    assert!(second.message.contains("cancel"), "{}", second.message);
    assert_eq!(control.answer("q9", "cancel", None).await.unwrap_err().code, "unknown_question");
    assert_eq!(player.hears().await.unwrap()["result"]["outcome"]["optionId"], "cancel");
    player.updates("s", words("Very well.")).await;
    player.answers(&request, json!({ "stopReason": "end_turn" })).await;
    // Why is the next thing that the agent is told.
    let more = player.hears_request("session/prompt").await;
    assert_eq!(more["params"]["prompt"][0]["text"], "not on this machine");
    player.answers(&more, json!({ "stopReason": "end_turn" })).await;
    let events = turn(&mut session).await;
    let cancelled = events
        .iter()
        .any(|event| matches!(&event.kind, EventKind::ToolEnded { status: Status::Cancelled, .. }));
    assert!(cancelled, "a rejected call has its end");
}

#[tokio::test]
async fn a_cancel_answers_open_questions_first() {
    let (mut player, _agent, mut session) = stage().await;
    let request = prompt(&session, &mut player).await;
    player.says(&question(7, &usual())).await;
    while !matches!(session.next().await.unwrap().kind, EventKind::Asked(_)) {}
    session.control().cancel().await.unwrap();
    let first = player.hears().await.unwrap();
    assert_eq!(first["result"]["outcome"]["outcome"], "cancelled");
    assert_eq!(player.hears().await.unwrap()["method"], "session/cancel");
    // An agent that asks once more gets the same answer.
    player.says(&question(8, &usual())).await;
    assert_eq!(player.hears().await.unwrap()["result"]["outcome"]["outcome"], "cancelled");
    player.answers(&request, json!({ "stopReason": "cancelled" })).await;
    let events = turn(&mut session).await;
    let EventKind::TurnEnded { stop_reason, .. } = &events.last().unwrap().kind else {
        panic!("the turn ends")
    };
    assert_eq!(*stop_reason, StopReason::Cancelled);
}

#[tokio::test]
async fn whoever_waits_for_a_mode_hears_that_the_agent_refused_it() {
    let (mut player, ours) = pipe();
    let client = async {
        let agent = connect(config(), ours).await.unwrap();
        let session = agent.open(Open::new("/")).await.unwrap();
        (agent, session)
    };
    let opens = async {
        let hello = player.hears_request("initialize").await;
        player.answers(&hello, json!({ "protocolVersion": 1 })).await;
        let new = player.hears_request("session/new").await;
        let modes = json!({ "availableModes": [{ "id": "yolo" }], "currentModeId": "default" });
        player.answers(&new, json!({ "sessionId": "s", "modes": modes })).await;
    };
    let ((), (_agent, mut session)) = tokio::join!(opens, client);
    let answers = async {
        let request = player.hears_request("session/set_mode").await;
        let error = json!({ "code": -32603, "message": "The folder is not trusted." });
        player.says(&json!({ "id": request["id"], "error": error }).to_string()).await;
        let request = player.hears_request("session/set_mode").await;
        player.answers(&request, json!({})).await;
    };
    let control = session.control();
    let asks = async {
        let refused = control.change_mode(Mode::Yolo).await.unwrap_err();
        assert!(refused.message.contains("not trusted"), "{refused}");
        assert_eq!(control.change_mode(Mode::Plan).await.unwrap_err().code, "no_such_mode");
        assert_eq!(control.change_model("pro").await.unwrap_err().code, "no_models");
        control.change_mode(Mode::Yolo).await.unwrap();
    };
    tokio::join!(answers, asks);
    loop {
        match session.next().await.unwrap().kind {
            EventKind::Notice { text, .. } => panic!("only who asked is told: {text}"),
            EventKind::SessionChanged(change) if change.mode == Some(Mode::Yolo) => break,
            _ => {}
        }
    }
}

#[tokio::test]
async fn an_agent_that_goes_away_in_a_turn_is_a_typed_error() {
    let (mut player, _agent, mut session) = stage().await;
    prompt(&session, &mut player).await;
    player.updates("s", words("I was about to")).await;
    drop(player);
    let events = turn(&mut session).await;
    let EventKind::TurnEnded { error, .. } = &events.last().unwrap().kind else {
        panic!("the turn ends")
    };
    assert_eq!(error.as_ref().unwrap().phase, Phase::Response);
    let mut last = None;
    while let Some(event) = session.next().await {
        last = Some(event);
    }
    assert!(matches!(last.unwrap().kind, EventKind::SessionEnded { .. }));
    assert_eq!(session.control().prompt(Prompt::text("x")).await.unwrap_err().code, "agent_gone");
}

#[tokio::test]
async fn an_empty_prompt_is_refused_before_it_is_sent() {
    let (_player, _agent, session) = stage().await;
    for empty in ["", "  \n\t"] {
        assert_eq!(
            session.control().prompt(Prompt::text(empty)).await.unwrap_err().code,
            "no_prompt"
        );
    }
}

#[tokio::test]
async fn whatever_stands_for_an_id_the_other_side_gets_its_answer() {
    let (mut player, _agent, mut session) = stage().await;
    for id in ["\"N\"", "N.0", "N"] {
        let request = prompt(&session, &mut player).await;
        player.says(&question(7, &usual()).replace("\"id\":7", "\"id\":null")).await;
        let event = loop {
            let event = session.next().await.unwrap();
            if let EventKind::Asked(question) = event.kind {
                break question;
            }
        };
        session.control().answer(event.id.to_str(), "cancel", None).await.unwrap();
        let answer = player.hears().await.unwrap();
        assert!(answer["id"].is_null(), "{answer}");
        assert_eq!(answer["result"]["outcome"]["optionId"], "cancel");
        let id = id.replace('N', &request["id"].to_string());
        player.says(&format!(r#"{{"id":{id},"result":{{"stopReason":"end_turn"}}}}"#)).await;
        let events = turn(&mut session).await;
        assert_eq!(reasons(&events), [""; 0], "{id}");
    }
}

#[tokio::test]
async fn what_editors_draw_is_no_noise_and_a_null_makes_no_request_of_what_is_told() {
    let (mut player, _agent, mut session) = stage().await;
    let request = prompt(&session, &mut player).await;
    player.updates("s", json!({ "sessionUpdate": "plan", "entries": [] })).await;
    player.updates("s", json!({ "sessionUpdate": "usage_update", "used": 1, "size": 2 })).await;
    let params = json!({ "sessionId": "s", "update": words("Hello.") });
    let line = json!({ "id": null, "method": "session/update", "params": params });
    player.says(&line.to_string()).await;
    player.answers(&request, json!({ "stopReason": "end_turn" })).await;
    let events = turn(&mut session).await;
    assert_eq!(reasons(&events), [""; 0]);
    assert!(events.iter().any(|event| matches!(event.kind, EventKind::TextGrew { .. })));
}

#[tokio::test]
async fn an_update_that_is_not_known_is_told_but_not_whole_where_it_is_long() {
    let (mut player, _agent, mut session) = stage().await;
    let request = prompt(&session, &mut player).await;
    player.updates("s", json!({ "sessionUpdate": "dance", "steps": "x".repeat(20_000) })).await;
    player.answers(&request, json!({ "stopReason": "end_turn" })).await;
    let events = turn(&mut session).await;
    let text = events.iter().find_map(|event| match &event.kind {
        EventKind::Unread { text, .. } => Some(text),
        _ => None,
    });
    assert_eq!(text.unwrap().chars().count(), 2001, "the rest is an ellipsis");
}
