//! A session file without its long texts, for those who only count.
//!
//! Nearly all of a session file is what was said and what tools gave back, and the sums need hardly any of it. So each long
//! string is put aside by looking for its end alone, which costs a fraction of reading it, and a mark stands in its place.
//! All else stays as it is, byte for byte: what is left is JSON exactly where the whole is, and says the same. Where that
//! cannot be promised, there is no short text, and the file is read the long way.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x64};
use serde_json::value::RawValue;

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

/// The memory of a short text that is no longer needed, for the next one.
#[derive(Debug, Default)]
pub(super) struct Spare {
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
    /// The short text; none where a string does not end on its line, or holds what no string may hold.
    pub(super) fn of(whole: &'a str, spare: &mut Spare) -> Option<Self> {
        let reader = Reader::of(whole, std::mem::take(spare));
        dispatch!(Level::new(), simd => reader.read(simd))
    }

    /// Gives its memory back.
    pub(super) fn spare(self) -> Spare {
        Spare { text: self.text, cuts: self.cuts }
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

/// A text while its strings are looked for.
struct Reader<'a> {
    short: Short<'a>,
    /// Where the string begins that is open.
    open: Option<usize>,
    /// True while no rare escape was in it.
    is_plain: bool,
    /// How much of the whole is in the short text, or put aside.
    copied: usize,
}

impl<'a> Reader<'a> {
    fn of(whole: &'a str, Spare { mut text, mut cuts }: Spare) -> Self {
        text.clear();
        cuts.clear();
        let short = Short { whole, text, cuts };
        Self { short, open: None, is_plain: true, copied: 0 }
    }

    /// Reads all blocks, with what this processor has for it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "else it is not compiled for this processor")]
    fn read<S: Simd>(mut self, simd: S) -> Option<Short<'a>> {
        let whole = self.short.whole;
        let mut is_escaped = false;
        let (blocks, rest) = whole.as_bytes().as_chunks();
        for (at, bytes) in blocks.iter().enumerate() {
            let block = Block::of(simd, bytes, &mut is_escaped);
            // Most blocks are in the midst of a long text.
            if block.quotes | block.controls | block.rare != 0 || self.open.is_none() {
                self.take(at * BLOCK, &block)?;
            }
        }
        let mut last = [b' '; BLOCK];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        self.take(whole.len() - rest.len(), &Block::of(simd, &last, &mut is_escaped))?;
        self.short.text.push_str(whole.get(self.copied..)?);
        self.open.is_none().then_some(self.short)
    }

    /// Reads one block; none where it is not JSON.
    fn take(&mut self, start: usize, block: &Block) -> Option<()> {
        let inside = block.inside(self.open.is_some());
        if block.controls & inside != 0 || block.backslashes & !inside != 0 {
            return None;
        }
        if block.quotes == 0 {
            self.is_plain &= block.rare == 0;
            return Some(());
        }
        // A string that begins and ends within a block is not long: only its first quote and its last one matter.
        let (first, last) = (block.quotes.trailing_zeros(), block.quotes.ilog2());
        if let Some(begun) = self.open.take() {
            let before = (1 << first) - 1;
            self.is_plain &= block.rare & before == 0;
            self.string(begun, start + first as usize)?;
        }
        if inside >> (BLOCK - 1) == 1 {
            self.open = Some(start + last as usize + 1);
            self.is_plain = block.rare >> last == 0;
        }
        Some(())
    }

    /// A string that has come to its end.
    fn string(&mut self, start: usize, end: usize) -> Option<()> {
        if end - start <= LONG || !self.is_plain {
            return Some(());
        }
        let whole = self.short.whole;
        let before = whole.get(..start - 1)?;
        if !is_key(whole.as_bytes().get(end + 1..)?)
            && !is_kept(key(before))
            && says_something(whole.get(start..end)?)
        {
            self.short.text.push_str(whole.get(self.copied..start)?);
            self.short.text.push_str(MARK);
            self.short.cuts.push(Cut { whole: end, short: self.short.text.len() });
            self.copied = end;
        }
        Some(())
    }
}

/// How many bytes are looked at at once.
const BLOCK: usize = 64;

/// What is where in a block: one bit for each byte.
struct Block {
    /// The quotes that open or end a string.
    quotes: u64,
    backslashes: u64,
    controls: u64,
    /// The bytes after a backslash that make no short escape with it.
    rare: u64,
}

impl Block {
    /// Reads a block, of which the very first byte may be escaped.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "else it is not compiled for this processor")]
    fn of<S: Simd>(simd: S, bytes: &[u8; BLOCK], is_escaped: &mut bool) -> Self {
        let lanes: u8x64<S> = (*bytes).simd_into(simd);
        let quotes = lanes.simd_eq(b'"').to_bitmask();
        let backslashes = lanes.simd_eq(b'\\').to_bitmask();
        let controls = lanes.simd_lt(b' ').to_bitmask();
        // Prose has hardly any escapes.
        if backslashes == 0 && !*is_escaped {
            return Self { quotes, backslashes, controls, rare: 0 };
        }
        let escaped = escaped(backslashes, is_escaped);
        // Nearly all that is escaped besides these two is a line end: what is left is looked at one by one, and is seldom there.
        let usual = quotes | backslashes | lanes.simd_eq(b'n').to_bitmask();
        let rare = rare(escaped & !usual, bytes);
        Self { quotes: quotes & !escaped, backslashes, controls, rare }
    }

    /// The bytes that are inside of strings, their opening quotes among them.
    fn inside(&self, is_open: bool) -> u64 {
        // Each bit becomes the sum of all bits up to it, so it flips with each quote.
        let sums = [1, 2, 4, 8, 16, 32].iter().fold(self.quotes, |sums, by| sums ^ (sums << by));
        if is_open { !sums } else { sums }
    }
}

/// The bytes after a backslash that is not itself escaped, and whether the next block begins with one.
///
/// Taking the backslashes from the bits after them lets a carry run through each row of backslashes, which tells rows of
/// an odd number from those of an even one without looking at each.
fn escaped(backslashes: u64, is_escaped: &mut bool) -> u64 {
    const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    let first = u64::from(*is_escaped);
    let active = backslashes & !first;
    let ends = ((active << 1) | ODD).wrapping_sub(active) ^ ODD;
    *is_escaped = (ends & backslashes) >> 63 == 1;
    ends ^ (backslashes | first)
}

/// Of the bytes after a backslash, those that make no short escape with it.
fn rare(mut escaped: u64, bytes: &[u8; BLOCK]) -> u64 {
    let mut rare = 0;
    while escaped != 0 {
        let at = escaped.trailing_zeros();
        if !bytes.get(at as usize).is_some_and(|byte| is_escape(*byte)) {
            rare |= 1 << at;
        }
        escaped &= escaped - 1;
    }
    rare
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

/// The key of a value, out of the text before it: none for one of a list. What follows a quote within a key is taken
/// for all of it, which is none of those that are kept either, or keeps more than it must.
fn key(before: &str) -> &str {
    let key = before.trim_ascii_end().strip_suffix(':').map(str::trim_ascii_end);
    key.and_then(|key| key.strip_suffix('"')?.rsplit('"').next()).unwrap_or_default()
}

/// A key with an escape in it may be any.
fn is_kept(key: &str) -> bool {
    KEPT.contains(&key) || key.contains('\\')
}

#[cfg(test)]
mod tests {
    use super::super::digest::{digest, digest_whole};
    use super::{MARK, Short, Spare};
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
        let short = Short::of(&text, &mut Spare::default()).unwrap();
        let read: serde_json::Value = serde_json::from_str(short.text()).unwrap();
        assert_eq!(read["id"], *long);
        assert_eq!(read["content"], json!([{ "text": MARK }, { "text": "short" }]));
        let raw: std::collections::BTreeMap<String, &serde_json::value::RawValue> =
            serde_json::from_str(short.text()).unwrap();
        let whole = short.whole(raw["content"]).unwrap();
        assert!(text.contains(&format!("\"content\":{whole}")), "{whole}");
    }
}
