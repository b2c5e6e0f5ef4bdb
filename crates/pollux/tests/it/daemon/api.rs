//! The API, by a real client: what the document says is what is served.

use super::house::{House, is_idle, settings, subscribe};
use super::told::question;
use super::told::{Stagehand, grew, turn_ended};
use pollux_agent::model::{EventKind, SessionChange, SessionStatus};
use pollux_agent::session::Order;
use reqwest::Method;
use serde_json::{Value, json};

async fn house() -> (Stagehand, House, String) {
    let hand = Stagehand::default();
    let house = House::open(hand.agents()).await;
    let id = house.begin(json!({ "cwd": house.directory.path() })).await;
    super::house::wait_until("the agent is there", || hand.is_there(&id)).await;
    (hand, house, id)
}

/// Those that stand in the path are of the path; the others are of the query.
fn parameters_are_where_they_say(path: &str, operation: &Value) {
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap();
        let place = if path.contains(&format!("{{{name}}}")) { "path" } else { "query" };
        assert_eq!(parameter["in"], place, "{path}: {name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_of_the_document_answers_as_it_says() {
    let (_, house, id) = house().await;
    let document = house.get("/api/v1/openapi.json").await;
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() > 15, "{}", paths.len());
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().unwrap() {
            if path.ends_with("/shutdown") || path.ends_with("/ws") || path.ends_with("/stream") {
                continue;
            }
            parameters_are_where_they_say(path, operation);
            let real = path.replace("{id}", &id).replace("{seq}", "1");
            let here = house.directory.path().display();
            let real = match path.as_str() {
                "/api/v1/search" => format!("{real}?q=x"),
                "/api/v1/files" => format!("{real}?cwd={here}"),
                "/api/v1/projects/browse" => format!("{real}?path={here}"),
                _ => real,
            };
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let answer =
                house.request(method.clone(), &real).json(&json!({})).send().await.unwrap();
            let status = answer.status().as_u16();
            let known = operation["responses"].get(status.to_string()).is_some();
            // A body that is not what the document says is turned away as such.
            assert!(known || status == 422 || status == 404, "{method} {path} gives {status}");
            assert!(status < 500, "{method} {path} gives {status}");
            let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
            assert!(kind.starts_with("application/json"), "{method} {path}: {kind}");
        }
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retried_command_runs_once_also_over_a_restart() {
    let (hand, house, id) = house().await;
    let prompt = json!({ "type": "prompt", "text": "hello" });
    for _ in 0..3 {
        let (status, answer) = house.command(&id, "c1", prompt.clone()).await;
        assert_eq!((status, &answer["reply"]["done"]["done"]), (200, &json!("sent")));
    }
    assert_eq!(hand.told(), [Order::prompt("hello")]);
    let begin = json!({ "cwd": house.directory.path(), "client_id": "b1" });
    let first = house.begin(begin.clone()).await;
    assert_eq!(house.begin(begin.clone()).await, first);
    let directory = house.close().await;
    let house = House::with(directory, hand.agents(), &settings()).await;
    assert_eq!(house.begin(begin).await, first, "after a restart too");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_request_many_times_at_once_begins_one_session_and_prompts_it_once() {
    let (hand, house, _) = house().await;
    let body = json!({ "cwd": house.directory.path(), "client_id": "tap", "prompt": "go" });
    let taps = (0..8).map(|_| house.post("/api/v1/sessions", body.clone()));
    let begun: Vec<(u16, Value)> = futures::future::join_all(taps).await;
    let id = begun[0].1["id"].as_str().unwrap();
    for (status, summary) in &begun {
        assert_eq!((*status, summary["id"].as_str()), (201, Some(id)), "{summary}");
    }
    super::house::wait_until("the prompt", || !hand.told().is_empty()).await;
    assert_eq!(hand.told().len(), 1, "{:?}", hand.told());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_again_for_a_session_that_was_begun_and_not_prompted_has_it_prompted() {
    let (hand, house, _) = house().await;
    // As far as a daemon came that was killed.
    let half = json!({ "cwd": house.directory.path(), "client_id": "tap" });
    let id = house.begin(half).await;
    let whole = json!({ "cwd": house.directory.path(), "client_id": "tap", "prompt": "go" });
    assert_eq!(house.begin(whole).await, id);
    super::house::wait_until("the prompt", || !hand.told().is_empty()).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_gone_on_with_while_others_look_at_it_has_one_agent() {
    let (hand, house, id) = house().await;
    let feed = house.api.hub.feed(&id).unwrap().1;
    let is = |status| feed.summary().status == status;
    for round in 0..10 {
        hand.say(&id, EventKind::SessionEnded { reason: "gone".into() }).await;
        super::house::wait_until("its end", || is(SessionStatus::Exited)).await;
        let resume = json!({ "cwd": house.directory.path(), "resume": id });
        let page = format!("/api/v1/sessions/{id}/messages");
        let looks = futures::future::join_all((0..8).map(|_| house.get(&page)));
        let again = futures::future::join_all(
            (0..2).map(|_| house.post("/api/v1/sessions", resume.clone())),
        );
        let (_, begun) = futures::join!(looks, again);
        let mut outcomes: Vec<u16> = begun.iter().map(|(status, _)| *status).collect();
        outcomes.sort_unstable();
        assert_eq!(outcomes, [201, 409], "once: {begun:?}");
        let prompt = json!({ "type": "prompt", "text": "go" });
        assert_eq!(house.command(&id, &format!("c{round}"), prompt).await.0, 200);
        super::house::wait_until("the prompt", || hand.told().len() == round + 1).await;
        hand.say(&id, turn_ended()).await;
        super::house::wait_until("the end of the turn", || is(SessionStatus::Idle)).await;
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_whose_agent_died_before_its_turn_began_is_told_and_runs_once_when_gone_on_with() {
    let (hand, house, id) = house().await;
    let feed = house.api.hub.feed(&id).unwrap().1;
    let doubted = |text: &str| Order::Prompt { text: text.into(), images: Vec::new(), doubt: true };
    let prompt = json!({ "type": "prompt", "text": "one" });
    assert_eq!(house.command(&id, "c1", prompt).await.0, 200);
    super::house::wait_until("it is handed over", || hand.told().len() == 1).await;
    hand.dies(&id);
    let gone = || feed.summary().status == SessionStatus::Exited;
    super::house::wait_until("its end", gone).await;
    let waits = json!([{ "id": "c1", "text": "one", "by": "owner", "doubt": true }]);
    let summary = house.get(&format!("/api/v1/sessions/{id}")).await;
    assert_eq!((&summary["queue"], &summary["held"]), (&waits, &json!(true)));
    let page = house.get(&format!("/api/v1/sessions/{id}/events")).await;
    let told = page["events"].as_array().unwrap().last().unwrap()["event"].clone();
    assert!(told["text"].as_str().unwrap().contains("exited before it started a prompt"), "{told}");
    // Gone on with, and nobody says that it shall run: it waits still.
    let mut resume = json!({ "cwd": house.directory.path(), "resume": id });
    assert_eq!(house.post("/api/v1/sessions", resume.clone()).await.0, 201);
    super::house::wait_until("the agent is there", || hand.is_there(&id)).await;
    let is_idle = || feed.summary().status == SessionStatus::Idle;
    super::house::wait_until("it is idle", is_idle).await;
    assert_eq!((hand.told().len(), feed.summary().queue.len()), (1, 1));
    hand.dies(&id);
    super::house::wait_until("its end", gone).await;
    // Gone on with by somebody who says something: first what was there first.
    resume["prompt"] = json!("two");
    assert_eq!(house.post("/api/v1/sessions", resume).await.0, 201);
    super::house::wait_until("it is handed over again", || hand.told().len() == 2).await;
    hand.say(&id, EventKind::TurnStarted { prompt: "one".into() }).await;
    hand.say(&id, turn_ended()).await;
    super::house::wait_until("the next one", || hand.told().len() == 3).await;
    assert_eq!(hand.told(), [Order::prompt("one"), doubted("one"), Order::prompt("two")]);
    hand.say(&id, turn_ended()).await;
    super::house::wait_until("it is idle", is_idle).await;
    assert!(feed.summary().queue.is_empty());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_gone_on_with_has_the_model_that_is_asked_for_now() {
    let (hand, house, id) = house().await;
    let feed = house.api.hub.feed(&id).unwrap().1;
    let change = SessionChange { model: Some("before".into()), ..SessionChange::default() };
    hand.say(&id, EventKind::SessionChanged(change)).await;
    hand.say(&id, EventKind::SessionEnded { reason: "gone".into() }).await;
    let gone = || feed.summary().status == SessionStatus::Exited;
    super::house::wait_until("its end", gone).await;
    assert_eq!(feed.summary().model.as_deref(), Some("before"));
    let resume = json!({ "cwd": house.directory.path(), "resume": id, "model": "now" });
    let (status, summary) = house.post("/api/v1/sessions", resume).await;
    assert_eq!((status, &summary["model"]), (201, &json!("now")), "{summary}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_question_is_there_for_whoever_comes_and_is_answered_once() {
    let (hand, house, id) = house().await;
    hand.say(&id, EventKind::TurnStarted { prompt: "x".into() }).await;
    hand.say(&id, question("run `ls`?")).await;
    let mut socket = house.socket().await;
    socket.say(subscribe(&id)).await;
    let waiting = |frame: &Value| frame["session"]["status"] == "waiting";
    let frames = socket.until(waiting).await;
    let open = frames.last().unwrap()["session"]["questions"][0].clone();
    assert_eq!(open["question"]["text"], "run `ls`?");
    assert_eq!(house.get("/api/v1/questions").await["questions"][0]["session_id"], id);
    let answer = |choice: &str, shown: &Value| json!({ "type": "answer", "question_id": "q1", "choice": choice, "shown": shown });
    let (status, problem) = house.command(&id, "a0", answer("yes", &json!("0"))).await;
    assert_eq!((status, &problem["code"]), (409, &json!("shown_differs")));
    let (status, _) = house.command(&id, "a1", answer("yes", &open["shown"])).await;
    assert_eq!(status, 200);
    let (status, late) = house.command(&id, "a2", answer("no", &open["shown"])).await;
    assert_eq!((status, &late["reply"]["done"]["choice"]), (200, &json!("yes")));
    assert_eq!(late["reply"]["done"]["yours"], false);
    let answers = hand.told().iter().filter(|order| matches!(order, Order::Answer { .. })).count();
    assert_eq!(answers, 1);
    let audit = house.get("/api/v1/audit").await;
    let entries = audit["entries"].as_array().unwrap();
    let first = entries.iter().rfind(|entry| entry["action"] == "answer").unwrap();
    assert_eq!(first["detail"]["hash"], open["shown"], "the audit log has what was shown");
    assert_eq!(first["device"], "owner");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_waits_in_the_queue_and_can_be_changed_and_taken_back() {
    let (hand, house, id) = house().await;
    let prompt = |text: &str| json!({ "type": "prompt", "text": text });
    house.command(&id, "c1", prompt("one")).await;
    let (_, queued) = house.command(&id, "c2", prompt("two")).await;
    assert_eq!(queued["reply"]["done"], json!({ "done": "queued", "id": "c2", "before": 0 }));
    house.command(&id, "c3", prompt("three")).await;
    house.command(&id, "c4", json!({ "type": "edit", "queued": "c2", "text": "zwei" })).await;
    house.command(&id, "c5", json!({ "type": "cancel", "queued": "c3" })).await;
    let summary = house.get(&format!("/api/v1/sessions/{id}")).await;
    assert_eq!(summary["queue"], json!([{ "id": "c2", "text": "zwei", "by": "owner" }]));
    hand.say(&id, turn_ended()).await;
    super::house::wait_until("the next prompt is sent", || hand.told().len() == 2).await;
    assert_eq!(hand.told()[1], Order::prompt("zwei"));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_of_one_connection_wait_in_the_order_in_which_they_were_sent() {
    let (hand, house, id) = house().await;
    hand.say(&id, EventKind::TurnStarted { prompt: "x".into() }).await;
    let mut socket = house.socket().await;
    socket.say(subscribe(&id)).await;
    socket.until(|frame| frame["session"]["status"] == "working").await;
    for round in 0..5 {
        let names: Vec<String> = (0..30).map(|n| format!("{round}.{n}")).collect();
        for name in &names {
            let command = json!({ "type": "prompt", "text": name });
            let frame =
                json!({ "type": "command", "id": name, "session_id": id, "command": command });
            socket.say(frame).await;
        }
        let last = names.last().unwrap();
        socket.until(|frame| frame["type"] == "result" && frame["id"] == *last).await;
        let summary = house.get(&format!("/api/v1/sessions/{id}")).await;
        let queue = summary["queue"].as_array().unwrap();
        let waits: Vec<&str> = queue.iter().map(|one| one["text"].as_str().unwrap()).collect();
        assert_eq!(waits, names);
        for name in &names {
            let cancel = json!({ "type": "cancel", "queued": name });
            house.command(&id, &format!("{name} back"), cancel).await;
        }
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_text_is_cut_says_so_and_is_fetched_by_page() {
    let (hand, house, id) = house().await;
    let text = "ä".repeat(200_000);
    hand.say(&id, grew(text.clone())).await;
    let mut socket = house.socket().await;
    socket.say(subscribe(&id)).await;
    let path = format!("/api/v1/sessions/{id}/events");
    super::house::wait_until("it is written", || house.api.hub.feed(&id).unwrap().1.head().0 == 1)
        .await;
    let page = house.get(&path).await;
    let event = &page["events"][0];
    assert_eq!(event["cut"], json!([["/text", 400_000]]));
    assert!(event.to_string().len() < 10_000);
    let (mut whole, mut offset) = (String::new(), 0);
    loop {
        let piece = house.get(&format!("{path}/1?path=/text&offset={offset}")).await;
        whole.push_str(piece["text"].as_str().unwrap());
        match piece["next"].as_u64() {
            Some(next) => offset = next,
            None => break,
        }
    }
    assert!(whole == text);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_is_found_and_a_query_is_never_an_expression() {
    let (hand, house, id) = house().await;
    let text = "the quick brown fox".to_owned();
    let level = pollux_agent::model::Level::Warning;
    hand.say(&id, EventKind::Notice { level, text }).await;
    super::house::wait_until("it is written", || house.api.hub.feed(&id).unwrap().1.head().0 == 1)
        .await;
    let found = house.get("/api/v1/search?q=quick%20bro").await;
    assert_eq!(found["found"][0]["session_id"], id);
    assert_eq!(found["found"][0]["snippet"], "the quick brown fox");
    for query in ["%22", "text%3Aquick", "quick%20NOT%20fox", "*", "%22%20OR%20%22"] {
        let found = house.get(&format!("/api/v1/search?q={query}")).await;
        assert_eq!(found["found"], json!([]), "{query}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server_sent_events_go_on_where_they_were() {
    let (hand, house, id) = house().await;
    for number in 0..5 {
        hand.say(&id, grew(format!("{number}"))).await;
    }
    super::house::wait_until("it is written", || house.api.hub.feed(&id).unwrap().1.head().0 == 5)
        .await;
    let epoch = house.api.hub.feed(&id).unwrap().1.head().1;
    let request = house.request(Method::GET, &format!("/api/v1/sessions/{id}/stream"));
    let mut answer = request.header("last-event-id", format!("{epoch}:3")).send().await.unwrap();
    let mut text = String::new();
    while text.matches("\n\n").count() < 2 {
        text.push_str(&String::from_utf8_lossy(&answer.chunk().await.unwrap().unwrap()));
    }
    assert!(text.contains(&format!("id: {epoch}:5\n")), "{text}");
    assert!(text.contains(r#""seq":4"#) && !text.contains(r#""seq":3,"#), "{text}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_daemons_do_not_share_a_directory() {
    let (hand, house, _) = house().await;
    let place = pollux::daemon::instance::Place::new(house.directory.path());
    let around = pollux::daemon::instance::Surroundings {
        place,
        gemini: house.directory.path().join(".gemini"),
        index: None,
        agents: hand.agents(),
        hooks: None,
        profiles: pollux::team::store::Store::default(),
    };
    let second = pollux::daemon::instance::Daemon::open(&settings(), around).await;
    assert!(second.unwrap_err().to_string().contains("a daemon is already running"));
    let mut socket = house.socket().await;
    socket.say(json!({ "type": "watch" })).await;
    let frames = socket.until(|frame| frame["type"] == "sessions").await;
    assert_eq!(frames[0]["type"], "hello");
    assert!(!frames.iter().any(is_idle));
    house.close().await;
}
