//! The records of a session, applied one after another as the CLI's own loader does it. Pure.
//!
//! What is kept of each message is the caller's choice: the whole record ([`Transcript`](super::Transcript)), its sums
//! ([`Digest`](super::digest::Digest)), or the place where it stands ([`follow`](super::follow)).

use super::Diagnostic;
use super::document::{self, Field};
use super::history::{ById, History, Id, Item, USUAL};
use super::translate::{string, time};
use super::whole::Format;
use super::wire::{Call, Called, Json, Kind, Row};
use crate::model::{Rewrite, Text};
use foldhash::fast::RandomState;
use serde::Deserialize;
use serde_json::value::RawValue;

/// What a session file says about the session as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meta {
    /// The session's id.
    pub session_id: Option<String>,
    /// SHA-256 of the project's path.
    pub project_hash: Option<String>,
    /// The first start, in milliseconds since 1970.
    pub started_at: Option<i64>,
    /// The last change, in milliseconds since 1970.
    pub updated_at: Option<i64>,
    /// `main` or `subagent`.
    pub kind: Option<String>,
    /// What it is about, in the model's words.
    pub summary: Option<String>,
}

impl Meta {
    /// Takes over what a record says. The start stays the first one: a resume writes a new header.
    fn merge<C>(&mut self, row: &Row<'_, C>) {
        let take = |json: Json<'_>, old: &mut Option<String>| {
            if let Some(new) = string(json) {
                *old = Some(new.into_owned());
            }
        };
        take(row.session_id, &mut self.session_id);
        take(row.project_hash, &mut self.project_hash);
        take(row.session_kind, &mut self.kind);
        take(row.summary, &mut self.summary);
        self.started_at = self.started_at.or_else(|| time(row.start_time));
        self.updated_at = time(row.last_updated).or(self.updated_at);
    }
}

/// What a record changed.
#[derive(Debug)]
pub(super) enum Change {
    /// Nothing that a reader would see.
    Nothing,
    /// The message with this id is new, or other than before.
    Message(Id),
    /// Any message may be other than before, or gone.
    Messages(Rewrite),
    /// The record could not be read.
    Skipped(Diagnostic),
}

/// A session while its records are applied.
#[derive(Debug)]
pub(super) struct Replay<T> {
    pub(super) meta: Meta,
    /// The messages that stand.
    pub(super) history: History<T>,
    /// The messages that a later record dropped.
    pub(super) lost: ById<T>,
    /// In which order the ids first came.
    pub(super) first_seen: ById<usize>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// How many more there were than are kept.
    unnoted: u64,
    unnamed: usize,
}

/// How many diagnostics are kept: a file in which every line is odd is odd in the same way.
const NOTED: usize = 20;

impl<T> Default for Replay<T> {
    fn default() -> Self {
        Self {
            meta: Meta::default(),
            history: History::default(),
            lost: ById::default(),
            first_seen: ById::with_capacity_and_hasher(USUAL, RandomState::default()),
            diagnostics: Vec::new(),
            unnoted: 0,
            unnamed: 0,
        }
    }
}

/// Makes what is kept of a message out of its record and the text of it.
pub(super) trait Keep<'a, C, T>: FnMut(Row<'a, C>, &'a str) -> T {}
impl<'a, C, T, F: FnMut(Row<'a, C>, &'a str) -> T> Keep<'a, C, T> for F {}

impl<T: Item> Replay<T> {
    /// Applies a file of either format.
    pub(super) fn read<'a, C: Called<'a>>(
        &mut self,
        text: &'a str,
        keep: &mut impl Keep<'a, C, T>,
    ) {
        if document::is_document(text) {
            self.document(text, |replay, raw: &'a RawValue, position| {
                replay.message(raw.get(), position, keep);
            });
        } else {
            self.lines(text, keep);
        }
    }

    /// Applies a file of which the text of each message is not needed, which saves reading the old format twice.
    pub(super) fn skim<'a, C: Called<'a>>(
        &mut self,
        text: &'a str,
        keep: &mut impl Keep<'a, C, T>,
    ) -> Format {
        let format = Format::of(text);
        match format {
            Format::Json => self.document(text, |replay, row: Row<'a, C>, position| {
                if let Some((id, item)) = replay.checked(row, "", position, keep) {
                    replay.upsert(id, item);
                }
            }),
            Format::Jsonl => self.lines(text, keep),
        }
        format
    }

    fn lines<'a, C: Called<'a>>(&mut self, text: &'a str, keep: &mut impl Keep<'a, C, T>) {
        let mut start = 0;
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]);
        for (number, end) in (1..).zip(ends) {
            let line = text.get(start..end).unwrap_or_default();
            self.line(line, number, end == text.len(), keep);
            start = end + 1;
        }
    }

    /// Applies a document of the old format.
    fn document<'a, M: Deserialize<'a>>(
        &mut self,
        text: &'a str,
        mut take: impl FnMut(&mut Self, M, u64),
    ) {
        let mut head = Row::default();
        let mut deserializer = serde_json::Deserializer::from_str(document::unmarked(text));
        let mut position = 0;
        let read =
            document::read(&mut deserializer, &mut |field: Field<M, &'a RawValue>| match field {
                Field::Message(message) => {
                    position += 1;
                    take(self, message, position);
                }
                Field::Head(key, raw) => document::set(&mut head, &key, raw),
            });
        self.head(&head);
        if let Err(error) = read {
            self.cut(&error);
        }
    }

    /// The fields of a document that are not messages.
    pub(super) fn head(&mut self, head: &Row<'_, Call<'_>>) {
        self.meta.merge(head);
    }

    /// A document that could not be read to its end.
    pub(super) fn cut(&mut self, error: &serde_json::Error) {
        let line = u64::try_from(error.line()).unwrap_or(0);
        self.note(Diagnostic::at(line, format!("skipped the rest: {error}")));
    }

    fn note(&mut self, diagnostic: Diagnostic) {
        if self.unnoted == 0 && self.diagnostics.len() < NOTED {
            return self.diagnostics.push(diagnostic);
        }
        self.unnoted += 1;
        self.diagnostics.truncate(NOTED);
        let more = format!("{} more problems", self.unnoted);
        self.diagnostics.push(Diagnostic::whole(more));
    }

    /// What was noted since this was last asked.
    pub(super) fn take_noted(&mut self) -> Vec<Diagnostic> {
        self.unnoted = 0;
        std::mem::take(&mut self.diagnostics)
    }

    /// Applies one message of a document.
    pub(super) fn message<'a, C: Called<'a>>(
        &mut self,
        json: &'a str,
        position: u64,
        keep: &mut impl Keep<'a, C, T>,
    ) {
        if let Some((id, item)) = self.parse(json, position, keep) {
            self.upsert(id, item);
        }
    }

    /// Applies one line of the new format.
    pub(super) fn line<'a, C: Called<'a>>(
        &mut self,
        line: &'a str,
        number: u64,
        is_last: bool,
        keep: &mut impl Keep<'a, C, T>,
    ) -> Change {
        let line = document::unmarked(line).trim();
        if line.is_empty() {
            return Change::Nothing;
        }
        match Row::<C>::parse(line) {
            Ok(row) => self.apply(row, line, number, keep),
            Err(error) if is_last && error.is_eof() => {
                self.skip(number, "skipped: the last line is incomplete".into())
            }
            Err(error) => self.skip(number, format!("skipped, not JSON: {error}")),
        }
    }

    fn skip(&mut self, number: u64, what: String) -> Change {
        let diagnostic = Diagnostic::at(number, what);
        self.note(diagnostic.clone());
        Change::Skipped(diagnostic)
    }

    fn apply<'a, C: Called<'a>>(
        &mut self,
        row: Row<'a, C>,
        line: &'a str,
        number: u64,
        keep: &mut impl Keep<'a, C, T>,
    ) -> Change {
        match row.what() {
            Kind::Rewind => {
                let gone = self.history.rewind(&string(row.rewind_to).unwrap_or_default());
                self.gone(Rewrite::Rewind, gone)
            }
            Kind::Message => match self.checked(row, line, number, keep) {
                Some((id, item)) => {
                    self.upsert(id.clone(), item);
                    Change::Message(id)
                }
                None => Change::Nothing,
            },
            Kind::Set => {
                let set =
                    row.set.and_then(|raw| Row::<C>::parse(raw.get()).ok()).unwrap_or_default();
                if !set.read {
                    return self.skip(number, "skipped: `$set` is not an object".into());
                }
                self.meta.merge(&set);
                match self.list(set.messages, number, keep) {
                    Some(mut list) => {
                        for (id, item) in &mut list {
                            self.carry_lost(id, item);
                        }
                        let gone = self.history.replace(list);
                        self.gone(Rewrite::Checkpoint, gone)
                    }
                    None => Change::Nothing,
                }
            }
            Kind::Header => {
                self.meta.merge(&row);
                if row.kind.is_some() || row.content.is_some() {
                    let what = "partly read: the record is both a session header and a message";
                    self.note(Diagnostic::at(number, what));
                }
                match self.list(row.messages, number, keep) {
                    Some(list) => {
                        for (id, item) in list {
                            self.upsert(id, item);
                        }
                        Change::Messages(Rewrite::Checkpoint)
                    }
                    None => Change::Nothing,
                }
            }
            Kind::Unknown => {
                let what = row.faults().first().copied().unwrap_or("unknown kind of record");
                self.skip(number, format!("skipped: {what}"))
            }
        }
    }

    fn upsert(&mut self, id: Id, mut item: T) {
        self.carry_lost(&id, &mut item);
        self.history.upsert(id, item);
    }

    /// A message that was dropped and comes back has what it had: a resume first writes an empty list, and then all
    /// messages without their tokens, models and calls.
    fn carry_lost(&mut self, id: &str, item: &mut T) {
        if self.lost.is_empty() {
            return;
        }
        if let Some(earlier) = self.lost.remove(id) {
            item.carry(&earlier);
        }
    }

    fn gone(&mut self, why: Rewrite, gone: Vec<(Id, T)>) -> Change {
        self.lost.extend(gone);
        let history = &self.history;
        self.lost.retain(|id, _| !history.contains(id));
        Change::Messages(why)
    }

    /// A list of messages inside a record.
    fn list<'a, C: Called<'a>>(
        &mut self,
        messages: Json<'a>,
        number: u64,
        keep: &mut impl Keep<'a, C, T>,
    ) -> Option<Vec<(Id, T)>> {
        let raw = messages?;
        let Ok(raws) = serde_json::from_str::<Vec<&RawValue>>(raw.get()) else {
            self.skip(number, "skipped: `messages` is not a list".into());
            return None;
        };
        Some(raws.into_iter().filter_map(|raw| self.parse(raw.get(), number, keep)).collect())
    }

    fn parse<'a, C: Called<'a>>(
        &mut self,
        json: &'a str,
        number: u64,
        keep: &mut impl Keep<'a, C, T>,
    ) -> Option<(Id, T)> {
        match Row::<C>::parse(json) {
            Ok(row) => self.checked(row, json, number, keep),
            Err(error) => {
                self.skip(number, format!("skipped a message: {error}"));
                None
            }
        }
    }

    /// What is kept of a message, with its id; its faults are noted.
    fn checked<'a, C: Called<'a>>(
        &mut self,
        row: Row<'a, C>,
        json: &'a str,
        number: u64,
        keep: &mut impl Keep<'a, C, T>,
    ) -> Option<(Id, T)> {
        for fault in row.faults() {
            self.note(Diagnostic::at(number, format!("partly read a message: {fault}")));
        }
        if !row.read {
            return None;
        }
        let id = row.id.and_then(Text::from_raw).map(|id| Id::from(id.to_str()));
        let id = id.unwrap_or_else(|| {
            self.unnamed += 1;
            format!("#{}", self.unnamed).into()
        });
        let order = self.first_seen.len();
        self.first_seen.entry(id.clone()).or_insert(order);
        Some((id, keep(row, json)))
    }
}
