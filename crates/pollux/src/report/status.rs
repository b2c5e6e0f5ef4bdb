//! A line at the bottom of the terminal that moves while somebody waits.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;

/// The line.
#[derive(Debug)]
pub struct Status(ProgressBar);

impl Status {
    /// A line, where stderr is a terminal.
    pub fn new() -> Option<Self> {
        if !std::io::stderr().is_terminal() {
            return None;
        }
        let style = ProgressStyle::with_template("{spinner:.dim} {msg:.dim}");
        let bar = ProgressBar::new_spinner();
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Some(Self(bar))
    }

    /// Shows a text, with the spinner one step further.
    pub fn set(&self, text: &str) {
        self.0.set_message(text.to_owned());
        self.0.tick();
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.0.finish_and_clear();
        self.0.reset();
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
