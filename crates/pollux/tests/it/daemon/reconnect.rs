//! Joining late, lagging and coming back: nothing is lost, nothing comes twice.

use super::house::{House, Socket, subscribe};
use super::told::{Stagehand, grew, turn_ended};
use pollux::daemon::log::{Keep, retain};
use pollux::daemon::reader::Reader;
use pollux_agent::model::{EventKind, Rewrite};
use pollux_e2e::seeded_rng;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What a client has handled, as a client would keep it.
#[derive(Default)]
struct Seen {
    place: Option<(u64, u64)>,
    snapshots: usize,
    resumed: usize,
}

impl Seen {
    /// Takes a frame in. Every number follows the one before; a snapshot begins anew.
    fn take(&mut self, frame: &Value) {
        match frame["type"].as_str().unwrap() {
            "snapshot" => {
                self.snapshots += 1;
                let place = (frame["seq"].as_u64().unwrap(), frame["epoch"].as_u64().unwrap());
                if let Some((seq, epoch)) = self.place {
                    assert!(place.0 >= seq && place.1 >= epoch, "a snapshot goes back");
                }
                self.place = Some(place);
            }
            "resumed" => {
                self.resumed += 1;
                let place = (frame["after"].as_u64().unwrap(), frame["epoch"].as_u64().unwrap());
                assert_eq!(Some(place), self.place, "resumed elsewhere");
            }
            "events" => {
                for event in frame["events"].as_array().unwrap() {
                    let (seq, epoch) = self.place.unwrap();
                    assert_eq!(event["seq"], seq + 1, "lost or repeated");
                    let now = event["epoch"].as_u64().unwrap();
                    assert!(now == epoch || now == epoch + 1);
                    self.place = Some((seq + 1, now));
                }
            }
            _ => {}
        }
    }
}

async fn join(house: &House, id: &str, seen: &mut Seen) -> Socket {
    let mut socket = house.socket().await;
    let mut frame = subscribe(id);
    if let Some((after, epoch)) = seen.place {
        frame["after"] = json!(after);
        frame["epoch"] = json!(epoch);
    }
    socket.say(frame).await;
    socket
}

/// How long a client waits for a word.
const QUIET: Duration = Duration::from_millis(500);

/// Joins, handles some frames, and is gone without a word; until all was seen, and once more at least.
async fn come_and_go(house: &House, id: &str, last: &AtomicU64, mut rng: StdRng) -> Seen {
    let mut seen = Seen::default();
    let done = |seen: &Seen| seen.place.is_some_and(|(seq, _)| seq >= last.load(Ordering::Relaxed));
    while !done(&seen) || seen.resumed == 0 {
        let is_back = seen.place.is_some();
        let mut socket = join(house, id, &mut seen).await;
        let frames = rng.random_range(1..12);
        for _ in 0..frames {
            // Whoever hears nothing leaves too: the next to speak would be the heartbeat.
            let Ok(frame) = tokio::time::timeout(QUIET, socket.next()).await else { break };
            seen.take(&frame);
            if done(&seen) && (seen.resumed > 0 || !is_back) {
                break;
            }
        }
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_come_and_go_at_random_lose_nothing_and_see_nothing_twice() {
    const EVENTS: u64 = 3_000;
    const CLIENTS: usize = 4;
    let hand = Stagehand::default();
    let house = Arc::new(House::open(hand.agents()).await);
    let id = house.begin(json!({ "cwd": house.directory.path() })).await;
    super::house::wait_until("the agent is there", || hand.is_there(&id)).await;
    let last = Arc::new(AtomicU64::new(u64::MAX));
    let mut clients = tokio::task::JoinSet::new();
    let mut rng = seeded_rng();
    for _ in 0..CLIENTS {
        let own = StdRng::from_rng(&mut rng);
        let (house, id, last) = (Arc::clone(&house), id.clone(), Arc::clone(&last));
        clients.spawn(async move { come_and_go(&house, &id, &last, own).await });
    }
    for number in 0..EVENTS {
        let kind = match number % 500 {
            499 => EventKind::HistoryRewritten {
                epoch: 1,
                reason: Rewrite::Rewind,
                removed: Vec::new(),
                superseded: None,
            },
            _ => grew(format!("{number} ")),
        };
        hand.say(&id, kind).await;
    }
    hand.say(&id, turn_ended()).await;
    super::house::wait_until("all is written", || {
        house.api.hub.feed(&id).unwrap().1.head().0 > EVENTS
    })
    .await;
    last.store(house.api.hub.feed(&id).unwrap().1.head().0, Ordering::Relaxed);
    let (mut resumed, mut snapshots) = (0, 0);
    while let Some(seen) = clients.join_next().await {
        let seen = seen.unwrap();
        assert_eq!(seen.place.unwrap().0, last.load(Ordering::Relaxed));
        resumed += seen.resumed;
        snapshots += seen.snapshots;
    }
    assert!(resumed >= CLIENTS, "each came back");
    assert!(snapshots >= CLIENTS, "and each began with a snapshot");
    Arc::into_inner(house).unwrap().close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_slows_neither_the_agent_nor_another_client() {
    let hand = Stagehand::default();
    let house = House::open(hand.agents()).await;
    let id = house.begin(json!({ "cwd": house.directory.path() })).await;
    super::house::wait_until("the agent is there", || hand.is_there(&id)).await;
    let mut asleep = house.socket().await;
    asleep.say(subscribe(&id)).await;
    asleep.next_of("snapshot").await;
    let mut awake = house.socket().await;
    awake.say(subscribe(&id)).await;
    awake.next_of("snapshot").await;
    let text = "x".repeat(8_000);
    for _ in 0..2_000 {
        hand.say(&id, grew(text.clone())).await;
    }
    let mut seq = 0;
    while seq < 2_000 {
        let frame = awake.next_of("events").await;
        assert!(frame.to_string().len() < 200 << 10, "a frame is bounded");
        seq = frame["events"].as_array().unwrap().last().unwrap()["seq"].as_u64().unwrap();
    }
    // It wakes up, and has missed nothing.
    let mut next = 1;
    while next <= 2_000 {
        let frame = asleep.next_of("events").await;
        for event in frame["events"].as_array().unwrap() {
            assert_eq!(event["seq"], next);
            next += 1;
        }
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_slower_than_what_is_kept_is_told_so_and_gets_no_gap() {
    let hand = Stagehand::default();
    let house = House::open(hand.agents()).await;
    let id = house.begin(json!({ "cwd": house.directory.path() })).await;
    super::house::wait_until("the agent is there", || hand.is_there(&id)).await;
    let feed = house.api.hub.feed(&id).unwrap().1;
    for _ in 0..600 {
        hand.say(&id, grew("x".repeat(1_000))).await;
    }
    super::house::wait_until("all of it on disk", || feed.head().0 == 600).await;
    let bell = Arc::default();
    let seen = Some((0, feed.head().1));
    let (mut reader, first) = Reader::open(&house.api.hub, &id, seen, &bell).await.unwrap();
    assert!(first.contains(r#""type":"resumed""#), "{first}");
    let keep = Keep { bytes: 0, ..Keep::default() };
    let now = house.api.hub.now();
    let log = house.api.hub.log();
    let gone = log.write(move |connection| retain(connection, keep, now)).await.unwrap();
    assert_eq!(gone.map(|gone| gone.events), Some(600));
    hand.say(&id, grew("after")).await;
    super::house::wait_until("one more", || feed.head().0 == 601).await;
    let next = reader.next().await.unwrap().unwrap();
    assert!(next.contains(r#""type":"snapshot""#) && next.contains(r#""why":"gone""#), "{next}");
    assert!(reader.place().0 >= 600);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_was_started_again_gives_the_exact_tail() {
    let hand = Stagehand::default();
    let house = House::open(hand.agents()).await;
    let cwd = house.directory.path().to_path_buf();
    let id = house.begin(json!({ "cwd": cwd })).await;
    super::house::wait_until("the agent is there", || hand.is_there(&id)).await;
    for number in 0..10 {
        hand.say(&id, grew(format!("{number}"))).await;
    }
    let mut socket = house.socket().await;
    socket.say(subscribe(&id)).await;
    let mut seen = Seen::default();
    while seen.place.is_none_or(|(seq, _)| seq < 10) {
        seen.take(&socket.next().await);
    }
    drop(socket);
    let directory = house.close().await;
    let house = House::with(directory, hand.agents(), &super::house::settings()).await;
    let mut socket = join(&house, &id, &mut seen).await;
    let ended = |frame: &Value| {
        let events = frame["events"].as_array().into_iter().flatten();
        { events }.any(|event| event["event"]["type"] == "session_ended")
    };
    for frame in socket.until(ended).await {
        seen.take(&frame);
    }
    assert_eq!((seen.resumed, seen.snapshots), (1, 1), "the tail, not a snapshot");
    assert_eq!(house.get(&format!("/api/v1/sessions/{id}")).await["status"], "exited");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_events_were_let_go_is_read_from_its_file_again() {
    const ID: &str = "999189a6-f70d-4c71-948a-bc14b038616e";
    let directory = tempfile::tempdir().unwrap();
    let chats = directory.path().join(".gemini/tmp/p/chats");
    std::fs::create_dir_all(&chats).unwrap();
    let recorded = pollux_e2e::repository().join("recordings/0.61.0/sessions/edit.jsonl");
    std::fs::copy(recorded, chats.join("session-2026-11-15T17-55-999189a6.jsonl")).unwrap();
    let agents = Stagehand::default().agents();
    let house = House::with(directory, agents, &super::house::settings()).await;
    let hub = &house.api.hub;
    super::house::wait_until("the session is found", || hub.feed(ID).is_ok()).await;
    let path = format!("/api/v1/sessions/{ID}/messages");
    let said = async || -> Vec<Value> {
        let page = house.get(&path).await;
        page["messages"].as_array().unwrap().iter().map(|one| one["message"].clone()).collect()
    };
    let before = said().await;
    assert!(!before.is_empty());
    let (keep, now) = (Keep { bytes: 0, ..Keep::default() }, hub.now());
    let gone = hub.log().write(move |connection| retain(connection, keep, now)).await.unwrap();
    assert!(gone.as_ref().is_some_and(|gone| gone.events > 0), "{gone:?}");
    assert_eq!(said().await, before);
    house.close().await;
}
