//! What stands on a terminal's screen, as a plain value: from the emulator, or from tmux's `capture-pane`.

use super::Emulator;

/// What stands on a screen.
///
/// ```
/// use pollux_agent::terminal::{Screen, Size};
///
/// let screen = Screen::from_capture("hello  \nworld\n", Size { columns: 80, rows: 3 }).titled("a title");
/// assert_eq!(screen.rows, ["hello", "world", ""]);
/// assert_eq!(screen.title.as_deref(), Some("a title"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Screen {
    /// Columns and rows.
    pub size: Size,
    /// One text for each row, from the top, without the blanks at its end.
    pub rows: Vec<String>,
    /// What has gone over the upper edge, the oldest first; empty where nobody asked for it.
    pub history: Vec<String>,
    /// The title of the window; none where nobody has set one, or where it is not known.
    pub title: Option<String>,
    /// Where the cursor is, where that is known.
    pub cursor: Option<Cursor>,
}

/// How large a screen is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
}

/// Where the cursor is, from the upper left corner, which is 0, 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// How far down.
    pub row: u16,
    /// How far to the right.
    pub column: u16,
    /// False where the program has hidden it.
    pub visible: bool,
}

impl Default for Size {
    /// The size of a terminal that nobody has given one.
    fn default() -> Self {
        Self { columns: 80, rows: 24 }
    }
}

/// No terminal has more columns or rows; a file's name may say so, and each cell takes memory.
const LARGEST: u16 = 2_000;

impl Size {
    /// A size as people write it: `120x40`.
    ///
    /// ```
    /// use pollux_agent::terminal::Size;
    ///
    /// assert_eq!(Size::parse("120x40"), Some(Size { columns: 120, rows: 40 }));
    /// assert_eq!(Size::parse("0x40"), None);
    /// assert_eq!(Size::parse("65535x65535"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let (columns, rows) = text.split_once('x')?;
        let some = |number: &str| number.parse().ok().filter(|it| (1..=LARGEST).contains(it));
        Some(Self { columns: some(columns)?, rows: some(rows)? })
    }
}

impl Screen {
    /// The screen that tmux's `capture-pane -p` printed, with colours (`-e`) or without. Where it printed more rows than
    /// fit (`-S -`), those above are the history.
    pub fn from_capture(text: &str, size: Size) -> Self {
        let plain = if text.contains('\u{1b}') { without_escapes(text) } else { text.to_owned() };
        let mut rows: Vec<String> = plain.lines().map(|row| row.trim_end().to_owned()).collect();
        let above = rows.len().saturating_sub(usize::from(size.rows));
        let history = rows.drain(..above).collect();
        rows.resize(usize::from(size.rows), String::new());
        Self { size, rows, history, ..Self::default() }
    }

    /// The same screen with a title.
    #[must_use]
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// The same screen with what has gone over its upper edge.
    #[must_use]
    pub fn below(mut self, history: Vec<String>) -> Self {
        self.history = history;
        self
    }

    /// All of it as one text, one line for each row.
    pub fn text(&self) -> String {
        let rows = self.rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1);
        self.rows.iter().take(rows).fold(String::new(), |text, row| text + row + "\n")
    }
}

/// The words of a capture without its colours: each row drawn by itself, wide enough that nothing wraps.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for row in text.lines() {
        let columns = u16::try_from(row.len().max(1)).unwrap_or(u16::MAX);
        let mut emulator = Emulator::new(Size { columns, rows: 1 });
        emulator.feed(row.as_bytes());
        plain.push_str(emulator.screen().rows.first().map_or("", String::as_str));
        plain.push('\n');
    }
    plain
}
