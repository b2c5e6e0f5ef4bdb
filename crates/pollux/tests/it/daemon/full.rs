//! A log that cannot be written: agents can be stopped, nothing else is begun, and nothing that they say is lost.

use super::house::{House, subscribe, wait_until};
use super::told::question;
use super::told::{Stagehand, grew, turn_ended};
use futures::future::BoxFuture;
use pollux::api::Driver;
use pollux::daemon::hub::agent::{Agent, Agents, Events, Orders, Wanted};
use pollux_agent::model::{Event, EventKind, Failure, Source, Text};
use pollux_agent::session::Order;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::sync::{Notify, mpsc};

/// What is written of a session, and of who did what.
const SESSION: [&str; 3] = ["INSERT ON events", "UPDATE ON sessions", "INSERT ON commands"];
const AUDIT: &str = "INSERT ON audit";
const BEGIN: &str = "INSERT ON sessions";

/// From now on there is no room for these.
async fn full(house: &House, what: &[&str]) {
    let make = |(number, what): (usize, &&str)| {
        format!(
            "CREATE TRIGGER full{number} BEFORE {what}
             BEGIN SELECT RAISE(ABORT, 'there is no room'); END;"
        )
    };
    let make: String = what.iter().enumerate().map(make).collect();
    let make = move |connection: &Connection| connection.execute_batch(&make);
    house.api.hub.log().write(make).await.unwrap();
}

/// There is room again.
async fn room(house: &House) {
    let clear = |connection: &Connection| {
        (0..5).try_for_each(|number| {
            connection.execute_batch(&format!("DROP TRIGGER IF EXISTS full{number}"))
        })
    };
    house.api.hub.log().write(clear).await.unwrap();
}

async fn begun(hand: &Stagehand, house: &House) -> String {
    let id = house.begin(json!({ "cwd": house.directory.path() })).await;
    wait_until("the agent is there", || hand.is_there(&id)).await;
    id
}

fn prompt(text: &str) -> Value {
    json!({ "type": "prompt", "text": text })
}

fn is_unwritten(house: &House, id: &str) -> bool {
    house.api.hub.feed(id).unwrap().1.summary().unwritten_since.is_some()
}

/// Refused in words that say what to do.
fn assert_unwritten((status, problem): &(u16, Value)) {
    assert_eq!((*status, &problem["code"]), (507, &json!("log_unwritten")), "{problem}");
    assert!(problem["hint"].as_str().unwrap().contains("free some space"), "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_nothing_can_be_written_an_agent_is_stopped_and_nothing_is_begun_or_lost() {
    let hand = Stagehand::default();
    let house = House::open(hand.agents()).await;
    let id = begun(&hand, &house).await;
    assert_eq!(house.command(&id, "p", prompt("go")).await.0, 200);
    hand.say(&id, EventKind::TurnStarted { prompt: Text::from("go") }).await;
    hand.say(&id, question("git push")).await;
    let feed = house.api.hub.feed(&id).unwrap().1;
    wait_until("the question", || !feed.summary().questions.is_empty()).await;
    let mut socket = house.socket().await;
    socket.say(subscribe(&id)).await;
    socket.next_of("snapshot").await;
    let seen = feed.head().0;

    full(&house, &[&SESSION[..], &[AUDIT, BEGIN]].concat()).await;
    hand.say(&id, grew("not yet")).await;
    socket.until(|frame| frame["session"]["unwritten_since"].is_string()).await;
    let answer = |choice: &str| json!({ "type": "answer", "question_id": "q1", "choice": choice });
    let mut why = answer("no");
    why["reason"] = json!("do this instead");
    let mode = json!({ "type": "mode", "mode": "yolo" });
    for (number, more) in [prompt("more"), mode, answer("yes"), why].into_iter().enumerate() {
        assert_unwritten(&house.command(&id, &format!("r{number}"), more).await);
    }
    let begin = json!({ "cwd": house.directory.path(), "prompt": "more" });
    assert_unwritten(&house.post("/api/v1/sessions", begin).await);
    assert_eq!(hand.told().len(), 1, "{:?}", hand.told());
    // Who looks now sees what is written.
    let mut other = house.socket().await;
    other.say(subscribe(&id)).await;
    let snapshot = other.next_of("snapshot").await;
    assert!(!snapshot.to_string().contains("not yet"), "{snapshot}");

    let ends = [answer("no"), json!({ "type": "interrupt" }), json!({ "type": "stop" })];
    for (number, end) in ends.into_iter().enumerate() {
        let (status, reply) = house.command(&id, &format!("e{number}"), end).await;
        assert_eq!(status, 200, "{reply}");
    }
    let told = hand.told();
    let [Order::Prompt { .. }, Order::Answer { choice, .. }, Order::Interrupt, Order::Stop] =
        &*told
    else {
        panic!("{told:?}")
    };
    assert_eq!(choice, "no");
    hand.say(&id, turn_ended()).await;
    hand.dies(&id);
    assert_eq!(feed.head().0, seen, "nothing is told that is not written");

    room(&house).await;
    socket.until(|frame| frame["session"]["status"] == "exited").await;
    assert!(!is_unwritten(&house, &id));
    let page = house.get(&format!("/api/v1/sessions/{id}/events?after={seen}")).await;
    let kinds: Vec<&str> = page["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["event"]["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["text_grew", "turn_ended", "answered", "session_ended"], "{page}");
    assert_eq!(hand.told().len(), 4, "what was refused does not run later: {:?}", hand.told());
    let ids = |connection: &Connection| {
        let mut select = connection.prepare("SELECT id FROM commands ORDER BY id")?;
        let ids = select.query_map([], |row| row.get::<_, String>(0))?;
        ids.collect::<rusqlite::Result<Vec<_>>>()
    };
    let accepted = house.api.hub.log().read(ids).await.unwrap();
    assert_eq!(accepted, ["e0", "e1", "e2", "p"], "what was done is written when there is room");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_cannot_be_written_is_refused_and_does_not_run_later() {
    let hand = Stagehand::default();
    let house = House::open(hand.agents()).await;
    let id = begun(&hand, &house).await;
    full(&house, &SESSION).await;
    assert_unwritten(&house.command(&id, "p1", prompt("the first")).await);
    assert!(is_unwritten(&house, &id));
    room(&house).await;
    wait_until("there is room", || !is_unwritten(&house, &id)).await;
    let summary = house.get(&format!("/api/v1/sessions/{id}")).await;
    assert_eq!((&summary["status"], &summary["queue"]), (&json!("idle"), &json!([])), "{summary}");
    assert_eq!((hand.told().len(), &summary["title"]), (0, &Value::Null));
    // The same request may be made again.
    assert_eq!(house.command(&id, "p1", prompt("the first")).await.0, 200);
    let told = hand.told();
    assert!(matches!(&*told, [Order::Prompt { text, .. }] if text == "the first"), "{told:?}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_waits_does_not_begin_after_somebody_stopped_while_there_was_no_room() {
    let hand = Stagehand::default();
    let house = House::open(hand.agents()).await;
    let id = begun(&hand, &house).await;
    assert_eq!(house.command(&id, "p1", prompt("one")).await.0, 200);
    hand.say(&id, EventKind::TurnStarted { prompt: Text::from("one") }).await;
    assert_eq!(house.command(&id, "p2", prompt("two")).await.0, 200);
    full(&house, &SESSION).await;
    hand.say(&id, turn_ended()).await;
    wait_until("no room", || is_unwritten(&house, &id)).await;
    assert_eq!(house.command(&id, "i", json!({ "type": "interrupt" })).await.0, 200);
    room(&house).await;
    let feed = house.api.hub.feed(&id).unwrap().1;
    wait_until("it waits", || feed.summary().held).await;
    assert_eq!(feed.summary().queue[0].text, "two");
    let told = hand.told();
    assert!(matches!(&*told, [Order::Prompt { .. }, Order::Interrupt]), "{told:?}");
    house.close().await;
}

/// An agent that sees its orders only where its events are taken, and has much to say.
#[derive(Clone, Default)]
struct Talker {
    told: Arc<Mutex<Vec<Order>>>,
    begins: Arc<Notify>,
}

struct Talks {
    orders: mpsc::Receiver<Order>,
    begins: Option<Arc<Notify>>,
    told: Arc<Mutex<Vec<Order>>>,
    left: usize,
}

impl Events for Talks {
    fn next(&mut self) -> BoxFuture<'_, Option<Event<'static>>> {
        Box::pin(async {
            if let Some(begins) = self.begins.take() {
                begins.notified().await;
            }
            while let Ok(order) = self.orders.try_recv() {
                self.told.lock().unwrap().push(order);
            }
            if self.left == 0 {
                std::future::pending::<()>().await;
            }
            self.left -= 1;
            Some(Event::new(Source::Acp, grew("word ")))
        })
    }
}

struct Heard(mpsc::Sender<Order>);

impl Orders for Heard {
    fn order(&self, order: Order) -> BoxFuture<'static, Result<(), Failure>> {
        self.0.try_send(order).unwrap();
        Box::pin(async { Ok(()) })
    }
}

impl Talker {
    fn agents(&self, words: usize) -> Agents {
        let (told, begins) = (Arc::clone(&self.told), Arc::clone(&self.begins));
        let start = move |_: Wanted| -> BoxFuture<'static, Result<Agent, Failure>> {
            let (orders, taken) = mpsc::channel(16);
            let begins = Some(Arc::clone(&begins));
            let talks = Talks { orders: taken, begins, told: Arc::clone(&told), left: words };
            let orders = Arc::new(Heard(orders));
            Box::pin(async { Ok(Agent { events: Box::new(talks), orders, ready: true }) })
        };
        Agents::of(Arc::new(start), vec![Driver::Acp])
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_has_said_more_than_may_wait_is_stopped_all_the_same() {
    // More than wait for the log and more than it is heard beyond that, and not so many that they take as long as it has to end.
    const WORDS: usize = 5_000;
    let talker = Talker::default();
    let house = House::open(talker.agents(WORDS)).await;
    let id = house.begin(json!({ "cwd": house.directory.path() })).await;
    let feed = house.api.hub.feed(&id).unwrap().1;
    full(&house, &SESSION).await;
    talker.begins.notify_one();
    wait_until("no room", || is_unwritten(&house, &id)).await;
    assert_eq!(house.command(&id, "s", json!({ "type": "stop" })).await.0, 200);
    wait_until("it hears of it", || !talker.told.lock().unwrap().is_empty()).await;
    assert_eq!(feed.head().0, 0);
    room(&house).await;
    wait_until("all of it", || feed.head().0 >= WORDS as u64).await;
    house.close().await;
}
