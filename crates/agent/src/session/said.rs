//! What the rules say, and what they have recorded. Pure.

use super::command::{Done, Effect, Order, Verdict};
use crate::model::{Event, EventKind, Level, Source};

pub(super) fn set_model(model: &str) -> Verdict {
    if model.trim().is_empty() {
        return Verdict::refused("no_model", "there is no model", "name one");
    }
    Verdict::done(Done::Sent, vec![Effect::Order(Order::Model(model.to_owned()))])
}

pub(super) fn not_queued(id: &str) -> Verdict {
    let why = format!("no prompt `{id}` waits");
    Verdict::refused("not_queued", why, "it was sent, or taken back")
}

pub(super) fn record(kind: EventKind<'static>) -> Effect {
    Effect::Record(Box::new(Event::new(Source::Pollux, kind)))
}

pub(super) fn notice(level: Level, text: String) -> Effect {
    record(EventKind::Notice { level, text })
}
