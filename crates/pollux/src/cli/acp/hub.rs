//! What agents say, on its way to the editor: each session's lines in their order, none before the editor knows the session.

use super::lines::update;
use pollux_agent::acp::relay::Relay;
use pollux_agent::acp::{Dialect, Direction, Listener};
use pollux_agent::model::{Event, Question};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// All sessions.
#[derive(Debug, Clone)]
pub(super) struct Hub {
    dialect: Arc<dyn Dialect>,
    sessions: Arc<Mutex<HashMap<String, Channel>>>,
}

/// One session.
#[derive(Debug)]
struct Channel {
    relay: Relay,
    /// True where the editor knows the session.
    known: bool,
    /// What was said before.
    early: Vec<Value>,
}

impl Hub {
    pub(super) fn new(dialect: Arc<dyn Dialect>) -> Self {
        Self { dialect, sessions: Arc::default() }
    }

    /// Hears every line of an agent.
    pub(super) fn listener(&self) -> Listener {
        let own = self.clone();
        Arc::new(move |direction, line| {
            if direction == Direction::In {
                own.heard(line);
            }
        })
    }

    fn heard(&self, line: &str) {
        // Many lines are none; to look is cheaper than to read.
        if !line.contains("session/update") {
            return;
        }
        let Ok(json) = serde_json::from_str::<Value>(line) else { return };
        let params = &json["params"];
        let Some(id) = params["sessionId"].as_str() else { return };
        if json["method"] != "session/update" {
            return;
        }
        self.with(id, |channel| {
            let told = channel.relay.update(&params["update"]);
            channel.tell(id, told);
        });
    }

    fn with<T>(&self, id: &str, act: impl FnOnce(&mut Channel) -> T) -> T {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let channel = sessions.entry(id.to_owned()).or_insert_with(|| Channel {
            relay: Relay::new(Arc::clone(&self.dialect)),
            known: false,
            early: Vec::new(),
        });
        act(channel)
    }

    /// The history of a session: what the agent repeated of it, or `instead`.
    pub(super) fn replay(&self, id: &str, instead: Option<Vec<Value>>) {
        self.with(id, |channel| {
            let early = std::mem::take(&mut channel.early);
            let own = instead.is_some();
            let (lists, said): (Vec<Value>, Vec<Value>) = early
                .into_iter()
                .partition(|update| update["sessionUpdate"] == "available_commands_update");
            channel.early = lists;
            if own {
                channel.relay = Relay::new(Arc::clone(&self.dialect));
            }
            for it in instead.unwrap_or(said) {
                tell(id, &it);
            }
        });
    }

    /// The editor knows the session from now on.
    pub(super) fn known(&self, id: &str) {
        self.with(id, |channel| {
            channel.known = true;
            let early = std::mem::take(&mut channel.early);
            channel.tell(id, early);
        });
    }

    /// Sends the updates that must precede a question, and returns its request.
    pub(super) fn question(&self, id: &str, question: &Question<'_>) -> Value {
        self.with(id, |channel| {
            let (told, mut params) = channel.relay.question(question);
            channel.tell(id, told);
            params["sessionId"] = id.into();
            params
        })
    }

    /// An event of the driver.
    pub(super) fn event(&self, id: &str, event: &Event<'_>) {
        self.with(id, |channel| {
            let told = channel.relay.event(event);
            channel.tell(id, told);
        });
    }

    /// The session is closed.
    pub(super) fn forget(&self, id: &str) {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}

impl Channel {
    fn tell(&mut self, id: &str, updates: Vec<Value>) {
        if self.known {
            for update in &updates {
                tell(id, update);
            }
        } else {
            self.early.extend(updates);
        }
    }
}

/// An editor that is gone does not hear it; the end of stdin tells us.
fn tell(id: &str, it: &Value) {
    drop(update(id, it));
}
