//! Which messages make a call and which answer it, while a log grows: what one of them says changes how the others look.

use super::history::History;
use super::seen::{Place, Seen};
use std::collections::{BTreeSet, HashMap};

/// The calls of a session, and who has to do with them.
#[derive(Debug, Default)]
pub(super) struct Links {
    calls: HashMap<u64, Parties>,
    /// The calls that a message makes and those that it answers, as they were last put here.
    messages: HashMap<String, (Vec<u64>, Vec<u64>)>,
}

/// The ids of the messages that make a call, and of those that answer it.
#[derive(Debug, Default)]
struct Parties {
    made_by: BTreeSet<String>,
    answered_by: BTreeSet<String>,
}

impl Links {
    /// Puts in a message that is new or other than before. Gives the other messages that may look different now.
    pub(super) fn put(&mut self, id: &str, seen: &Seen) -> BTreeSet<String> {
        let made: Vec<u64> = seen.calls().collect();
        let answered = seen.answers.clone();
        let (was_made, was_answered) = self.messages.remove(id).unwrap_or_default();
        for call in &was_made {
            self.party(*call).made_by.remove(id);
        }
        for call in &was_answered {
            self.party(*call).answered_by.remove(id);
        }
        let mut touched = BTreeSet::new();
        for call in was_made.iter().chain(&made) {
            let is_new = was_made.contains(call) != made.contains(call);
            let party = self.party(*call);
            // A response is folded away or not by whether its call is there, not by what the call says.
            if is_new {
                touched.extend(party.answered_by.iter().cloned());
            }
        }
        for call in was_answered.iter().chain(&answered) {
            touched.extend(self.party(*call).made_by.iter().cloned());
        }
        for call in &made {
            self.party(*call).made_by.insert(id.to_owned());
        }
        for call in &answered {
            self.party(*call).answered_by.insert(id.to_owned());
        }
        if !made.is_empty() || !answered.is_empty() {
            self.messages.insert(id.to_owned(), (made, answered));
        }
        touched.remove(id);
        touched
    }

    fn party(&mut self, call: u64) -> &mut Parties {
        self.calls.entry(call).or_default()
    }

    /// True where some message makes the call.
    pub(super) fn is_made(&self, call: u64) -> bool {
        self.calls.get(&call).is_some_and(|party| !party.made_by.is_empty())
    }

    /// The records that answer a message's calls: those that stand before it, and those after.
    pub(super) fn answers(
        &self,
        id: &str,
        seen: &Seen,
        history: &History<Seen>,
    ) -> (Vec<Place>, Vec<Place>) {
        let calls = seen.calls().filter_map(|call| self.calls.get(&call));
        let ids: BTreeSet<&String> = calls.flat_map(|party| &party.answered_by).collect();
        let mut others: Vec<(usize, &Seen)> =
            ids.into_iter().filter(|other| *other != id).filter_map(|id| history.get(id)).collect();
        others.sort_by_key(|(at, _)| *at);
        let own = history.get(id).map_or(0, |(at, _)| at);
        let (before, after): (Vec<_>, Vec<_>) = others.into_iter().partition(|(at, _)| *at < own);
        let places = |others: Vec<(usize, &Seen)>| {
            others.into_iter().filter_map(|(_, seen)| seen.place().cloned()).collect()
        };
        (places(before), places(after))
    }
}
