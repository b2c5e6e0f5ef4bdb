//! A table of figures with what was promised, and whether it was kept.
#![expect(clippy::print_stdout, reason = "the figures are what was asked for")]

/// Figures, one line each.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    lines: Vec<(String, String, String, bool)>,
}

impl Figures {
    /// A figure that must be at most so much.
    pub(crate) fn at_most(&mut self, what: &str, value: f64, limit: f64, unit: &str) {
        let shown = format!("{value:.2}{unit}");
        self.lines.push((what.to_owned(), shown, format!("≤ {limit}{unit}"), value <= limit));
    }

    /// A figure that must be at least so much.
    pub(crate) fn at_least(&mut self, what: &str, value: f64, limit: f64, unit: &str) {
        let shown = format!("{value:.2}{unit}");
        self.lines.push((what.to_owned(), shown, format!("≥ {limit}{unit}"), value >= limit));
    }

    /// A figure that is only told.
    pub(crate) fn tell(&mut self, what: &str, value: &str) {
        self.lines.push((what.to_owned(), value.to_owned(), String::new(), true));
    }

    /// Prints all of them; an error where a promise was not kept.
    pub(crate) fn finish(&self) -> anyhow::Result<()> {
        let width = self.lines.iter().map(|(what, ..)| what.chars().count()).max().unwrap_or(0);
        for (what, value, limit, kept) in &self.lines {
            let mark = match (limit.is_empty(), kept) {
                (true, _) => "",
                (false, true) => "kept",
                (false, false) => "NOT KEPT",
            };
            println!("{what:width$}  {value:>12}  {limit:>10}  {mark}");
        }
        let broken = self.lines.iter().filter(|(.., kept)| !kept).count();
        anyhow::ensure!(broken == 0, "{broken} of the figures above are not kept");
        Ok(())
    }
}
