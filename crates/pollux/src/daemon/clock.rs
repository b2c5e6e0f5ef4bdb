//! Time that does not go back: the wall's at the start, and then what has passed. And the wall's own, where it can be believed.

use jiff::{SignedDuration, Timestamp};
use rustix::time::{ClockId, clock_gettime};

/// The clock that goes on while the machine sleeps: what lasts an hour lasts an hour, and what is due in the morning is
/// due in the morning.
#[cfg(target_os = "linux")]
const PASSING: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const PASSING: ClockId = ClockId::Monotonic;

/// So far a clock is set back by whoever sets it right from time to time.
const AHEAD: SignedDuration = SignedDuration::from_mins(1);
/// Nobody leaves a daemon alone for so long, or not often.
const FAR: SignedDuration = SignedDuration::from_hours(24 * 30);
/// A clock that jumps goes on for so long before anything is thrown away by it: somebody may see that it is wrong.
const DOUBT: SignedDuration = SignedDuration::from_hours(24);

/// The time of the daemon. A wall clock that is set back changes nothing about it.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    begun: Timestamp,
    since: SignedDuration,
}

impl Clock {
    /// Starts with the time of the wall, or with the last time that was written down where that is a little later. One that
    /// is far ahead was written by a clock that was wrong, and would be for ever.
    pub fn start(last: Option<Timestamp>) -> Self {
        let wall = Timestamp::now();
        let near = last.filter(|last| last.duration_since(wall) <= AHEAD);
        Self { begun: near.map_or(wall, |last| last.max(wall)), since: passing() }
    }

    /// Now.
    pub fn now(&self) -> Timestamp {
        let passed = passing().saturating_sub(self.since);
        self.begun.saturating_add(passed).unwrap_or(self.begun)
    }
}

/// The wall's clock, for what is thrown away by age: not while it may be wrong.
#[derive(Debug)]
pub struct Wall {
    at: Timestamp,
    since: SignedDuration,
    doubt: Option<SignedDuration>,
}

impl Wall {
    /// Starts with the last time that was written down.
    pub fn start(last: Option<Timestamp>) -> Self {
        Self::begin(last, Timestamp::now(), passing())
    }

    fn begin(last: Option<Timestamp>, at: Timestamp, since: SignedDuration) -> Self {
        let gap = last.map(|last| at.duration_since(last));
        let odd = gap.is_some_and(|gap| gap > FAR || gap < -AHEAD);
        Self { at, since, doubt: odd.then_some(since + DOUBT) }
    }

    /// Now, unless that may be wrong.
    pub fn now(&mut self) -> Option<Timestamp> {
        self.tell(Timestamp::now(), passing())
    }

    fn tell(&mut self, at: Timestamp, passed: SignedDuration) -> Option<Timestamp> {
        let jump = at.duration_since(self.at) - (passed - self.since);
        if jump.abs() > FAR {
            self.doubt = Some(passed + DOUBT);
        }
        (self.at, self.since) = (at, passed);
        self.doubt.is_none_or(|until| passed >= until).then_some(at)
    }
}

fn passing() -> SignedDuration {
    let at = clock_gettime(PASSING);
    SignedDuration::new(at.tv_sec, i32::try_from(at.tv_nsec).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{Clock, Wall};
    use jiff::{SignedDuration, Timestamp};

    fn hours(hours: i64) -> SignedDuration {
        SignedDuration::from_hours(hours)
    }

    #[test]
    fn a_time_that_a_wrong_clock_wrote_down_is_not_believed_for_ever() {
        let wall = Timestamp::now();
        let little = wall + SignedDuration::from_secs(30);
        assert!(Clock::start(Some(little)).now() >= little);
        let years = wall + hours(24 * 365 * 10);
        assert!(Clock::start(Some(years)).now() < wall + hours(1));
    }

    #[test]
    fn nothing_is_thrown_away_by_a_clock_that_has_just_jumped() {
        let begun: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        let last = Some(begun - hours(1));
        let mut wall = Wall::begin(last, begun, hours(5));
        assert_eq!(wall.tell(begun + hours(1), hours(6)), Some(begun + hours(1)));
        let years = begun + hours(24 * 365 * 10);
        assert_eq!(wall.tell(years, hours(7)), None);
        assert_eq!(wall.tell(begun + hours(3), hours(8)), None, "set right, and still looked at");
        assert_eq!(wall.tell(begun + hours(28), hours(33)), Some(begun + hours(28)));
        let mut wall = Wall::begin(last, years, hours(5));
        assert_eq!(wall.tell(years + hours(1), hours(6)), None, "wrong from the start");
        assert!(wall.tell(years + hours(24), hours(29)).is_some(), "or somebody was away for long");
    }
}
