//! A session file, read whole.

use super::Diagnostic;
use super::document;
use super::entry::Entry;
use super::replay::{Meta, Replay};
use super::translate::{self, Folded};
use crate::model::Message;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The two formats of session files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// One object that is written anew at each change, up to 0.38.
    Json,
    /// A log of records, since 0.39.
    Jsonl,
}

impl Format {
    /// The format of a text.
    pub fn of(text: &str) -> Self {
        if document::is_document(text) { Self::Json } else { Self::Jsonl }
    }
}

/// A session file, read whole. It borrows from the text that it was read from.
#[derive(Debug)]
pub struct Transcript<'a> {
    /// How it is written.
    pub format: Format,
    replay: Replay<Entry<'a>>,
}

impl<'a> Transcript<'a> {
    /// Reads a session file of either format. Never fails: see [`Transcript::diagnostics`].
    pub fn read(text: &'a str) -> Self {
        let mut replay = Replay::default();
        replay.read(text, &mut Entry::new);
        Self { format: Format::of(text), replay }
    }

    /// What the file says about the session.
    pub fn meta(&self) -> &Meta {
        &self.replay.meta
    }

    /// What was skipped, and why.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.replay.diagnostics
    }

    /// The messages of the conversation as it stands, in order.
    pub fn messages(&self) -> impl Iterator<Item = Message<'a>> + '_ {
        let history = &self.replay.history;
        let folded = Folded::over(history.iter().map(|(_, entry)| entry));
        history.iter().filter_map(move |(id, entry)| translate::message(id, entry, &folded))
    }

    /// The first words that a person wrote, of those that stand.
    pub fn first_words(&self) -> Option<String> {
        self.replay.history.iter().find_map(|(_, entry)| entry.persons_words())
    }

    /// Every message that was ever written, in the order of their first writing; those that are no longer part of the
    /// conversation are marked.
    pub fn messages_ever(&self) -> Vec<Message<'a>> {
        let standing = self.replay.history.iter().map(|(id, entry)| (id, entry, false));
        let lost = self.replay.lost.iter().map(|(id, entry)| (id.as_ref(), entry, true));
        let mut all: Vec<_> = standing.chain(lost).collect();
        all.sort_by_key(|(id, ..)| self.replay.first_seen.get(*id));
        let folded = Folded::over(all.iter().map(|(_, entry, _)| *entry));
        let message = |(id, entry, recovered): (&str, &Entry<'a>, bool)| {
            translate::message(id, entry, &folded).map(|message| Message { recovered, ..message })
        };
        all.into_iter().filter_map(message).collect()
    }
}

/// The bytes of a session file as text. What is not UTF-8 is replaced, as Node does it.
///
/// The common case comes first: telling that all is well is several times faster than looking for what is not.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}
