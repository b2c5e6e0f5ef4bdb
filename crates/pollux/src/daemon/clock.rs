//! Time that does not go back: the wall's at the start, and then what has passed.

use jiff::{SignedDuration, Timestamp};
use rustix::time::{ClockId, clock_gettime};

/// The clock that goes on while the machine sleeps: what lasts an hour lasts an hour, and what is due in the morning is
/// due in the morning.
#[cfg(target_os = "linux")]
const PASSING: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const PASSING: ClockId = ClockId::Monotonic;

/// The time of the daemon. A wall clock that is set back changes nothing about it.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    begun: Timestamp,
    since: SignedDuration,
}

impl Clock {
    /// Starts with the time of the wall, or with the last time that was written down where that is later.
    pub fn start(last: Option<Timestamp>) -> Self {
        let wall = Timestamp::now();
        Self { begun: last.map_or(wall, |last| last.max(wall)), since: passing() }
    }

    /// Now.
    pub fn now(&self) -> Timestamp {
        let passed = passing().saturating_sub(self.since);
        self.begun.saturating_add(passed).unwrap_or(self.begun)
    }
}

fn passing() -> SignedDuration {
    let at = clock_gettime(PASSING);
    SignedDuration::new(at.tv_sec, i32::try_from(at.tv_nsec).unwrap_or_default())
}
