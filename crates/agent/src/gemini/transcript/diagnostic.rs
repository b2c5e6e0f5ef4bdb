//! What was skipped while reading, and why.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Something that could not be read as it should be. The rest was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The line, counted from one; nothing where the whole file is meant.
    pub line: Option<u64>,
    /// What was skipped, and why.
    pub what: String,
}

impl Diagnostic {
    /// About one line.
    pub fn at(line: u64, what: impl Into<String>) -> Self {
        Self { line: Some(line), what: what.into() }
    }

    /// About the whole file.
    pub fn whole(what: impl Into<String>) -> Self {
        Self { line: None, what: what.into() }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}
