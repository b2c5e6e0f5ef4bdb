//! A session file without its long texts, for those who only count.
//!
//! Nearly all of a session file is what was said and what tools gave back, and the sums need hardly any of it. So each long
//! string is put aside by looking for its end alone, which costs a fraction of reading it, and a mark stands in its place.
//! All else stays as it is, byte for byte: what is left is JSON exactly where the whole is, and says the same. Where that
//! cannot be promised, there is no short text, and the file is read the long way.

use memchr::memchr;
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
    /// The short text; none where a string does not end.
    pub(super) fn of(whole: &'a str) -> Option<Self> {
        let mut short = Self { whole, text: String::new(), cuts: Vec::new() };
        let mut key = "";
        let (mut at, mut copied) = (0, 0);
        let bytes = whole.as_bytes();
        while let Some(quote) = bytes.get(at..)?.iter().position(|byte| *byte == b'"') {
            let start = at + quote + 1;
            let Found { end, is_plain } = find(bytes, start)?;
            at = end + 1;
            let string = whole.get(start..end)?;
            // A string that goes over the end of its line does not end where it seems to.
            if !is_plain && memchr(b'\n', string.as_bytes()).is_some() {
                return None;
            }
            if is_key(bytes.get(at..)?) {
                key = string;
            } else if string.len() > LONG && is_plain && !is_kept(key) && says_something(string) {
                short.text.push_str(whole.get(copied..start)?);
                short.text.push_str(MARK);
                copied = end;
                short.cuts.push(Cut { whole: end, short: short.text.len() });
            }
        }
        short.text.push_str(whole.get(copied..)?);
        Some(short)
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

/// A string, as far as its end has been looked for.
struct Found {
    /// Where its closing quote stands.
    end: usize,
    /// True where every reader takes what is inside for a string. Rarer escapes (`\u0041`) are not promised.
    is_plain: bool,
}

/// How many bytes are looked at at once.
const BLOCK: usize = 32;

/// Looks for the end of a string, from one quote, escape or control character to the next.
fn find(bytes: &[u8], start: usize) -> Option<Found> {
    let (mut at, mut is_plain) = (start, true);
    loop {
        let mut stops = stops(bytes, at)?;
        let mut next = at + BLOCK;
        while stops != 0 {
            let stop = at + stops.trailing_zeros() as usize;
            stops &= stops - 1;
            match bytes.get(stop)? {
                b'"' => return Some(Found { end: stop, is_plain }),
                b'\\' => {
                    is_plain &= bytes.get(stop + 1).is_some_and(|byte| is_escape(*byte));
                    // What is escaped stops nobody, in this block or in the next.
                    stops &= u32::MAX.checked_shl(u32::try_from(stop + 2 - at).ok()?).unwrap_or(0);
                    next = next.max(stop + 2);
                }
                _ => is_plain = false,
            }
        }
        at = next;
    }
}

/// The quotes, backslashes and control characters of a block, one bit for each.
fn stops(bytes: &[u8], at: usize) -> Option<u32> {
    let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
    let block = u8x32::new(rest.first_chunk().copied().unwrap_or_else(|| {
        let mut last = [b' '; BLOCK];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        last
    }));
    let quotes = block.simd_eq(u8x32::splat(b'"'));
    let backslashes = block.simd_eq(u8x32::splat(b'\\'));
    let controls = block.min(u8x32::splat(0x1f)).simd_eq(block);
    Some((quotes | backslashes | controls).to_bitmask())
}

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

    proptest! {
        #[test]
        fn a_log_sums_up_to_the_same_without_its_long_texts(
            rows in prop::collection::vec(prop_oneof![message(), value()], 0..6),
        ) {
            agree(&rows.iter().map(|row| format!("{row}\n")).collect::<String>());
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
                rows.iter().map(|row| format!("{row}\n")).collect()
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
