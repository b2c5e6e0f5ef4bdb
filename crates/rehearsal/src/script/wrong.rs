//! What is wrong with a script, and where: line and column, both from 1.

use std::fmt;
use std::ops::Range;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters, from 1.
    pub column: usize,
    /// What is wrong and what to write instead.
    pub message: String,
}

impl Wrong {
    pub(super) fn at(text: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let last = before.rsplit('\n').next().unwrap_or_default();
        Self { line, column: last.chars().count() + 1, message: message.into() }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

/// All that is wrong with a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrongs(pub Vec<Wrong>);

impl Wrongs {
    pub(super) fn syntax(text: &str, error: &toml::de::Error) -> Self {
        let message = error.message().trim_end().replace('\n', ": ");
        Self(vec![Wrong::at(text, error.span().unwrap_or(0..0), message)])
    }
}

impl fmt::Display for Wrongs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, wrong) in self.0.iter().enumerate() {
            let end = if n == 0 { "" } else { "\n" };
            write!(f, "{end}{wrong}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Wrongs {}
