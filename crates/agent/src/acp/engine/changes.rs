//! Another mode or another model for a session: asked for, and what came of it.

use super::super::agent::{Change, Reply, Wanted};
use super::super::config::Step;
use super::super::wrong;
use super::live::Live;
use super::{Asker, Engine, Then};
use crate::model::{Event, EventKind, Failure, Level, Source};
use serde_json::json;

impl Engine {
    pub(super) fn change(&mut self, id: &str, to: Change, reply: Reply<()>) {
        let live = self.sessions.get(id).ok_or_else(wrong::no_session);
        let refused = match to {
            Change::Mode(mode) => match live.and_then(|live| live.mode_id(&Wanted::Mode(mode))) {
                Ok(mode) => return self.set_mode(id, mode, Some(reply)),
                Err(refused) => refused,
            },
            Change::Model(model) => match live.and_then(Live::offers_models) {
                Ok(()) => return self.set_model(id, model, Some(reply)),
                Err(refused) => refused,
            },
        };
        drop(reply.send(Err(refused)));
    }

    pub(super) fn set_mode(&mut self, id: &str, mode: String, asker: Asker) {
        let params = json!({ "sessionId": id, "modeId": mode });
        let then = Then::Mode { session: id.to_owned(), mode, asker };
        let pending = self.control(Step::Control, then);
        self.request("session/set_mode", params, pending);
    }

    pub(super) fn set_model(&mut self, id: &str, model: String, asker: Asker) {
        let params = json!({ "sessionId": id, "modelId": model });
        let then = Then::Model { session: id.to_owned(), model, asker };
        let pending = self.control(Step::Control, then);
        self.request("session/set_model", params, pending);
    }

    /// A mode or a model was set, or was not.
    pub(super) fn changed(
        &mut self,
        id: &str,
        outcome: Result<Event<'static>, Failure>,
        asker: Asker,
    ) {
        let Some(live) = self.sessions.get_mut(id) else { return };
        match (outcome, asker) {
            (Ok(event), asker) => {
                live.changed(event);
                // Whoever has gone away does not want to know.
                drop(asker.map(|asker| asker.send(Ok(()))));
            }
            (Err(failure), Some(asker)) => drop(asker.send(Err(failure))),
            (Err(failure), None) => {
                let text = match &failure.hint {
                    Some(hint) => format!("{}; {hint}", failure.message),
                    None => failure.message,
                };
                let kind = EventKind::Notice { level: Level::Error, text };
                live.say(Event::new(Source::Acp, kind));
            }
        }
    }
}
