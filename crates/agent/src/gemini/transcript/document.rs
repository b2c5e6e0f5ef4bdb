//! The old format: one JSON object with all messages, read so that what stands before a cut is not lost.

use super::text;
use super::wire::{Call, Row};
use crate::gemini::loose::{Key, wrong_is_default};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

/// Something of the document, in the order in which it stands there.
pub(super) enum Field<M, H> {
    /// One of `messages`.
    Message(M),
    /// Another key and its value.
    Head(String, H),
}

/// True where a text is a document of the old format and not a log.
///
/// A log's first line is a whole object. The old format is written with line breaks; where it is not, it is a log of one
/// line, and read as such. What begins as an object and breaks off is whichever of the two its later lines look like.
pub(super) fn is_document(text: &str) -> bool {
    let text = unmarked(text).trim_start();
    let first = text.lines().next().unwrap_or_default();
    let whole = |line: &str| serde_json::from_str::<IgnoredAny>(line).is_ok();
    if !text.starts_with('{') || whole(first) {
        return false;
    }
    !text.lines().skip(1).take(3).any(|line| line.starts_with('{') && whole(line))
}

/// A text without the mark that some editors put in front.
pub(super) fn unmarked(text: &str) -> &str {
    text.trim_start_matches('\u{feff}')
}

/// A document as [`text`] reads it, without holding it: what is not UTF-8 is replaced, and does not end it.
pub(super) fn mended(reader: impl BufRead) -> impl Read {
    // The parser asks for one byte at a time.
    BufReader::new(Mended { reader, line: Vec::new(), at: 0 })
}

/// No letter is parted by a line end, so each line can be mended alone.
struct Mended<R> {
    reader: R,
    line: Vec<u8>,
    at: usize,
}

impl<R: BufRead> Read for Mended<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.at == self.line.len() {
            self.at = 0;
            self.line.clear();
            self.reader.read_until(b'\n', &mut self.line)?;
            if let Cow::Owned(mended) = text(&self.line) {
                self.line = mended.into_bytes();
            }
        }
        let read = self.line.get(self.at..).unwrap_or_default().read(room)?;
        self.at += read;
        Ok(read)
    }
}

/// Reads a document and hands out its fields as they come. Whatever came before an error has been handed out.
pub(super) fn read<'de, M, H, D>(
    deserializer: D,
    on: &mut dyn FnMut(Field<M, H>),
) -> Result<(), D::Error>
where
    M: Deserialize<'de>,
    H: Deserialize<'de>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_map(Document(on))
}

struct Document<'f, M, H>(&'f mut dyn FnMut(Field<M, H>));

impl<'de, M: Deserialize<'de>, H: Deserialize<'de>> Visitor<'de> for Document<'_, M, H> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a session")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Key<'de>>()? {
            if key.0 == "messages" {
                map.next_value_seed(Messages(self.0))?;
            } else {
                (self.0)(Field::Head(key.0.into_owned(), map.next_value()?));
            }
        }
        Ok(())
    }
}

struct Messages<'f, M, H>(&'f mut dyn FnMut(Field<M, H>));

impl<'de, M: Deserialize<'de>, H> DeserializeSeed<'de> for Messages<'_, M, H> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, M: Deserialize<'de>, H> Visitor<'de> for Messages<'_, M, H> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(message) = seq.next_element()? {
            (self.0)(Field::Message(message));
        }
        Ok(())
    }

    /// By whatever key: they are messages all the same.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((IgnoredAny, message)) = map.next_entry()? {
            (self.0)(Field::Message(message));
        }
        Ok(())
    }

    // What is no message at all is read over, so that what stands after it is read.
    wrong_is_default!(());
}

/// Puts one of the document's other keys into a record, as if it had come on a line of its own.
pub(super) fn set<'a>(row: &mut Row<'a, Call<'a>>, key: &str, raw: &'a RawValue) {
    let field = match key {
        "sessionId" => &mut row.session_id,
        "projectHash" => &mut row.project_hash,
        "startTime" => &mut row.start_time,
        "lastUpdated" => &mut row.last_updated,
        "kind" => &mut row.session_kind,
        "summary" => &mut row.summary,
        "directories" => &mut row.directories,
        _ => return,
    };
    *field = Some(raw);
}
