//! An agent that says what it is told to: for numbers, and for moments that a real one does not come to by itself.

use futures::future::BoxFuture;
use pollux::api::Driver;
use pollux::daemon::hub::agent::{Agent, Agents, Events, Orders, Wanted};
use pollux_agent::model::{
    Choice, Effect, Event, EventKind, Failure, Part, Question, QuestionKind, Source, StopReason,
    Text,
};
use pollux_agent::session::Order;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

type Says = mpsc::Sender<Event<'static>>;

/// The agents of a test: what they were told, and the way to make them say something.
#[derive(Clone, Default)]
pub(crate) struct Stagehand {
    says: Arc<Mutex<HashMap<String, Says>>>,
    told: Arc<Mutex<Vec<Order>>>,
}

struct Hears(mpsc::Receiver<Event<'static>>);

impl Events for Hears {
    fn next(&mut self) -> BoxFuture<'_, Option<Event<'static>>> {
        Box::pin(self.0.recv())
    }
}

struct Notes(Arc<Mutex<Vec<Order>>>);

impl Orders for Notes {
    fn order(&self, order: Order) -> BoxFuture<'static, Result<(), Failure>> {
        self.0.lock().unwrap().push(order);
        Box::pin(async { Ok(()) })
    }
}

impl Stagehand {
    pub(crate) fn agents(&self) -> Agents {
        let hand = self.clone();
        let start = move |wanted: Wanted| -> BoxFuture<'static, Result<Agent, Failure>> {
            let (says, hears) = mpsc::channel(4096);
            hand.says.lock().unwrap().insert(wanted.id, says);
            let orders = Arc::new(Notes(Arc::clone(&hand.told)));
            let agent = Agent { events: Box::new(Hears(hears)), orders, ready: true };
            Box::pin(async { Ok(agent) })
        };
        Agents::of(Arc::new(start), vec![Driver::Acp])
    }

    /// The orders that were given so far.
    pub(crate) fn told(&self) -> Vec<Order> {
        self.told.lock().unwrap().clone()
    }

    /// True where the agent of a session has been started.
    pub(crate) fn is_there(&self, session: &str) -> bool {
        self.says.lock().unwrap().contains_key(session)
    }

    /// The agent of a session dies without a word.
    pub(crate) fn dies(&self, session: &str) {
        self.says.lock().unwrap().remove(session);
    }

    pub(crate) async fn say(&self, session: &str, kind: EventKind<'static>) {
        let says = self.says.lock().unwrap().get(session).cloned().unwrap();
        says.send(Event::new(Source::Acp, kind)).await.unwrap();
    }
}

pub(crate) fn grew(text: impl Into<String>) -> EventKind<'static> {
    EventKind::TextGrew { part: Part::Text, text: Text::from(text.into()), message_id: None }
}

pub(crate) fn turn_ended() -> EventKind<'static> {
    EventKind::TurnEnded {
        stop_reason: StopReason::EndTurn,
        duration_ms: None,
        tool_calls: None,
        error: None,
    }
}

/// The agent asks whether it may run a command. The answers are `yes` and `no`.
pub(crate) fn question(text: &'static str) -> EventKind<'static> {
    let choice = |id: &'static str, effect| Choice { id: id.into(), label: id.into(), effect };
    EventKind::Asked(Box::new(Question {
        id: "q1".into(),
        kind: QuestionKind::Command,
        tool_id: None,
        tool: None,
        text: text.into(),
        meaning: None,
        input: None,
        request: None,
        options: vec![choice("yes", Effect::AllowOnce), choice("no", Effect::RejectOnce)],
    }))
}
