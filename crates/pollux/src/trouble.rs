//! What went wrong, in the shape that every border of the program shows: `{code, message, hint}`.
//!
//! Inside the program errors are `anyhow`. Where there is something to do about one, or where it is a refusal and not
//! a failure, it is a [`Trouble`] at the head of the chain.

use pollux_agent::model::Failure;
use std::fmt;

/// The two ways in which a command does not do what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The rules turned it down: an unknown id, an ambiguous prefix, a wrong argument. Exit code 1.
    Refused,
    /// The world failed: a file cannot be read, a program cannot be started. Exit code 2.
    Failed,
}

/// An error that says what failed and what to do about it. Why is the next one in the chain.
#[derive(Debug)]
pub struct Trouble {
    /// Refused or failed.
    pub kind: Kind,
    /// One word for programs, such as `unknown_session`.
    pub code: &'static str,
    /// What failed, for people.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Trouble {
    /// A command that the rules turn down.
    pub fn refused(code: &'static str, message: impl Into<String>) -> Self {
        Self { kind: Kind::Refused, code, message: message.into(), hint: None }
    }

    /// A command that the world did not let succeed.
    pub fn failed(code: &'static str, message: impl Into<String>) -> Self {
        Self { kind: Kind::Failed, code, message: message.into(), hint: None }
    }

    /// The same with what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with what somebody else says to do about it, if they do.
    #[must_use]
    pub fn hint_of(self, other: Option<impl Into<String>>) -> Self {
        match other {
            Some(hint) => self.hint(hint),
            None => self,
        }
    }
}

/// What the rules of the library turn down before anything was done.
const REFUSED: [&str; 6] = [
    "no_prompt",
    "not_in_this_version",
    "no_directory",
    "bad_directory",
    "no_terminal",
    "not_adopted",
];

/// A failure of the library has the same exit code in every command.
impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        let trouble = if REFUSED.contains(&failure.code) {
            Self::refused(failure.code, failure.message)
        } else {
            Self::failed(failure.code, failure.message)
        };
        trouble.hint_of(failure.hint)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Trouble {}

#[cfg(test)]
mod tests {
    use super::{Kind, Trouble};
    use pollux_agent::model::{Failure, Phase};

    #[test]
    fn an_agent_that_is_not_there_is_a_failure_and_a_directory_that_is_not_is_a_refusal() {
        let kind = |code| Trouble::from(Failure::new(Phase::Find, code, "")).kind;
        assert_eq!(kind("no_agent"), Kind::Failed);
        assert_eq!(kind("no_directory"), Kind::Refused);
    }
}
