//! Time that does not go back: the wall's at the start, and then what has passed.

use jiff::{SignedDuration, Timestamp};
use std::time::Instant;

/// The time of the daemon. A wall clock that is set back changes nothing about it.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    begun: Timestamp,
    since: Instant,
}

impl Clock {
    /// Starts with the time of the wall, or with the last time that was written down where that is later.
    pub fn start(last: Option<Timestamp>) -> Self {
        let wall = Timestamp::now();
        Self { begun: last.map_or(wall, |last| last.max(wall)), since: Instant::now() }
    }

    /// Now.
    pub fn now(&self) -> Timestamp {
        let passed = SignedDuration::try_from(self.since.elapsed()).unwrap_or_default();
        self.begun.saturating_add(passed).unwrap_or(self.begun)
    }
}
