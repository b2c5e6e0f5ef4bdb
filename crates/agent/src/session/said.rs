//! What the rules say, and what they have recorded. Pure.

use super::command::{Done, Effect, Order, Verdict};
use crate::model::{Event, EventKind, Level, Source};
use std::ops::RangeInclusive;

pub(super) fn set_model(model: &str) -> Verdict {
    if model.trim().is_empty() {
        return Verdict::refused("no_model", "the model name is empty", "pass the name of a model");
    }
    Verdict::done(Done::Sent, vec![Effect::Order(Order::Model(model.to_owned()))])
}

/// A smaller window shows nothing of use; a larger one is nobody's.
const COLUMNS: RangeInclusive<u16> = 20..=400;
const ROWS: RangeInclusive<u16> = 10..=200;

pub(super) fn fit(columns: u16, rows: u16) -> Verdict {
    if !COLUMNS.contains(&columns) || !ROWS.contains(&rows) {
        let why = format!("a window of {columns} columns and {rows} rows is not supported");
        return Verdict::refused("wrong_size", why, "use 20 to 400 columns and 10 to 200 rows");
    }
    Verdict::done(Done::Sent, vec![Effect::Order(Order::Fit { columns, rows })])
}

pub(super) fn not_queued(id: &str) -> Verdict {
    let why = format!("no prompt `{id}` is queued");
    Verdict::refused("not_queued", why, "it was already sent or cancelled")
}

pub(super) fn record(kind: EventKind<'static>) -> Effect {
    Effect::Record(Box::new(Event::new(Source::Pollux, kind)))
}

pub(super) fn notice(level: Level, text: String) -> Effect {
    record(EventKind::Notice { level, text })
}
