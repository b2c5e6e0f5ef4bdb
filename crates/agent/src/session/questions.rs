//! Questions as state: open until the agent says otherwise, answered once, remembered with their outcome.

use super::command::Outcome;
use crate::model::{Answer, Question};
use sha2::{Digest, Sha256};
use std::collections::VecDeque;

/// So many outcomes are remembered for those who answer late.
const SETTLED: usize = 256;

/// A question that the agent waits with.
#[derive(Debug, Clone)]
pub struct Open {
    /// The question.
    pub question: Question<'static>,
    /// The hash of what is shown.
    pub shown: String,
    /// The answer that is on its way, and whose it is: the agent has not confirmed it yet.
    pub sent: Option<Outcome>,
}

/// The hash of a question as it is shown: an answer that names it can release nothing else.
pub fn shown(question: &Question<'_>) -> String {
    use std::fmt::Write;
    // A value made of strings and numbers has its JSON.
    let json = serde_json::to_vec(question).unwrap_or_default();
    Sha256::digest(json).iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a string does not fail.
        let _written = write!(hex, "{byte:02x}");
        hex
    })
}

#[derive(Debug, Clone, Default)]
pub(super) struct Questions {
    pub(super) open: Vec<Open>,
    settled: VecDeque<(String, Outcome)>,
}

impl Questions {
    /// The agent asks. With an id that is open already it asks something else now.
    pub(super) fn ask(&mut self, question: Question<'static>) {
        let shown = shown(&question);
        let id = question.id.to_string();
        let open = Open { question, shown, sent: None };
        match self.open.iter_mut().find(|open| open.question.id == *id) {
            Some(known) if known.shown == open.shown => {}
            Some(known) => *known = open,
            None => self.open.push(open),
        }
    }

    pub(super) fn find(&mut self, id: &str) -> Option<&mut Open> {
        self.open.iter_mut().find(|open| open.question.id == *id)
    }

    pub(super) fn outcome(&self, id: &str) -> Option<&Outcome> {
        self.settled.iter().rev().find(|(settled, _)| settled == id).map(|(_, outcome)| outcome)
    }

    /// The agent says what became of a question.
    pub(super) fn settle(&mut self, id: &str, answer: &Answer<'_>) {
        let sent = self.find(id).and_then(|open| open.sent.clone());
        let outcome = match (answer, sent) {
            (Answer::Chosen { choice, .. }, Some(Outcome::Chosen { choice: sent, by }))
                if *choice == *sent.as_str() =>
            {
                Outcome::Chosen { choice: sent, by }
            }
            (Answer::Chosen { choice, .. }, _) => {
                Outcome::Chosen { choice: choice.to_string(), by: None }
            }
            // The screen cannot say which key was pressed. Ours was.
            (Answer::Elsewhere, Some(sent)) => sent,
            (Answer::Elsewhere, None) => Outcome::Elsewhere,
            (Answer::Cancelled, _) => Outcome::Cancelled,
        };
        self.close(id, outcome);
    }

    fn close(&mut self, id: &str, outcome: Outcome) {
        self.open.retain(|open| open.question.id != *id);
        self.settled.push_back((id.to_owned(), outcome));
        while self.settled.len() > SETTLED {
            self.settled.pop_front();
        }
    }

    /// Nobody will answer any more: the ids of those that were open.
    pub(super) fn drop_all(&mut self) -> Vec<String> {
        let ids: Vec<String> = self.open.iter().map(|open| open.question.id.to_string()).collect();
        for id in &ids {
            self.close(id, Outcome::Cancelled);
        }
        ids
    }
}
