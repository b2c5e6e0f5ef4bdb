//! What a session has spent, by time and model, out of one of its files or several. Pure.

use super::seen::hash;
use crate::model::Usage;
use serde::{Deserialize, Serialize};

/// Tokens are added up by quarters of an hour, so that days can be told apart in every time zone.
pub const QUARTER_HOUR_MS: i64 = 15 * 60 * 1000;

/// What was spent on one model within a quarter of an hour.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Spent {
    /// The quarter of an hour, counted from 1970.
    pub quarter: i64,
    /// The model.
    pub model: String,
    /// The answers.
    pub answers: u64,
    /// Their tokens.
    pub usage: Usage,
    /// A number for the id of each, by which it is known again in another file of the same session.
    known_by: Vec<u32>,
}

impl Spent {
    pub(super) fn new(quarter: i64, model: &str) -> Self {
        let (answers, usage, known_by) = (0, Usage::default(), Vec::new());
        Self { quarter, model: model.to_owned(), answers, usage, known_by }
    }

    /// Adds an answer.
    pub(super) fn add(&mut self, id: &str, usage: Usage) {
        self.answers += 1;
        self.usage += usage;
        // Half of it is enough to tell the answers of one session apart.
        self.known_by.push(u32::try_from(hash(id) >> 32).unwrap_or(0));
    }

    /// Adds what another file has spent at the same time. What is in both is counted once. Where each has some answers that
    /// the other has not, and some that it has, the file with more of them speaks.
    fn join(&mut self, other: &Self) {
        let shared = other.known_by.iter().any(|id| self.known_by.contains(id));
        if !shared {
            self.answers += other.answers;
            self.usage += other.usage;
            self.known_by.extend(&other.known_by);
        } else if other.known_by.len() > self.known_by.len() {
            self.clone_from(other);
        }
    }
}

/// Adds what only another file of the same session has spent.
pub(super) fn join(mine: &mut Vec<Spent>, theirs: &[Spent]) {
    for theirs in theirs {
        let is_it =
            |mine: &&mut Spent| (mine.quarter, &mine.model) == (theirs.quarter, &theirs.model);
        match mine.iter_mut().find(is_it) {
            Some(mine) => mine.join(theirs),
            None => mine.push(theirs.clone()),
        }
    }
}
