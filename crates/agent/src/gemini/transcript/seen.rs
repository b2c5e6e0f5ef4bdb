//! What a follower remembers of a message: where its records stand in the file, and what it last told of it.

use super::entry::Entry;
use super::history::Item;
use super::translate::{self, Folded, string};
use super::wire::{Call, Row};
use crate::model::{Message, Role};
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

/// A message of a file that is followed.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    id: u64,
    role: Role,
    words: u64,
    /// The records that the message is made of, oldest first, each with what it holds.
    places: Vec<(Place, u8)>,
    /// Records that brought responses to calls which had none of their own.
    pub(super) responses: Vec<Place>,
    /// The calls in it; true where the result is known.
    pub(super) calls: Vec<(u64, bool)>,
    /// The calls that it answers.
    pub(super) answers: Vec<u64>,
    /// The message as it was last told of.
    pub(super) told: Option<u64>,
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
        let listed = |id: &str| {
            let mut listed = row.tool_calls.items.iter();
            listed
                .any(|call| string(call.id).as_deref() == Some(id) && !call.result.items.is_empty())
        };
        Self {
            id: hash(string(row.id).unwrap_or_default()),
            role: entry.role(),
            words: hash(entry.content.words().trim()),
            places: vec![(place, holds)],
            responses: Vec::new(),
            calls: entry.call_ids().map(|id| (hash(&id), listed(&id))).collect(),
            answers: entry
                .content
                .responses()
                .filter_map(|response| string(response.id))
                .map(hash)
                .collect(),
            told: None,
        }
    }

    /// The place of the newest record.
    pub(super) fn place(&self) -> Option<&Place> {
        self.places.last().map(|(place, _)| place)
    }

    fn holds(&self) -> u8 {
        self.places.iter().fold(0, |all, (_, holds)| all | holds)
    }

    /// The message, built again from its records; none where it only answers calls that are told elsewhere.
    pub(super) fn message(
        &self,
        id: &str,
        is_call: &dyn Fn(u64) -> bool,
        fetch: &mut Fetch<'_>,
    ) -> io::Result<Option<Message<'static>>> {
        let texts = self
            .places
            .iter()
            .map(|(place, _)| text(place, fetch))
            .collect::<io::Result<Vec<_>>>()?;
        let answers = self
            .responses
            .iter()
            .map(|place| text(place, fetch))
            .collect::<io::Result<Vec<_>>>()?;
        let mut built: Option<Entry<'_>> = None;
        for text in &texts {
            let Ok(row) = Row::parse(text) else { continue };
            let mut entry = Entry::new(row, text);
            if let Some(earlier) = &built {
                entry.carry(earlier);
            }
            built = Some(entry);
        }
        let Some(entry) = built else { return Ok(None) };
        let answers: Vec<Entry<'_>> = answers
            .iter()
            .filter_map(|text| Some(Entry::new(Row::parse(text).ok()?, text)))
            .collect();
        let mut folded = Folded::over(std::iter::once(&entry).chain(&answers));
        folded.know(entry.content.responses(), |id| is_call(hash(id)));
        Ok(translate::message(id, &entry, &folded).map(Message::into_owned))
    }
}

fn text(place: &Place, fetch: &mut Fetch<'_>) -> io::Result<String> {
    match place {
        Place::Kept(text) => Ok(text.to_string()),
        Place::At(range) => Ok(String::from_utf8_lossy(&fetch(range.clone())?).into_owned()),
    }
}

impl Item for Seen {
    fn carry(&mut self, earlier: &Self) {
        let lacks = earlier.holds() & !self.holds() != 0;
        let renamed = self.id != earlier.id;
        if lacks || renamed || earlier.places.len() > 1 {
            let mut held = 0;
            // A copy of a copy adds nothing; the oldest record tells the time.
            let mut places: Vec<_> = Vec::new();
            for (place, holds) in &earlier.places {
                if places.is_empty() || *holds & !held != 0 {
                    places.push((place.clone(), *holds));
                    held |= holds;
                }
            }
            places.append(&mut self.places);
            self.places = places;
        }
        if !renamed {
            self.told = earlier.told;
            self.responses.clone_from(&earlier.responses);
        }
        if self.calls.is_empty() {
            self.calls.clone_from(&earlier.calls);
        }
    }

    fn continues(&self, earlier: &Self) -> bool {
        if self.role != earlier.role || self.calls.is_empty() != earlier.calls.is_empty() {
            return false;
        }
        if !self.calls.is_empty() {
            return self
                .calls
                .iter()
                .any(|(id, _)| earlier.calls.iter().any(|(other, _)| id == other));
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
