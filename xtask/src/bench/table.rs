//! A table of figures with what was promised, and whether it was kept.
#![expect(clippy::print_stdout, reason = "the figures are what was asked for")]
#![expect(
    clippy::disallowed_methods,
    reason = "`bench all` says where it wants the figures of each bench"
)]

use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;

/// Where a bench that is part of `bench all` leaves its figures.
pub(crate) const FILE: &str = "POLLUX_BENCH_FIGURES";

/// Figures, one line each.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    lines: Vec<Figure>,
}

/// One figure.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Figure {
    /// Stays the same when the words change, so that commits can be compared. Absent in figures that older commits print.
    #[serde(default)]
    pub(crate) id: String,
    /// What was measured.
    pub(crate) what: String,
    /// What came out, for people.
    pub(crate) shown: String,
    /// What was promised; none where it is only told.
    pub(crate) limit: Option<String>,
    /// How much of the promise is used: above 1 it is not kept.
    pub(crate) used: Option<f64>,
}

impl Figures {
    /// A figure that must be at most so much.
    #[expect(clippy::too_many_arguments, reason = "id, words, value, limit and unit are five")]
    pub(crate) fn at_most(&mut self, id: &str, what: &str, value: f64, limit: f64, unit: &str) {
        // Nothing may be lost: one that is, is all of it.
        let used = if limit == 0.0 { value * 2.0 } else { value / limit };
        let limit = Some(format!("≤ {limit}{unit}"));
        self.add([id, what], format!("{value:.2}{unit}"), limit, Some(used));
    }

    /// A figure that must be at least so much.
    #[expect(clippy::too_many_arguments, reason = "id, words, value, limit and unit are five")]
    pub(crate) fn at_least(&mut self, id: &str, what: &str, value: f64, limit: f64, unit: &str) {
        let used = limit / value;
        let limit = Some(format!("≥ {limit}{unit}"));
        self.add([id, what], format!("{value:.2}{unit}"), limit, Some(used));
    }

    /// A figure that is only told.
    pub(crate) fn tell(&mut self, id: &str, what: &str, value: &str) {
        self.add([id, what], value.to_owned(), None, None);
    }

    fn add(&mut self, name: [&str; 2], shown: String, limit: Option<String>, used: Option<f64>) {
        // What is no number is no promise kept, and would be lost on its way through a file.
        let used = used.map(|used| if used.is_finite() { used } else { f64::MAX });
        let [id, what] = name.map(str::to_owned);
        self.lines.push(Figure { id, what, shown, limit, used });
    }

    /// Prints all of them; an error where a promise was not kept.
    pub(crate) fn finish(&self) -> anyhow::Result<()> {
        let width = self.lines.iter().map(|line| line.what.chars().count()).max().unwrap_or(0);
        for line in &self.lines {
            let limit = line.limit.as_deref().unwrap_or_default();
            println!("{:width$}  {:>12}  {limit:>10}  {}", line.what, line.shown, line.mark());
        }
        if let Some(path) = std::env::var_os(FILE) {
            let mut file = File::create(path)?;
            for line in &self.lines {
                writeln!(file, "{}", serde_json::to_string(line)?)?;
            }
        }
        let broken = self.lines.iter().filter(|line| !line.kept()).count();
        anyhow::ensure!(broken == 0, "{broken} figures above exceed their limits");
        Ok(())
    }
}

impl Figure {
    /// False where a promise is not kept. What cannot be compared is not kept either.
    pub(crate) fn kept(&self) -> bool {
        self.used.is_none_or(|used| used <= 1.0)
    }

    pub(crate) fn mark(&self) -> &'static str {
        match (self.used.is_some(), self.kept()) {
            (false, _) => "",
            (true, true) => "kept",
            (true, false) => "NOT KEPT",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Figure, Figures};

    #[test]
    fn what_is_no_number_is_not_kept_also_where_it_went_through_a_file() {
        let mut figures = Figures::default();
        figures.at_most("a", "nan", f64::NAN, 1.0, "");
        figures.at_most("b", "endless", f64::INFINITY, 1.0, "");
        figures.at_least("c", "nothing", 0.0, 1.0, "");
        figures.at_least("d", "nan", f64::NAN, 1.0, "");
        for figure in &figures.lines {
            let text = serde_json::to_string(figure).unwrap();
            let read: Figure = serde_json::from_str(&text).unwrap();
            assert!(!figure.kept() && !read.kept(), "{text}");
        }
    }
}
