//! Hard times: a disk that is full, a clock that goes back.

use super::house::{House, LONGEST, gemini_in, settings, subscribe};
use super::told::{Stagehand, grew};
use jiff::{SignedDuration, Timestamp};
use pollux::daemon::log::events;
use pollux_agent::gemini::transcript::Transcript;
use pollux_agent::model::EventKind;
use pollux_agent::terminal::Socket as TmuxSocket;
use pollux_e2e::requires;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::time::Duration;

async fn pages(house: &House, more: i64) {
    let set = move |connection: &Connection| {
        let now: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
        connection.pragma_update(None, "max_page_count", now + more)
    };
    // What shares its transaction with a job that finds no room fails with it.
    let log = house.api.hub.log();
    pollux_e2e::wait_for("the disk to change", LONGEST, async || log.write(set).await).await;
}

async fn begun(hand: &Stagehand, house: &House) -> String {
    let id = house.begin(json!({ "cwd": house.directory.path() })).await;
    super::house::wait_until("the agent is there", || hand.is_there(&id)).await;
    id
}

fn seqs(frame: &Value) -> Vec<u64> {
    let events = frame["events"].as_array().into_iter().flatten();
    events.map(|event| event["seq"].as_u64().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_disk_is_full_nobody_is_told_anything_and_then_everything_once() {
    let hand = Stagehand::default();
    let house = House::open(hand.agents()).await;
    let id = begun(&hand, &house).await;
    let mut socket = house.socket().await;
    socket.say(subscribe(&id)).await;
    socket.next_of("snapshot").await;
    pages(&house, 0).await;
    let long = "x".repeat(6000);
    for number in 0..40 {
        hand.say(&id, grew(format!("{number}{long}"))).await;
    }
    let mut told: Vec<u64> = Vec::new();
    let quiet = async {
        while told.len() < 40 {
            told.extend(seqs(&socket.next().await));
        }
    };
    assert!(
        tokio::time::timeout(Duration::from_secs(2), quiet).await.is_err(),
        "not on disk, and told"
    );
    // It answers those who ask, as far as it can.
    assert_eq!(house.get("/api/v1/health").await["ok"], true);
    assert_eq!(house.get(&format!("/api/v1/sessions/{id}")).await["id"], json!(id));
    pages(&house, 1 << 20).await;
    super::house::wait_until("all of it on disk", || {
        house.api.hub.feed(&id).unwrap().1.head().0 == 40
    })
    .await;
    // The one who listened all the time hears each of them once, and whoever asks now is given the same.
    while told.len() < 40 {
        told.extend(seqs(&socket.next().await));
    }
    let mut asked: Vec<u64> = Vec::new();
    while asked.len() < 40 {
        let after = asked.last().copied().unwrap_or(0);
        let page = house.get(&format!("/api/v1/sessions/{id}/events?after={after}")).await;
        asked.extend(seqs(&page));
    }
    let all: Vec<u64> = (1..=40).collect();
    assert_eq!((&told, &asked), (&all, &all));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_whose_disk_stays_full_ends_when_it_is_told_to() {
    let hand = Stagehand::default();
    let house = House::open(hand.agents()).await;
    let id = begun(&hand, &house).await;
    pages(&house, 0).await;
    for _ in 0..40 {
        hand.say(&id, grew("x".repeat(6000))).await;
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_claims_more_tokens_than_can_be_counted_holds_nothing_up() {
    let hand = Stagehand::default();
    let house = House::open(hand.agents()).await;
    let id = begun(&hand, &house).await;
    let most = u64::MAX;
    for number in 0..2 {
        let said = format!(
            r#"{{"id":"m{number}","timestamp":"2026-11-15T12:00:00Z","type":"gemini","content":"x","model":"m",
            "tokens":{{"input":{most},"output":{most},"total":{most}}}}}"#
        );
        let said = said.replace('\n', "");
        let message = Transcript::read(&said).messages().next().unwrap().into_owned();
        assert_eq!(message.usage.unwrap().total_tokens, most);
        let kind = EventKind::MessageRecorded { changed: false, message: Box::new(message) };
        hand.say(&id, kind).await;
    }
    let feed = house.api.hub.feed(&id).unwrap().1;
    super::house::wait_until("both on disk", || feed.head().0 == 2).await;
    assert_eq!(house.get("/api/v1/usage").await["models"][0]["messages"], 2);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn times_do_not_go_back_with_the_clock() {
    let hand = Stagehand::default();
    let house = House::open(hand.agents()).await;
    let id = begun(&hand, &house).await;
    hand.say(&id, grew("before")).await;
    let feed = house.api.hub.feed(&id).unwrap().1;
    super::house::wait_until("the first", || feed.head().0 == 1).await;
    // As if the clock had been ahead then, and was set right since.
    let ahead = Timestamp::now() + SignedDuration::from_secs(50);
    let later = move |connection: &Connection| {
        connection.execute(
            "UPDATE sessions SET summary = json_set(summary, '$.updated_at', ?1)",
            [ahead.to_string()],
        )
    };
    house.api.hub.log().write(later).await.unwrap();
    let directory = house.close().await;
    let house = House::with(directory, hand.agents(), &settings()).await;
    let other = begun(&hand, &house).await;
    hand.say(&other, grew("after")).await;
    let feed = house.api.hub.feed(&other).unwrap().1;
    super::house::wait_until("the second", || feed.head().0 == 1).await;
    let page = house.get(&format!("/api/v1/sessions/{other}/events")).await;
    let at: Timestamp = page["events"][0]["recorded_at"].as_str().unwrap().parse().unwrap();
    assert!(at >= ahead, "{at} is before {ahead}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_was_wrong_once_throws_nothing_away_and_is_not_believed_for_ever() {
    let hand = Stagehand::default();
    let house = House::open(hand.agents()).await;
    let id = begun(&hand, &house).await;
    hand.say(&id, grew("before")).await;
    let feed = house.api.hub.feed(&id).unwrap().1;
    super::house::wait_until("the first", || feed.head().0 == 1).await;
    // As if the clock had been ten years ahead when another session was written down.
    let ahead = Timestamp::now() + SignedDuration::from_hours(24 * 3650);
    house.begin(json!({ "cwd": house.directory.path() })).await;
    let own = id.clone();
    let later = move |connection: &Connection| {
        connection.execute(
            "UPDATE sessions SET summary = json_set(summary, '$.updated_at', ?1), updated_at = ?2
             WHERE id <> ?3",
            (ahead.to_string(), ahead.as_millisecond(), own),
        )
    };
    assert_eq!(house.api.hub.log().write(later).await.unwrap(), 1);
    let directory = house.close().await;
    let house = House::with(directory, hand.agents(), &settings()).await;
    assert!(house.api.hub.now() < Timestamp::now() + SignedDuration::from_mins(5));
    // A daemon ends no sooner than it has looked for what is old.
    let directory = house.close().await;
    let house = House::with(directory, hand.agents(), &settings()).await;
    let page = house.get(&format!("/api/v1/sessions/{id}/events")).await;
    assert!(!seqs(&page).is_empty(), "{page}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_begun_for_a_prompt_that_is_none() {
    let house = House::open(Stagehand::default().agents()).await;
    let cwd = house.directory.path();
    for prompt in [" ".to_owned(), "x".repeat((1 << 20) + 1)] {
        let begin = json!({ "cwd": cwd, "prompt": prompt });
        let (status, told) = house.post("/api/v1/sessions", begin).await;
        assert_eq!((status, &told["code"]), (409, &json!("refused")), "{told}");
        let launch = json!({ "cwd": cwd, "profile": "developer", "prompt": prompt });
        assert_eq!(house.post("/api/v1/team/launch", launch).await.0, 409);
        let job =
            json!({ "cwd": cwd, "kind": "handoff", "profile": "developer", "message": prompt });
        assert_eq!(house.post("/api/v1/jobs", job).await.0, 409);
    }
    assert!(house.api.hub.list().is_empty());
    assert!(house.api.teams.jobs(9).await.unwrap().is_empty());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_taken_back_once_however_many_ask_at_once() {
    let house = House::open(Stagehand::default().agents()).await;
    let give = json!({ "cwd": house.directory.path(), "kind": "assign", "profile": "developer",
        "message": "go" });
    let (status, job) = house.post("/api/v1/jobs", give).await;
    assert_eq!(status, 200, "{job}");
    let path = format!("/api/v1/jobs/{}/cancel", job["id"].as_str().unwrap());
    let cancels = (0..8).map(|_| house.post(&path, json!({})));
    let told = futures::future::join_all(cancels).await;
    let done = told.iter().filter(|(status, _)| *status == 200).count();
    let late = |(status, told): &&(u16, Value)| *status == 409 && told["code"] == "job_ended";
    assert_eq!((done, told.iter().filter(late).count()), (1, 7), "{told:?}");
    house.close().await;
}

async fn has_ended(house: &House, id: &str) -> bool {
    let no = house.api.hub.feed(id).unwrap().0;
    let read = move |connection: &Connection| events(connection, no, 0, 999, 1 << 20);
    let all = house.api.hub.log().read(read).await.unwrap();
    all.iter().any(|event| event.kind == "session_ended")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_not_said_to_be_gone_while_tmux_does_not_say_so() {
    requires!(tmux);
    let hand = Stagehand::default();
    let house = House::open(hand.agents()).await;
    let id = house.begin(json!({ "cwd": house.directory.path(), "driver": "terminal" })).await;
    super::house::wait_until("the agent is there", || hand.is_there(&id)).await;
    let directory = house.close().await;
    // A tmux that takes every question and answers none.
    let socket = directory.path().join("tmux.sock");
    let silent = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let agents = gemini_in(directory.path(), TmuxSocket::Path(socket.clone()));
    let house = House::with(directory, agents, &settings()).await;
    // Who is answered comes when tmux was asked.
    assert_eq!(house.get(&format!("/api/v1/sessions/{id}")).await["status"], "exited");
    house.api.hub.snapshot(&id).await.unwrap();
    let resume = json!({ "cwd": house.directory.path(), "resume": id });
    let (status, told) = house.post("/api/v1/sessions", resume).await;
    assert_eq!((status, &told["code"]), (409, &json!("tmux_silent")), "{told}");
    assert!(!has_ended(&house, &id).await);
    drop(silent);
    std::fs::remove_file(socket).unwrap();
    pollux_e2e::wait_for("its end is known", LONGEST, async || {
        if has_ended(&house, &id).await { Ok(()) } else { Err("it is not") }
    })
    .await;
    house.close().await;
}
