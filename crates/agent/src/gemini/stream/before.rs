//! What a session had before a run went on with it, and how it is known again.
//!
//! By its ids, and, since 0.57 gives all messages new ids when it writes its history down once more, by what was said. Pure.

use super::super::transcript::without_context;
use crate::model::{Block, Event, EventKind, Message, Rewrite, Role, Source, Text};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The messages that are not of this run.
#[derive(Debug, Default)]
pub(super) struct Before {
    messages: Vec<Known>,
    /// Where each id stands, also one that a message no longer has.
    ids: HashMap<String, usize>,
    /// True where this run has said something of its own: before that, no prompt is a copy of another.
    spoken: bool,
}

/// A message, as it is known again.
#[derive(Debug, Clone)]
pub(super) struct Known {
    id: String,
    role: Role,
    words: Option<u64>,
    calls: Vec<u64>,
    /// The file has taken it back, and has not brought it again.
    gone: bool,
}

impl Known {
    pub(super) fn of(message: &Message<'_>) -> Self {
        let text = message.text();
        // A stopped turn puts the CLI's own words and the first prompt into one record.
        let said = Some(without_context(&text)).filter(|said| !said.is_empty());
        let said = said.unwrap_or(text.trim());
        let calls = message.blocks().iter().filter_map(|block| match block {
            Block::ToolUse { id, .. } => Some(hash(&id.to_str())),
            _ => None,
        });
        Self {
            id: message.id.to_string(),
            role: message.role,
            words: (!said.is_empty()).then(|| hash(said)),
            calls: calls.collect(),
            gone: false,
        }
    }

    /// True where both say and do the same: by their calls where both have some, which a copy may lack.
    fn is(&self, other: &Self) -> bool {
        let same = if self.calls.is_empty() || other.calls.is_empty() {
            self.words.is_some() && self.words == other.words
        } else {
            self.calls.iter().any(|call| other.calls.contains(call))
        };
        self.role == other.role && same
    }
}

impl Before {
    pub(super) fn add(&mut self, message: Known) {
        self.ids.insert(message.id.clone(), self.messages.len());
        self.messages.push(message);
    }

    /// True where a message was there before. One that is a copy under a new id is known by that from now on.
    pub(super) fn has(&mut self, message: &Message<'_>) -> bool {
        if let Some(known) = self.at(&message.id.to_str()) {
            known.gone = false;
            return true;
        }
        let new = Known::of(message);
        // What was taken back may come again. Else only what is written once more is a copy: an answer says so, and the
        // first prompt of a run is its own, whatever was asked before.
        let may_copy = match message.role {
            Role::User => self.spoken || message.meta,
            Role::Assistant => message.copied,
            Role::System => false,
        };
        let is_it = |known: &Known| (known.gone || may_copy) && known.is(&new);
        let Some(at) = self.messages.iter().position(is_it) else {
            self.spoken |= message.role == Role::User && !message.meta;
            return false;
        };
        self.ids.insert(new.id.clone(), at);
        if let Some(known) = self.messages.get_mut(at) {
            *known = new;
        }
        true
    }

    /// Takes what was there before this run out of what the file takes back. A resume takes all of it back and brings it
    /// again in the next moment; what was not told when it came again must not be told as gone before. False where
    /// nothing else was taken back.
    pub(super) fn is_told(&mut self, removed: &mut Vec<Text<'static>>) -> bool {
        let all = removed.len();
        removed.retain(|id| match self.at(&id.to_str()) {
            Some(known) => {
                // Under another id it may still be there.
                known.gone |= known.id == id.to_str();
                false
            }
            None => true,
        });
        all == 0 || !removed.is_empty()
    }

    fn at(&mut self, id: &str) -> Option<&mut Known> {
        self.messages.get_mut(*self.ids.get(id)?)
    }

    /// What was there before this run and is no longer, at the end of it.
    pub(super) fn lost(&mut self) -> Option<Event<'static>> {
        let gone = self.messages.iter_mut().filter(|known| known.gone);
        let removed: Vec<Text<'static>> = gone
            .map(|known| {
                known.gone = false;
                Text::from(known.id.clone())
            })
            .collect();
        if removed.is_empty() {
            return None;
        }
        // Whoever tells it counts.
        let (epoch, reason) = (0, Rewrite::Checkpoint);
        let kind = EventKind::HistoryRewritten { epoch, reason, removed, superseded: None };
        Some(Event::new(Source::SessionFile, kind))
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
