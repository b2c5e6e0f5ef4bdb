//! What a follower remembers of a message: where its records stand in the file, and what it last told of it.

use super::entry::Entry;
use super::history::Item;
use super::translate::{self, Folded, string};
use super::wire::{Call, Row};
use crate::model::{Message, Role};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::ops::Range;

/// Where a record stands: in the file, or, where the file is not UTF-8 there, here.
#[derive(Debug, Clone)]
pub(super) enum Place {
    At(Range<u64>),
    Kept(Box<str>),
}

/// Gets the bytes of a file again.
pub(super) type Fetch<'f> = dyn FnMut(Range<u64>) -> io::Result<Vec<u8>> + 'f;

/// What a record holds that a later one may lack.
mod holds {
    pub(super) const CALLS: u8 = 1;
    pub(super) const THOUGHTS: u8 = 2;
    pub(super) const TOKENS: u8 = 4;
    pub(super) const MODEL: u8 = 8;
}

/// A record of a message, with what it holds and the calls in it.
#[derive(Debug, Clone)]
struct Written {
    place: Place,
    holds: u8,
    /// The calls in `toolCalls`.
    listed: Vec<u64>,
    /// All calls, those in the content too.
    calls: Vec<u64>,
}

/// A message of a file that is followed.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    id: u64,
    role: Role,
    words: u64,
    /// The records that the message is made of, oldest first.
    records: Vec<Written>,
    /// The record that tells the time, where the newest does not: a copy under a new id is younger than the message.
    time: Option<Place>,
    /// The calls that it answers.
    pub(super) answers: Vec<u64>,
}

impl Seen {
    pub(super) fn new<'a>(row: Row<'a, Call<'a>>, json: &'a str, place: Place) -> Self {
        let entry = Entry::new(row, json);
        let row = &entry.row;
        let held = |is: bool, what: u8| if is { what } else { 0 };
        let holds = held(!row.tool_calls.items.is_empty(), holds::CALLS)
            | held(!row.thoughts.items.is_empty(), holds::THOUGHTS)
            | held(row.tokens.is_some(), holds::TOKENS)
            | held(row.model.is_some(), holds::MODEL);
        Self {
            id: hash(string(row.id).unwrap_or_default()),
            role: entry.role(),
            words: hash(entry.content.words().trim()),
            records: vec![Written {
                place,
                holds,
                listed: row
                    .tool_calls
                    .items
                    .iter()
                    .filter_map(|call| string(call.id))
                    .map(hash)
                    .collect(),
                calls: entry.call_ids().map(hash).collect(),
            }],
            time: None,
            answers: entry
                .content
                .responses()
                .filter_map(|response| string(response.id))
                .map(hash)
                .collect(),
        }
    }

    /// The place of the newest record.
    pub(super) fn place(&self) -> Option<&Place> {
        self.records.last().map(|record| &record.place)
    }

    /// The calls in it, of its earlier records too.
    pub(super) fn calls(&self) -> impl Iterator<Item = u64> {
        self.records.iter().rev().flat_map(|record| &record.calls).copied()
    }

    fn holds(&self) -> u8 {
        self.records.iter().fold(0, |all, record| all | record.holds)
    }

    /// The message, built again from its records, with the records before and after it that answer its calls; none
    /// where it only answers calls that are told elsewhere.
    pub(super) fn message(
        &self,
        id: &str,
        answers: (&[Place], &[Place]),
        is_call: &dyn Fn(u64) -> bool,
        fetch: &mut Fetch<'_>,
    ) -> io::Result<Option<Message<'static>>> {
        let mut texts = |places: &mut dyn Iterator<Item = &Place>| {
            places.map(|place| text(place, fetch)).collect::<io::Result<Vec<String>>>()
        };
        let before = texts(&mut answers.0.iter())?;
        let after = texts(&mut answers.1.iter())?;
        let time = texts(&mut self.time.iter())?;
        let texts = texts(&mut self.records.iter().map(|record| &record.place))?;
        let mut built: Option<Entry<'_>> = None;
        for text in &texts {
            let Ok(row) = Row::parse(text) else { continue };
            let mut entry = Entry::new(row, text);
            if let Some(earlier) = &built {
                entry.carry(earlier);
            }
            built = Some(entry);
        }
        let Some(mut entry) = built else { return Ok(None) };
        if let Some(time) = time.first().and_then(|text| entry_of(text)?.row.timestamp) {
            entry.row.timestamp = Some(time);
        }
        let before: Vec<Entry<'_>> = before.iter().filter_map(|text| entry_of(text)).collect();
        let after: Vec<Entry<'_>> = after.iter().filter_map(|text| entry_of(text)).collect();
        let mut folded = Folded::over(before.iter().chain([&entry]).chain(&after));
        folded.know(entry.content.responses(), |id| is_call(hash(id)));
        Ok(translate::message(id, &entry, &folded).map(Message::into_owned))
    }
}

fn entry_of(text: &str) -> Option<Entry<'_>> {
    Some(Entry::new(Row::parse(text).ok()?, text))
}

fn text(place: &Place, fetch: &mut Fetch<'_>) -> io::Result<String> {
    match place {
        Place::Kept(text) => Ok(text.to_string()),
        Place::At(range) => Ok(String::from_utf8_lossy(&fetch(range.clone())?).into_owned()),
    }
}

impl Item for Seen {
    fn carry(&mut self, earlier: &Self) {
        if self.role != earlier.role {
            return;
        }
        // Of what this record lacks, the newest earlier record that has it speaks.
        let mut held = self.holds();
        let mut calls: HashSet<u64> = self.calls().collect();
        let mut listed: HashSet<u64> =
            self.records.iter().flat_map(|record| &record.listed).copied().collect();
        let mut records = std::mem::take(&mut self.records);
        for record in earlier.records.iter().rev() {
            let has_more_calls = record.calls.iter().any(|call| !calls.contains(call))
                || record.listed.iter().any(|call| !listed.contains(call));
            if record.holds & !held != 0 || has_more_calls {
                records.insert(0, record.clone());
                held |= record.holds;
                calls.extend(&record.calls);
                listed.extend(&record.listed);
            }
        }
        self.records = records;
        if self.id != earlier.id || earlier.time.is_some() {
            self.time = earlier.time.clone().or_else(|| earlier.place().cloned());
        }
    }

    fn continues(&self, earlier: &Self) -> bool {
        let (mine, theirs): (Vec<u64>, Vec<u64>) =
            (self.calls().collect(), earlier.calls().collect());
        if self.role != earlier.role || mine.is_empty() != theirs.is_empty() {
            return false;
        }
        if !mine.is_empty() {
            return mine.iter().any(|id| theirs.contains(id));
        }
        self.words != hash("") && self.words == earlier.words
    }
}

/// A number for a text, to be compared within one process.
pub(super) fn hash(text: impl AsRef<str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.as_ref().hash(&mut hasher);
    hasher.finish()
}

/// A number for a message as a reader sees it: two that look alike have the same, whatever their records look like.
pub(super) fn fingerprint(message: &Message<'_>) -> u64 {
    struct Into(DefaultHasher);
    impl Write for Into {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut into = Into(DefaultHasher::new());
    let look = (
        &message.role,
        &message.content,
        message.timestamp,
        &message.model,
        message.usage,
        message.meta,
    );
    let written = serde_json::to_writer(&mut into, &look);
    debug_assert!(written.is_ok(), "a message can be written");
    into.0.finish()
}
