//! A line at the bottom of the terminal that moves while somebody waits.
//!
//! It stays a little shorter than the window: the terminal itself writes `^C` behind it, and a line that is full would
//! break there and could not be taken away again.

use super::table::{cut, printable};
use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use std::io::{self, IsTerminal, Write};

/// The steps of the sign that moves.
const STEPS: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/// To the beginning of the line, and nothing on it.
const CLEAR: &str = "\r\x1b[2K";
/// What is left free at the end of the line.
const FREE: usize = 4;

/// The line.
#[derive(Debug, Default)]
pub struct Status {
    shown: bool,
    step: usize,
}

impl Status {
    /// A line, where stderr is a terminal.
    pub fn new() -> Option<Self> {
        io::stderr().is_terminal().then(Self::default)
    }

    /// Shows a text, with the sign one step further.
    pub fn set(&mut self, text: &str) {
        self.step = (self.step + 1) % STEPS.len();
        let sign = STEPS.get(self.step).copied().unwrap_or(' ');
        let width = terminal_size::terminal_size_of(io::stderr())
            .map_or(80, |(width, _)| usize::from(width.0));
        // The name of a tool may be in it, which a server made up.
        let line = cut(&printable(&format!("{sign} {text}")), width.saturating_sub(FREE));
        let coloured = AutoStream::choice(&io::stderr()) != ColorChoice::Never;
        let style = if coloured { Style::new().dimmed() } else { Style::new() };
        write(&format!("{CLEAR}{style}{line}{style:#}"));
        self.shown = true;
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if self.shown {
            write(CLEAR);
            self.shown = false;
        }
    }
}

/// A terminal that is gone shows nothing, and needs nothing.
fn write(text: &str) {
    let mut err = io::stderr().lock();
    let _gone = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

impl Drop for Status {
    fn drop(&mut self) {
        self.clear();
    }
}
