//! A whole session file, replayed: which messages stand, in which order, and what was lost on the way.

use super::Diagnostic;
use super::document::{self, Field};
use super::entry::Entry;
use super::history::History;
use super::translate::{self, Folded};
use super::wire::{Json, Kind, Row};
use crate::model::{Message, Text};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;

/// The two formats of session files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// One object that is written anew at each change, up to 0.38.
    Json,
    /// A log of records, since 0.39.
    Jsonl,
}

/// What a session file says about the session as a whole.
#[derive(Debug, Clone, Default)]
pub struct Meta<'a> {
    /// The session's id.
    pub session_id: Option<Text<'a>>,
    /// SHA-256 of the project's path.
    pub project_hash: Option<Text<'a>>,
    /// The first start, in milliseconds since 1970.
    pub started_at: Option<i64>,
    /// The last change, in milliseconds since 1970.
    pub updated_at: Option<i64>,
    /// `main` or `subagent`.
    pub kind: Option<Text<'a>>,
    /// What it is about, in the model's words.
    pub summary: Option<Text<'a>>,
}

impl<'a> Meta<'a> {
    /// Takes over what a record says. The start stays the first one: a resume writes a new header.
    pub(super) fn merge(&mut self, row: &Row<'a>) {
        let text = |json: Json<'a>, old: &mut Option<Text<'a>>| {
            if let Some(new) = json.and_then(Text::from_raw) {
                *old = Some(new);
            }
        };
        text(row.session_id, &mut self.session_id);
        text(row.project_hash, &mut self.project_hash);
        text(row.session_kind, &mut self.kind);
        text(row.summary, &mut self.summary);
        self.started_at = self.started_at.or_else(|| translate::time(row.start_time));
        self.updated_at = translate::time(row.last_updated).or(self.updated_at);
    }
}

/// A session file, read whole.
#[derive(Debug)]
pub struct Transcript<'a> {
    /// What the file says about the session.
    pub meta: Meta<'a>,
    /// How it is written.
    pub format: Format,
    /// What was skipped, and why.
    pub diagnostics: Vec<Diagnostic>,
    history: History<Entry<'a>>,
    /// Messages that a later record dropped, with the place where each first stood.
    lost: HashMap<String, Entry<'a>>,
    first_seen: HashMap<String, usize>,
    unnamed: usize,
}

impl<'a> Transcript<'a> {
    /// Reads a session file of either format. Never fails: see [`Transcript::diagnostics`].
    pub fn read(text: &'a str) -> Self {
        let text = text.trim_start_matches('\u{feff}');
        let mut transcript = Self {
            meta: Meta::default(),
            format: Format::Jsonl,
            diagnostics: Vec::new(),
            history: History::default(),
            lost: HashMap::new(),
            first_seen: HashMap::new(),
            unnamed: 0,
        };
        if document::is_document(text) {
            transcript.format = Format::Json;
            transcript.document(text);
        } else {
            transcript.lines(text);
        }
        transcript
    }

    /// The messages of the conversation as it stands, in order.
    pub fn messages(&self) -> impl Iterator<Item = Message<'a>> + '_ {
        let folded = Folded::over(self.history.iter().map(|(_, entry)| entry));
        self.history.iter().filter_map(move |(id, entry)| translate::message(id, entry, &folded))
    }

    /// Every message that was ever written, in the order of their first writing; those that are no longer part of the
    /// conversation are marked.
    pub fn messages_ever(&self) -> Vec<Message<'a>> {
        let standing = self.history.iter().map(|(id, entry)| (id, entry, false));
        let lost = self.lost.iter().map(|(id, entry)| (id.as_str(), entry, true));
        let mut all: Vec<_> = standing.chain(lost).collect();
        all.sort_by_key(|(id, ..)| self.first_seen.get(*id));
        let folded = Folded::over(all.iter().map(|(_, entry, _)| *entry));
        let message = |(id, entry, recovered): (&str, &Entry<'a>, bool)| {
            translate::message(id, entry, &folded).map(|message| Message { recovered, ..message })
        };
        all.into_iter().filter_map(message).collect()
    }

    /// The first words that a person wrote, of those that stand or, where none stands, of all.
    pub fn first_words(&self) -> Option<String> {
        let words = |entry: &Entry<'a>| entry.persons_words();
        self.history.iter().find_map(|(_, entry)| words(entry)).or_else(|| {
            let mut lost: Vec<_> = self.lost.iter().collect();
            lost.sort_by_key(|(id, _)| self.first_seen.get(*id));
            lost.into_iter().find_map(|(_, entry)| words(entry))
        })
    }

    /// The old format: one object.
    fn document(&mut self, text: &'a str) {
        let mut head = Row::default();
        let mut messages: Vec<&'a RawValue> = Vec::new();
        let read =
            document::read(
                &mut serde_json::Deserializer::from_str(text),
                &mut |field| match field {
                    Field::Message(raw) => messages.push(raw),
                    Field::Head(key, raw) => document::set(&mut head, &key, raw),
                },
            );
        self.meta.merge(&head);
        for (position, raw) in (1..).zip(messages) {
            if let Some((id, entry)) = self.entry(raw.get(), position, "message") {
                self.upsert(id, entry);
            }
        }
        if let Err(error) = read {
            let line = u64::try_from(error.line()).unwrap_or(0);
            self.diagnostics.push(Diagnostic::at(line, format!("the rest was skipped: {error}")));
        }
    }

    /// The new format: a record on each line.
    fn lines(&mut self, text: &'a str) {
        let mut start = 0;
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]);
        for (number, end) in (1..).zip(ends) {
            let line = text.get(start..end).unwrap_or_default();
            start = end + 1;
            let line = line.trim();
            if !line.is_empty() {
                self.line(line, number, end == text.len());
            }
        }
    }

    fn line(&mut self, line: &'a str, number: u64, is_last: bool) {
        match Row::parse(line) {
            Ok(row) => self.apply(row, line, number),
            Err(error) if is_last && error.is_eof() => {
                self.diagnostics.push(Diagnostic::at(number, "the last line is cut off"));
            }
            Err(error) => {
                self.diagnostics
                    .push(Diagnostic::at(number, format!("skipped, not JSON: {error}")));
            }
        }
    }

    fn apply(&mut self, row: Row<'a>, line: &'a str, number: u64) {
        match row.what() {
            Kind::Rewind => {
                let id = row.rewind_to.and_then(Text::from_raw);
                let gone = self.history.rewind(&id.as_ref().map(Text::to_str).unwrap_or_default());
                self.lost.extend(gone);
            }
            Kind::Message => {
                if let Some((id, entry)) = self.checked(row, line, number, "record") {
                    self.upsert(id, entry);
                }
            }
            Kind::Set => {
                let set = row.set.map_or("{}", RawValue::get);
                let Ok(set) = Row::parse(set) else { return };
                self.meta.merge(&set);
                if let Some(list) = self.list(set.messages, number) {
                    let gone = self.history.replace(list);
                    self.lost.extend(gone);
                    self.lost.retain(|id, _| self.history.get_mut(id).is_none());
                }
            }
            Kind::Header => {
                self.meta.merge(&row);
                for (id, entry) in self.list(row.messages, number).unwrap_or_default() {
                    self.upsert(id, entry);
                }
            }
            Kind::Unknown => {
                let what = row.faults().first().copied().unwrap_or("a record of an unknown kind");
                self.diagnostics.push(Diagnostic::at(number, format!("skipped: {what}")));
            }
        }
    }

    fn upsert(&mut self, id: String, entry: Entry<'a>) {
        self.lost.remove(&id);
        self.history.upsert(id, entry);
    }

    /// A list of messages inside a record.
    fn list(&mut self, messages: Json<'a>, number: u64) -> Option<Vec<(String, Entry<'a>)>> {
        let raw = messages?;
        let Ok(raws) = serde_json::from_str::<Vec<&RawValue>>(raw.get()) else {
            self.diagnostics.push(Diagnostic::at(number, "skipped: `messages` is not a list"));
            return None;
        };
        Some(raws.into_iter().filter_map(|raw| self.entry(raw.get(), number, "message")).collect())
    }

    fn entry(&mut self, json: &'a str, number: u64, what: &str) -> Option<(String, Entry<'a>)> {
        match Row::parse(json) {
            Ok(row) => self.checked(row, json, number, what),
            Err(error) => {
                self.diagnostics
                    .push(Diagnostic::at(number, format!("a {what} was skipped: {error}")));
                None
            }
        }
    }

    /// An entry with its id, its faults noted.
    fn checked(
        &mut self,
        row: Row<'a>,
        json: &'a str,
        number: u64,
        what: &str,
    ) -> Option<(String, Entry<'a>)> {
        let faults = row.faults();
        for fault in &faults {
            self.diagnostics
                .push(Diagnostic::at(number, format!("a {what} was read in part: {fault}")));
        }
        if !row.read {
            return None;
        }
        let id = row.id.and_then(Text::from_raw).map(|id| id.to_str().into_owned());
        let id = id.unwrap_or_else(|| {
            self.unnamed += 1;
            format!("#{}", self.unnamed)
        });
        let next = self.first_seen.len();
        self.first_seen.entry(id.clone()).or_insert(next);
        Some((id, Entry::new(row, json)))
    }
}

/// The bytes of a session file as text. What is not UTF-8 is replaced, as Node does it.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
