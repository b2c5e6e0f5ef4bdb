//! A terminal emulator over bytes: crate `avt` draws, crate `vte` hears the titles, which `avt` does not keep.

use super::run::{Run, runs};
use super::screen::{Cursor, Screen, Size};
use avt::parser::Function;
use memchr::memmem;
use std::collections::VecDeque;
use std::fmt;
use std::str::Chars;

/// How many rows above the screen are kept unless somebody says otherwise: enough for the last answers.
pub const HISTORY: usize = 5_000;

/// A title that is longer than this is cut.
const LONGEST_TITLE: usize = 1_000;
/// So many titles are kept for somebody who asks for all of them.
const FRESH: usize = 16;
/// What began like a title and is longer than this is none: the parser would keep all of it until it ends.
const LONGEST_HEARD: usize = 64 << 10;

/// A terminal: bytes in, a [`Screen`] out. Where the bytes are cut does not matter.
///
/// ```
/// use pollux_agent::terminal::{Emulator, Size};
///
/// let mut terminal = Emulator::new(Size { columns: 20, rows: 2 });
/// terminal.feed("\x1b]0;Ready\x07one\r\ntw\u{f6}".as_bytes());
/// let screen = terminal.screen();
/// assert_eq!(screen.rows, ["one", "tw\u{f6}"]);
/// assert_eq!(screen.title.as_deref(), Some("Ready"));
/// ```
pub struct Emulator {
    canvas: Canvas,
    decoder: Decoder,
    titles: vte::Parser,
    /// How much was heard since a title may have begun.
    heard: usize,
    title: Title,
}

impl Emulator {
    /// A terminal of a size, with [`HISTORY`] rows above it.
    pub fn new(size: Size) -> Self {
        Self::with_history(size, HISTORY)
    }

    /// A terminal of a size, with so many rows above it.
    pub fn with_history(size: Size, rows: usize) -> Self {
        let (columns, high) = cells(size);
        let terminal = avt::Terminal::with_scrollback(columns, high, Some(rows))
            .unwrap_or_else(|_| unreachable!("`cells` gives no size of nothing"));
        Self {
            canvas: Canvas { terminal, parser: avt::Parser::new(), plain: false, inserts: false },
            decoder: Decoder::default(),
            titles: vte::Parser::new(),
            heard: 0,
            title: Title::default(),
        }
    }

    /// Draws what a program printed.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.hear(bytes);
        let Self { canvas, decoder, .. } = self;
        decoder.feed(bytes, |text| canvas.draw(text));
    }

    /// Listens for titles only where one may begin: most bytes are drawn, and need not be parsed twice.
    fn hear(&mut self, mut bytes: &[u8]) {
        loop {
            if !self.title.begun {
                let begin = memmem::find(bytes, b"\x1b]");
                // The second half of a beginning may come with the next bytes.
                let begin = begin.or_else(|| bytes.ends_with(b"\x1b").then(|| bytes.len() - 1));
                let Some(begin) = begin else { return };
                bytes = bytes.get(begin..).unwrap_or_default();
                (self.title.begun, self.heard) = (true, 0);
            }
            let heard = self.titles.advance_until_terminated(&mut self.title, bytes);
            bytes = bytes.get(heard..).unwrap_or_default();
            self.heard += heard;
            if self.heard > LONGEST_HEARD {
                self.titles = vte::Parser::new();
                self.title.begun = false;
            }
            if bytes.is_empty() {
                return;
            }
        }
    }

    /// Gives it another size, as a window that was pulled.
    pub fn resize(&mut self, size: Size) {
        let (columns, rows) = cells(size);
        self.canvas.terminal.resize(columns, rows);
    }

    /// Sets the title, where it is known from elsewhere.
    pub fn set_title(&mut self, title: impl Into<String>) {
        self.title.text = Some(title.into());
    }

    /// The title alone: cheaper than the whole screen.
    pub fn title(&self) -> Option<&str> {
        self.title.text.as_deref()
    }

    /// The titles that were set since this was last asked, the newest of them: one that came and went between two looks is
    /// among them.
    pub fn take_titles(&mut self) -> Vec<String> {
        std::mem::take(&mut self.title.fresh).into()
    }

    /// What stands on the screen, without its history.
    pub fn screen(&self) -> Screen {
        let (columns, rows) = self.canvas.terminal.size();
        let cursor = self.canvas.terminal.cursor();
        Screen {
            size: Size { columns: short(columns), rows: short(rows) },
            rows: self.canvas.terminal.screen().visible_lines().map(written).collect(),
            history: Vec::new(),
            title: self.title.text.clone(),
            cursor: Some(Cursor {
                row: short(cursor.row),
                column: short(cursor.col),
                visible: cursor.visible,
            }),
        }
    }

    /// What stands on the screen, with its colours: for each row the pieces of it that look alike.
    pub fn runs(&self) -> Vec<Vec<Run>> {
        self.canvas.terminal.screen().visible_lines().map(|line| runs(line.cells())).collect()
    }

    /// What has gone over the upper edge, the oldest first; at most so many rows, the newest.
    pub fn history(&self, most: usize) -> Vec<String> {
        let all = self.canvas.terminal.primary_screen();
        let above = all.all_lines().count().saturating_sub(self.canvas.terminal.size().1);
        all.all_lines().take(above).skip(above.saturating_sub(most)).map(written).collect()
    }
}

impl fmt::Debug for Emulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emulator").field("screen", &self.screen()).finish_non_exhaustive()
    }
}

fn cells(size: Size) -> (usize, usize) {
    (usize::from(size.columns.max(1)), usize::from(size.rows.max(1)))
}

fn short(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

fn written(line: &avt::Line) -> String {
    let mut text = line.text();
    text.truncate(text.trim_end().len());
    text
}

/// So many spaces in a row are worth more than drawing them one by one.
const GAP: &str = "     ";

/// What is drawn on, and where its parser is.
struct Canvas {
    terminal: avt::Terminal,
    parser: avt::Parser,
    /// True where the parser is between two sequences.
    plain: bool,
    /// True once a mode was set in which a letter may push those behind it.
    inserts: bool,
}

impl Canvas {
    /// Half of what a program with a layout prints is space.
    fn draw(&mut self, mut text: &str) {
        while let Some(begin) = memmem::find(text.as_bytes(), GAP.as_bytes()) {
            // The first is drawn in any case: only after it is the parser known to be between two sequences. So is the last:
            // it may be that of the row, behind which the cursor does not go by itself.
            let (before, rest) = text.split_at_checked(begin + 1).unwrap_or((text, ""));
            self.write(before);
            let gap = rest.len() - rest.trim_start_matches(' ').len() - 1;
            let (gap, rest) = rest.split_at_checked(gap).unwrap_or((rest, ""));
            if !self.skip(gap.len()) {
                self.write(gap);
            }
            text = rest;
        }
        self.write(text);
    }

    fn write(&mut self, text: &str) {
        let Self { terminal, parser, plain, inserts } = self;
        terminal.execute(Functions { text: text.chars(), parser, plain, inserts });
    }

    /// Draws spaces at once where that is the same: all of them on this row, none of them pushing anything.
    fn skip(&mut self, spaces: usize) -> bool {
        let columns = self.terminal.size().0;
        let fits = self.terminal.cursor().col + spaces < columns;
        let Ok(spaces) = u16::try_from(spaces) else { return false };
        let same = self.plain && !self.inserts && fits;
        if same {
            self.terminal.execute([Function::Ech(spaces), Function::Cuf(spaces)]);
        }
        same
    }
}

/// What `avt` is to do for a text. Its parser is not asked where it would say only that a character is printed: most are.
struct Functions<'t> {
    text: Chars<'t>,
    parser: &'t mut avt::Parser,
    plain: &'t mut bool,
    inserts: &'t mut bool,
}

impl Iterator for Functions<'_> {
    type Item = Function;

    #[inline]
    fn next(&mut self) -> Option<Function> {
        loop {
            let c = self.text.next()?;
            if *self.plain && (matches!(c, ' '..='\u{7f}') || c >= '\u{a0}') {
                return Some(Function::Print(c));
            }
            let function = self.parser.feed(c);
            *self.plain = matches!(function, Some(Function::Print(_)));
            *self.inserts |= matches!(function, Some(Function::Sm(_)));
            if function.is_some() {
                return function;
            }
        }
    }
}

/// Hears titles (OSC 0 and 2) and nothing else.
#[derive(Default)]
struct Title {
    text: Option<String>,
    /// Those that nobody has asked for yet.
    fresh: VecDeque<String>,
    /// True from where a title may begin until it has ended, or is seen to be something else.
    begun: bool,
}

impl vte::Perform for Title {
    fn terminated(&self) -> bool {
        !self.begun
    }

    fn print(&mut self, _: char) {
        self.begun = false;
    }

    fn csi_dispatch(&mut self, _: &vte::Params, _: &[u8], _: bool, _: char) {
        self.begun = false;
    }

    fn esc_dispatch(&mut self, _: &[u8], _: bool, _: u8) {
        self.begun = false;
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], _bell_terminated: bool) {
        self.begun = false;
        if let [b"0" | b"2", words @ ..] = params {
            // A semicolon is a border for OSC; in a title it is a semicolon.
            let text = String::from_utf8_lossy(&words.join(&b';')).into_owned();
            let text: String = text.chars().take(LONGEST_TITLE).collect();
            if self.fresh.len() == FRESH {
                self.fresh.pop_front();
            }
            self.fresh.push_back(text.clone());
            self.text = Some(text);
        }
    }
}

/// Bytes to text, however they are cut: what is left of a character waits for the rest of it.
#[derive(Debug, Default)]
struct Decoder {
    /// The beginning of a character: at most three bytes.
    begun: Vec<u8>,
}

impl Decoder {
    fn feed(&mut self, bytes: &[u8], mut show: impl FnMut(&str)) {
        if self.begun.is_empty() {
            self.decode(bytes, &mut show);
        } else {
            let mut whole = std::mem::take(&mut self.begun);
            whole.extend_from_slice(bytes);
            self.decode(&whole, &mut show);
        }
    }

    fn decode(&mut self, mut bytes: &[u8], show: &mut impl FnMut(&str)) {
        loop {
            let wrong = match simdutf8::compat::from_utf8(bytes) {
                Ok(text) => return show(text),
                Err(wrong) => wrong,
            };
            let (good, rest) = bytes.split_at(wrong.valid_up_to());
            show(simdutf8::basic::from_utf8(good).unwrap_or_default());
            let Some(length) = wrong.error_len() else {
                self.begun.extend_from_slice(rest);
                return;
            };
            show("\u{fffd}");
            bytes = rest.get(length..).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Emulator, Size, runs};
    use proptest::prelude::*;

    #[test]
    fn a_title_is_heard_wherever_its_bytes_are_cut() {
        let bytes =
            "a\x1b[1mb\x1b]0;◇  Ready; or so\x07c\x1b]2;second\x1b\\d\x1b]8;;http://x\x07e\x1b[0m"
                .as_bytes();
        for piece in 1..bytes.len() {
            let mut emulator = Emulator::new(Size::default());
            let mut titles = Vec::new();
            for part in bytes.chunks(piece) {
                emulator.feed(part);
                if emulator
                    .title()
                    .is_some_and(|title| titles.last().is_none_or(|last| last != title))
                {
                    titles.extend(emulator.title().map(str::to_owned));
                }
            }
            assert_eq!(titles.last().map(String::as_str), Some("second"), "pieces of {piece}");
            assert!(piece > 10 || titles.first().is_some_and(|title| title == "◇  Ready; or so"));
            assert_eq!(emulator.take_titles().len(), 2);
            assert_eq!(emulator.screen().rows.first().map(String::as_str), Some("abcde"));
        }
    }

    proptest! {
        #[test]
        fn what_is_not_parsed_or_not_drawn_one_by_one_looks_as_if_it_were(
            text in "([ -~]{0,3}| {3,12}|\\r\\n|[\u{4e00}-\u{4e0f}]{1,3}|\\PC|\\x1b[\\[\\]PX(]?|[\\x00-\\x1f\\x7f-\\xa0]|[0-9;?]{1,3}[a-zA-Z]|\\x1b\\[(4h|4l|[?]7l|[?]7h|[47]m|0m|4[1-7]m|[1-9]G|A)){0,40}"
        ) {
            let size = Size { columns: 10, rows: 4 };
            let mut emulator = Emulator::new(size);
            emulator.feed(text.as_bytes());
            let mut terminal = avt::Terminal::new(10, 4).unwrap();
            terminal.feed(text.as_str());
            let rows: Vec<_> = terminal.screen().visible_lines().map(|line| runs(line.cells())).collect();
            prop_assert_eq!(emulator.runs(), rows);
            let (ours, theirs) = (emulator.canvas.terminal.cursor(), terminal.cursor());
            prop_assert_eq!((ours.col, ours.row), (theirs.col, theirs.row));
        }
    }

    #[test]
    fn a_title_that_never_ends_is_none_and_the_next_one_is_heard() {
        let mut emulator = Emulator::new(Size::default());
        emulator.feed(b"\x1b]0;");
        for _ in 0..100 {
            emulator.feed(&[b'x'; 4096]);
        }
        assert!(!emulator.title.begun, "nothing more of it is kept");
        emulator.feed(b"\x07\x1b]0;Ready\x07");
        assert_eq!(emulator.take_titles(), ["Ready"]);
    }
}
