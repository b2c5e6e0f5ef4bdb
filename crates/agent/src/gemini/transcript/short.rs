//! A session file without its long texts, for those who only count.
//!
//! Nearly all of a session file is what was said and what tools gave back, and the sums need hardly any of it. So each long
//! string is put aside by looking for its end alone, which costs a fraction of reading it, and a mark stands in its place.
//! All else stays as it is, byte for byte: what is left is JSON exactly where the whole is, and says the same. Where that
//! cannot be promised, there is no short text, and the file is read the long way.

use serde_json::value::RawValue;
use wide::u8x32;

/// What stands in the place of a long string. It is not blank, and neither is what it stands for.
pub(super) const MARK: &str = "\u{fffc}";

/// A string of up to so many bytes is not worth putting aside.
const LONG: usize = 128;

/// Keys whose strings are read for what they say, however long: all such keys of `wire` but those of texts.
const KEPT: [&str; 14] = [
    "$rewindTo",
    "id",
    "timestamp",
    "type",
    "model",
    "sessionId",
    "projectHash",
    "startTime",
    "lastUpdated",
    "kind",
    "summary",
    "name",
    "status",
    "displayName",
];

/// A text without its long strings.
#[derive(Debug)]
pub(super) struct Short<'a> {
    whole: &'a str,
    text: String,
    cuts: Vec<Cut>,
}

/// The end of a string that was put aside, in both texts.
#[derive(Debug, Clone, Copy)]
struct Cut {
    whole: usize,
    short: usize,
}

impl<'a> Short<'a> {
    /// The short text; none where a string does not end, or not on its line.
    pub(super) fn of(whole: &'a str) -> Option<Self> {
        let bytes = whole.as_bytes();
        let mut short = Self { whole, text: String::new(), cuts: Vec::new() };
        let (mut open, mut escaped, mut is_plain) = (None, 0, true);
        let (mut key, mut copied) = ("", 0);
        for stop in Stops::of(bytes) {
            match (bytes.get(stop)?, open) {
                _ if stop < escaped => {}
                (b'"', None) => (open, is_plain) = (Some(stop + 1), true),
                (b'"', Some(start)) => {
                    open = None;
                    let string = whole.get(start..stop)?;
                    if is_key(bytes.get(stop + 1..)?) {
                        key = string;
                    } else if string.len() > LONG
                        && is_plain
                        && !is_kept(key)
                        && says_something(string)
                    {
                        short.text.push_str(whole.get(copied..start)?);
                        short.text.push_str(MARK);
                        short.cuts.push(Cut { whole: stop, short: short.text.len() });
                        copied = stop;
                    }
                }
                (b'\n', Some(_)) => return None,
                (b'\\', Some(_)) => {
                    is_plain &= bytes.get(stop + 1).is_some_and(|byte| is_escape(*byte));
                    escaped = stop + 2;
                }
                (_, Some(_)) => is_plain = false,
                (_, None) => {}
            }
        }
        short.text.push_str(whole.get(copied..)?);
        open.is_none().then_some(short)
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// A value of the short text as it stands in the whole.
    pub(super) fn whole<'s>(&'s self, raw: &'s RawValue) -> Option<&'s RawValue> {
        let start = raw.get().as_ptr().addr().checked_sub(self.text.as_ptr().addr())?;
        let place = self.place(start)?..self.place(start + raw.get().len())?;
        serde_json::from_str(self.whole.get(place)?).ok()
    }

    /// The same place in the whole text.
    fn place(&self, short: usize) -> Option<usize> {
        let before = self.cuts.partition_point(|cut| cut.short <= short);
        match before.checked_sub(1) {
            None => Some(short),
            Some(last) => self.cuts.get(last).map(|cut| cut.whole + (short - cut.short)),
        }
    }
}

/// The places of the quotes, backslashes and control characters of a text.
struct Stops<'b> {
    bytes: &'b [u8],
    /// Where the bytes begin that are looked at now.
    at: usize,
    /// One bit for each stop among them.
    bits: u32,
}

/// How many bytes are looked at at once.
const BLOCK: usize = 32;

impl<'b> Stops<'b> {
    fn of(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0, bits: bits(bytes) }
    }
}

impl Iterator for Stops<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while self.bits == 0 {
            self.at += BLOCK;
            self.bits = bits(self.bytes.get(self.at..)?);
        }
        let stop = self.at + self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(stop)
    }
}

/// The stops of a text's first bytes.
fn bits(text: &[u8]) -> u32 {
    let block = u8x32::new(text.first_chunk().copied().unwrap_or_else(|| {
        let mut last = [b' '; BLOCK];
        last.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
        last
    }));
    let quotes = block.simd_eq(u8x32::splat(b'"'));
    let backslashes = block.simd_eq(u8x32::splat(b'\\'));
    let controls = block.min(u8x32::splat(0x1f)).simd_eq(block);
    (quotes | backslashes | controls).to_bitmask()
}

/// True for what may follow a backslash. The rarer escapes (`\u0041`) are left to those who read all.
fn is_escape(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')
}

/// True where a string is neither blank nor a number, as far as its first characters tell.
fn says_something(string: &str) -> bool {
    let mut is_escaped = false;
    string.chars().take(64).any(|c| {
        let says =
            !is_escaped && !c.is_whitespace() && !c.is_ascii_digit() && c != '+' && c != '\\';
        is_escaped = c == '\\' && !is_escaped;
        says
    })
}

/// True where a colon follows.
fn is_key(after: &[u8]) -> bool {
    after.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

/// A key with an escape in it may be any.
fn is_kept(key: &str) -> bool {
    KEPT.contains(&key) || key.contains('\\')
}

#[cfg(test)]
mod tests {
    use super::super::digest::{digest, digest_whole};
    use super::{MARK, Short};
    use proptest::prelude::*;
    use serde_json::json;

    fn agree(text: &str) {
        assert_eq!(format!("{:?}", digest(text)), format!("{:?}", digest_whole(text)), "{text}");
    }

    /// Texts long and short, with all that makes a string hard to find the end of.
    fn words() -> impl Strategy<Value = String> {
        let word = prop_oneof![
            Just("fox ".to_owned()),
            Just("\"".to_owned()),
            Just("\\".to_owned()),
            Just("\n".to_owned()),
            Just(" ".to_owned()),
            Just("7".to_owned()),
            Just("ü🦊".to_owned()),
            Just("<session_context>".to_owned()),
            Just("</session_context>".to_owned()),
            Just(MARK.to_owned()),
            Just("\u{1}".to_owned()),
        ];
        let length = prop_oneof![0..4_usize, 0..200_usize];
        (prop::collection::vec(word, 1..6), length)
            .prop_map(|(words, times)| words.concat().repeat(times))
    }

    /// Any JSON value in which the keys of session files are likely, and long strings too.
    fn value() -> impl Strategy<Value = serde_json::Value> {
        let key = prop::sample::select(vec![
            "id",
            "type",
            "content",
            "text",
            "timestamp",
            "model",
            "toolCalls",
            "name",
            "result",
            "functionResponse",
            "functionCall",
            "response",
            "output",
            "thoughts",
            "description",
            "tokens",
            "total",
            "displayContent",
            "$set",
            "$rewindTo",
            "messages",
            "sessionId",
            "summary",
            "status",
            "other",
        ]);
        let kind = prop::sample::select(vec!["user", "gemini", "info"]);
        let leaf = prop_oneof![
            4 => words().prop_map(Into::into),
            2 => kind.prop_map(Into::into),
            1 => (0..3_u8).prop_map(Into::into),
            1 => Just(serde_json::Value::Null),
        ];
        leaf.prop_recursive(5, 24, 6, move |inner| {
            prop_oneof![
                1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                3 => prop::collection::vec((key.clone(), inner), 0..8).prop_map(|entries| {
                    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
                }),
            ]
        })
    }

    /// A message that is one.
    fn message() -> impl Strategy<Value = serde_json::Value> {
        let kind = prop::sample::select(vec!["user", "gemini", "info"]);
        (kind, words(), words(), words(), value(), 0..5_u8).prop_map(|(kind, text, output, shown, any, id)| {
            json!({
                "id": id.to_string(), "type": kind, "timestamp": "2026-11-15T00:00:00Z",
                "content": [{ "text": text }, { "functionResponse": { "id": "c", "response": { "output": output } } }, any],
                "displayContent": shown, "model": any, "thoughts": [{ "subject": "", "description": shown }],
                "toolCalls": [{ "id": "c", "name": "read_file", "result": [{ "text": output }], "resultDisplay": any }],
            })
        })
    }

    fn lines(rows: &[serde_json::Value]) -> String {
        rows.iter().flat_map(|row| [row.to_string(), "\n".to_owned()]).collect()
    }

    proptest! {
        #[test]
        fn a_log_sums_up_to_the_same_without_its_long_texts(
            rows in prop::collection::vec(prop_oneof![message(), value()], 0..6),
        ) {
            agree(&lines(&rows));
        }

        #[test]
        fn a_document_sums_up_to_the_same_without_its_long_texts(
            messages in prop::collection::vec(prop_oneof![message(), value()], 0..6), summary in words(),
        ) {
            let document = json!({ "sessionId": "s", "messages": messages, "summary": summary });
            agree(&serde_json::to_string_pretty(&document).unwrap());
        }

        #[test]
        fn what_is_broken_anywhere_is_told_as_it_is_without_short_cuts(
            rows in prop::collection::vec(message(), 1..4),
            place in any::<prop::sample::Index>(),
            broken in prop::sample::select(vec!["\"", "\\", "\\u12", "\\ud83d", "\n", "\u{1}", "}", "{", ",", "", "\t", "9"]),
            is_pretty: bool,
        ) {
            let text = if is_pretty {
                serde_json::to_string_pretty(&json!({ "sessionId": "s", "messages": rows })).unwrap()
            } else {
                lines(&rows)
            };
            let at = text.floor_char_boundary(place.index(text.len()));
            let (before, after) = text.split_at(at);
            agree(&format!("{before}{broken}{after}"));
            agree(before);
        }
    }

    #[test]
    fn a_long_text_is_put_aside_and_found_again() {
        let long = "a \"fox\"\n".repeat(50);
        let text =
            json!({ "id": long, "content": [{ "text": long }, { "text": "short" }] }).to_string();
        let short = Short::of(&text).unwrap();
        let read: serde_json::Value = serde_json::from_str(short.text()).unwrap();
        assert_eq!(read["id"], *long);
        assert_eq!(read["content"], json!([{ "text": MARK }, { "text": "short" }]));
        let raw: std::collections::BTreeMap<String, &serde_json::value::RawValue> =
            serde_json::from_str(short.text()).unwrap();
        let whole = short.whole(raw["content"]).unwrap();
        assert!(text.contains(&format!("\"content\":{whole}")), "{whole}");
    }
}
