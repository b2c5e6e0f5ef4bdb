//! Jobs whose turn has ended before the worker's last words were written down: until when those are waited for. Pure.

use super::result::Known;
use jiff::Timestamp;
use std::collections::HashMap;
use std::time::Duration;

/// How long the session file may take that has a worker's answer, once its turn has ended. Fifty agents on two cores are slow.
const LATE: Duration = Duration::from_secs(5);
/// The same where the answer stands on the screen, which spoils it: then there is one, and the file will have it to the letter.
const SEEN: Duration = Duration::from_secs(30);

/// Since when each such job has been waited for, and until when.
#[derive(Debug, Default)]
pub(super) struct Silence(HashMap<String, (Timestamp, Timestamp)>);

impl Silence {
    /// True where the end of a job is held back, because more of what its worker said may come.
    pub(super) fn holds(&mut self, job: &str, known: Known, now: Timestamp) -> bool {
        let most = match known {
            Known::Recorded => Duration::ZERO,
            Known::Seen => SEEN,
            Known::Heard | Known::Nothing => LATE,
        };
        let (since, until) = self.0.entry(job.to_owned()).or_insert((now, now));
        *until = since.saturating_add(most).unwrap_or(now);
        let holds = now < *until;
        if !holds {
            self.is_over(job);
        }
        holds
    }

    /// The worker goes on, or the job has ended: nothing is waited for.
    pub(super) fn is_over(&mut self, job: &str) {
        self.0.remove(job);
    }

    /// When the first of them is waited for no longer.
    pub(super) fn ends_at(&self) -> Option<Timestamp> {
        self.0.values().map(|(_, until)| *until).min()
    }
}

#[cfg(test)]
mod tests {
    use super::{Known, LATE, SEEN, Silence};
    use jiff::Timestamp;
    use std::time::Duration;

    fn now() -> Timestamp {
        "2026-11-15T12:00:00Z".parse().unwrap()
    }

    const MOMENT: Duration = Duration::from_millis(1);

    #[test]
    fn what_is_written_down_is_not_waited_for_and_all_else_is_for_a_time() {
        let mut silence = Silence::default();
        assert!(!silence.holds("a", Known::Recorded, now()));
        assert!(silence.holds("a", Known::Nothing, now()));
        assert!(silence.holds("a", Known::Nothing, now() + LATE - MOMENT));
        assert_eq!(silence.ends_at(), Some(now() + LATE));
        assert!(silence.holds("a", Known::Seen, now() + LATE), "it has said something");
        assert_eq!(silence.ends_at(), Some(now() + SEEN));
        assert!(!silence.holds("a", Known::Seen, now() + SEEN));
        assert_eq!(silence.ends_at(), None);
    }

    #[test]
    fn a_worker_that_goes_on_is_waited_for_as_long_when_it_has_ended_again() {
        let mut silence = Silence::default();
        assert!(silence.holds("a", Known::Nothing, now()));
        silence.is_over("a");
        assert_eq!(silence.ends_at(), None, "nobody is woken for it");
        assert!(silence.holds("a", Known::Nothing, now() + SEEN));
    }
}
