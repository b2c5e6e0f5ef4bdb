//! A line at the bottom of the terminal that moves while somebody waits.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;

/// The steps of the sign that moves.
const STEPS: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// The line.
#[derive(Debug, Default)]
pub struct Status {
    /// None while the line is not shown.
    bar: Option<ProgressBar>,
    step: usize,
}

impl Status {
    /// A line, where stderr is a terminal.
    pub fn new() -> Option<Self> {
        std::io::stderr().is_terminal().then(Self::default)
    }

    /// Shows a text, with the sign one step further.
    pub fn set(&mut self, text: &str) {
        self.step = (self.step + 1) % STEPS.len();
        let sign = STEPS.get(self.step).copied().unwrap_or(' ');
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{msg:.dim}");
            let bar = ProgressBar::new_spinner();
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar
        });
        bar.set_message(format!("{sign} {text}"));
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        self.clear();
    }
}
