//! The life of a job: what is seen of its worker goes in, what becomes of it comes out. Pure.

use super::limits::Budget;
use jiff::{SignedDuration, Timestamp};
use pollux_agent::model::SessionStatus;
use serde::{Deserialize, Serialize};
use ts_rs::TS;
use utoipa::ToSchema;

/// Whether the caller waits for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
#[serde(rename_all = "snake_case")]
#[ts(rename = "JobKind")]
pub enum Kind {
    /// The caller waits for the result.
    Handoff,
    /// The caller continues, and the result arrives in its inbox.
    Assign,
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, TS, ToSchema)]
#[serde(rename_all = "snake_case")]
#[ts(rename = "JobState")]
pub enum State {
    /// The worker is starting.
    Starting,
    /// The worker is working.
    Working,
    /// The worker waits for an answer.
    Waiting,
    /// The job has used up its budget and waits for a person.
    Paused,
    /// The job is done.
    Done,
    /// The job failed.
    Failed,
    /// The caller's timeout has passed. The worker continues.
    TimedOut,
    /// The job was cancelled.
    Cancelled,
}

impl State {
    /// True where nothing more will come.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }

    /// True where whoever waits for it is told now.
    pub fn is_told(self) -> bool {
        !matches!(self, Self::Starting | Self::Working)
    }

    /// One word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Working => "working",
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What counts for the rules of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Where it is.
    pub state: State,
    /// Since when its worker has been at it, pauses apart.
    pub since: Timestamp,
    /// Since when it waits for a person, where it does.
    pub asked_at: Option<Timestamp>,
    /// When its caller no longer waits.
    pub deadline: Option<Timestamp>,
    /// What it may take.
    pub budget: Budget,
}

/// What is seen of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is true or not by itself")]
pub struct Seen {
    /// What it does.
    pub status: SessionStatus,
    /// How it came to its end; none while it is there.
    pub end: Option<End>,
    /// How the turn ended that it was given; none while it works on it, or has not begun.
    pub turn: Option<Ended>,
    /// True where the prompt lies in the queue of an agent that does not take it.
    pub stuck: bool,
    /// True where it does nothing, and its prompt neither waits nor has led to a turn: what it was doing was cut off.
    pub adrift: bool,
    /// True where a question is open.
    pub asks: bool,
    /// What it has taken.
    pub tokens: u64,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The agent had nothing more to say.
    Well,
    /// Somebody stopped it.
    Stopped,
    /// It failed.
    Badly,
}

/// How a worker came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It ended with the daemon before this one, and can be started again.
    WithDaemon,
    /// Somebody stopped it.
    Stopped,
    /// It died, or went by itself.
    Died,
}

/// What becomes of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// It is somewhere else now.
    Become(State, Option<String>),
    /// Its worker is to be stopped: it has used up what it may take.
    Pause(String),
    /// Its worker is to be told to go on.
    Urge,
}

/// What is to be done about a job, if anything.
pub fn step(job: &Rules, seen: &Seen, now: Timestamp) -> Option<Step> {
    if job.state.is_final() {
        return None;
    }
    let become_ =
        |state, why: &str| Some(Step::Become(state, (!why.is_empty()).then(|| why.into())));
    match seen.turn {
        Some(Ended::Well) => return become_(State::Done, ""),
        // A job that pauses was stopped by us, or by the end of the daemon.
        _ if job.state == State::Paused => {}
        Some(Ended::Badly) => return become_(State::Failed, "its worker's turn failed"),
        // The turn of a worker that is gone was stopped by its end.
        Some(Ended::Stopped) if seen.end.is_none() => {
            return become_(State::Cancelled, "its worker was stopped");
        }
        _ => {}
    }
    match seen.end {
        Some(End::Stopped) => return become_(State::Cancelled, "its worker was stopped"),
        // It is started again when somebody goes on with it.
        Some(End::WithDaemon) if job.state == State::Paused => return None,
        Some(End::WithDaemon | End::Died) => return become_(State::Failed, "its worker has ended"),
        None => {}
    }
    if job.state == State::Paused {
        return None;
    }
    if seen.adrift {
        return Some(Step::Urge);
    }
    if seen.stuck {
        return become_(State::Failed, "the prompt did not reach its worker");
    }
    if let Some(why) = over(job, seen, now) {
        return Some(Step::Pause(why));
    }
    // A question is told also where nobody waits for the job any more; when it is answered, that is so again.
    let late = job.deadline.is_some_and(|deadline| now >= deadline);
    let is = match (seen.asks, seen.status) {
        (true, _) => State::Waiting,
        (false, _) if job.state == State::TimedOut => return None,
        (false, _) if late => {
            return become_(State::TimedOut, "its caller stopped waiting; its worker continues");
        }
        (false, SessionStatus::Starting) => State::Starting,
        (false, _) => State::Working,
    };
    // A worker that works does not go back to its start.
    let back = is == State::Starting && job.state != State::Starting;
    (is != job.state && !back).then_some(Step::Become(is, None))
}

fn over(job: &Rules, seen: &Seen, now: Timestamp) -> Option<String> {
    if let Some(most) = job.budget.tokens.filter(|most| seen.tokens >= *most) {
        return Some(format!("used {} of {most} tokens", seen.tokens));
    }
    let seconds = job.budget.seconds?;
    let worked = now.duration_since(job.since);
    let most = SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
    let works = seen.status == SessionStatus::Working && !is_free(job.state);
    (worked >= most && works).then(|| format!("worked for {seconds} s, its time budget"))
}

/// True where a worker takes none of its time: it is being started, or waits for a person.
fn is_free(state: State) -> bool {
    matches!(state, State::Starting | State::Waiting)
}

/// Since when a worker counts as being at it, when its job is in another state from now on.
pub fn since(job: &Rules, state: State, now: Timestamp) -> Timestamp {
    match (job.state, state) {
        (State::Starting, State::Working) => now,
        (State::Waiting, _) => {
            let waited = job.asked_at.map(|asked_at| now.duration_since(asked_at));
            let later = job.since.saturating_add(waited.unwrap_or_default());
            later.map_or(now, |later| later.min(now))
        }
        _ => job.since,
    }
}

/// When time alone changes something, if ever.
pub fn wakes_at(job: &Rules) -> Option<Timestamp> {
    if job.state.is_final() || matches!(job.state, State::Paused | State::TimedOut) {
        return None;
    }
    // When a worker that takes none of its time goes on, that is heard.
    let seconds = job.budget.seconds.filter(|_| !is_free(job.state));
    let budget = seconds.and_then(|seconds| {
        let most = SignedDuration::from_secs(i64::try_from(seconds).ok()?);
        job.since.saturating_add(most).ok()
    });
    // Whoever waited was told of the question.
    let deadline = job.deadline.filter(|_| job.state != State::Waiting);
    deadline.into_iter().chain(budget).min()
}

#[cfg(test)]
mod tests {
    use super::{
        Budget, End, Ended, Rules, Seen, SessionStatus, State, Step, since, step, wakes_at,
    };
    use jiff::{SignedDuration, Timestamp};
    use proptest::prelude::*;

    fn now() -> Timestamp {
        "2026-11-15T12:00:00Z".parse().unwrap()
    }

    fn job(state: State) -> Rules {
        Rules { state, since: now(), asked_at: None, deadline: None, budget: Budget::default() }
    }

    fn seen(status: SessionStatus) -> Seen {
        Seen { status, end: None, turn: None, stuck: false, adrift: false, asks: false, tokens: 0 }
    }

    #[test]
    fn a_worker_that_asks_is_told_of_at_once_and_goes_on_when_it_was_answered() {
        let asks = Seen { asks: true, ..seen(SessionStatus::Waiting) };
        assert_eq!(
            step(&job(State::Working), &asks, now()),
            Some(Step::Become(State::Waiting, None))
        );
        let works = seen(SessionStatus::Working);
        assert_eq!(
            step(&job(State::Waiting), &works, now()),
            Some(Step::Become(State::Working, None))
        );
    }

    #[test]
    fn a_job_at_its_budget_pauses_and_the_turn_that_was_stopped_is_not_its_end() {
        let mut rules = job(State::Working);
        rules.budget.tokens = Some(100);
        let much = Seen { tokens: 100, ..seen(SessionStatus::Working) };
        assert!(matches!(step(&rules, &much, now()), Some(Step::Pause(_))));
        rules.state = State::Paused;
        let stopped = Seen { turn: Some(Ended::Stopped), ..seen(SessionStatus::Idle) };
        assert_eq!(step(&rules, &stopped, now()), None);
    }

    #[test]
    fn a_worker_that_was_stopped_takes_its_job_back_and_one_that_died_fails_it() {
        let ends = |state, end, turn| {
            let gone = Seen { end: Some(end), turn, ..seen(SessionStatus::Exited) };
            match step(&job(state), &gone, now()) {
                Some(Step::Become(state, _)) => Some(state),
                _ => None,
            }
        };
        // What is told of its turn is told of its end: nobody stopped the turn.
        let paused = |turn| ends(State::Paused, End::WithDaemon, turn);
        assert_eq!(paused(Some(Ended::Badly)), None, "it can be gone on with");
        for turn in [None, Some(Ended::Stopped)] {
            let works = |end| ends(State::Working, end, turn);
            assert_eq!(works(End::Stopped), Some(State::Cancelled));
            assert_eq!(works(End::Died), Some(State::Failed));
            assert_eq!(ends(State::Paused, End::Died, turn), Some(State::Failed));
            assert_eq!(paused(turn), None);
        }
        assert_eq!(ends(State::Working, End::Stopped, Some(Ended::Well)), Some(State::Done));
    }

    #[test]
    fn a_worker_that_was_cut_off_is_told_to_go_on_unless_it_has_paused() {
        let adrift = Seen { adrift: true, ..seen(SessionStatus::Idle) };
        assert_eq!(step(&job(State::Working), &adrift, now()), Some(Step::Urge));
        assert_eq!(step(&job(State::Paused), &adrift, now()), None);
        assert_eq!(step(&job(State::Done), &adrift, now()), None);
    }

    #[test]
    fn what_comes_after_the_time_is_over_is_not_lost() {
        let mut rules = job(State::Working);
        rules.deadline = Some(now());
        let works = seen(SessionStatus::Working);
        let Some(Step::Become(State::TimedOut, _)) = step(&rules, &works, now()) else {
            panic!("it is over")
        };
        rules.state = State::TimedOut;
        assert_eq!(wakes_at(&rules), None);
        let done = Seen { turn: Some(Ended::Well), ..seen(SessionStatus::Idle) };
        assert_eq!(step(&rules, &done, now()), Some(Step::Become(State::Done, None)));
    }

    #[test]
    fn a_question_is_told_also_when_the_time_is_over() {
        let mut rules = job(State::TimedOut);
        rules.deadline = Some(now());
        let asks = Seen { asks: true, ..seen(SessionStatus::Waiting) };
        assert_eq!(step(&rules, &asks, now()), Some(Step::Become(State::Waiting, None)));
        rules.state = State::Waiting;
        assert_eq!((step(&rules, &asks, now()), wakes_at(&rules)), (None, None));
        let works = seen(SessionStatus::Working);
        let Some(Step::Become(State::TimedOut, _)) = step(&rules, &works, now()) else {
            panic!("nobody waits for it")
        };
    }

    #[test]
    fn a_worker_that_goes_on_is_held_to_its_budget_and_one_that_waits_wakes_nobody() {
        let mut rules = job(State::TimedOut);
        (rules.deadline, rules.budget.tokens) = (Some(now()), Some(100));
        let works = seen(SessionStatus::Working);
        assert_eq!(step(&rules, &works, now()), None);
        let much = Seen { tokens: 100, ..works };
        assert!(matches!(step(&rules, &much, now()), Some(Step::Pause(_))));
        let mut rules = job(State::Working);
        rules.budget.seconds = Some(60);
        assert_eq!(wakes_at(&rules), Some(now() + SignedDuration::from_secs(60)));
        rules.state = State::Waiting;
        assert_eq!(wakes_at(&rules), None);
    }

    #[test]
    fn the_time_of_a_job_begins_with_its_work_and_not_with_the_start_of_its_worker() {
        let mut rules = job(State::Starting);
        rules.budget.seconds = Some(1);
        let later = now() + SignedDuration::from_secs(9);
        let works = seen(SessionStatus::Working);
        assert_eq!(wakes_at(&rules), None);
        assert_eq!(step(&rules, &works, later), Some(Step::Become(State::Working, None)));
        (rules.state, rules.since) = (State::Working, later);
        assert_eq!(step(&rules, &works, later), None);
        let late = later + SignedDuration::from_secs(1);
        assert!(matches!(step(&rules, &works, late), Some(Step::Pause(_))));
    }

    #[test]
    fn the_time_that_a_worker_waits_for_a_person_is_none_of_its_own() {
        let after = |seconds| now() + SignedDuration::from_secs(seconds);
        let mut rules = job(State::Working);
        rules.budget.seconds = Some(60);
        let asks = Seen { asks: true, ..seen(SessionStatus::Waiting) };
        assert_eq!(step(&rules, &asks, after(20)), Some(Step::Become(State::Waiting, None)));
        (rules.state, rules.asked_at) = (State::Waiting, Some(after(20)));
        // It was answered after two hours.
        let works = seen(SessionStatus::Working);
        let goes_on = Some(Step::Become(State::Working, None));
        assert_eq!(step(&rules, &works, after(7220)), goes_on);
        rules.since = since(&rules, State::Working, after(7220));
        rules.state = State::Working;
        assert_eq!(step(&rules, &works, after(7259)), None);
        assert_eq!(wakes_at(&rules), Some(after(7260)));
        assert!(matches!(step(&rules, &works, after(7260)), Some(Step::Pause(_))));
    }

    fn any_seen() -> impl Strategy<Value = Seen> {
        let status = prop::sample::select(vec![
            SessionStatus::Starting,
            SessionStatus::Idle,
            SessionStatus::Working,
            SessionStatus::Waiting,
            SessionStatus::Exited,
        ]);
        let turn =
            prop::option::of(prop::sample::select(vec![Ended::Well, Ended::Stopped, Ended::Badly]));
        (status, turn, any::<bool>(), any::<bool>(), 0_u64..200).prop_map(
            |(status, turn, stuck, asks, tokens)| Seen {
                adrift: false,
                end: (status == SessionStatus::Exited).then_some(End::Died),
                status,
                turn,
                stuck,
                asks,
                tokens,
            },
        )
    }

    proptest! {
        #[test]
        fn whatever_is_seen_a_job_ends_once_and_settles(
            all in prop::collection::vec((any_seen(), 0_i64..50), 1..40),
            tokens in prop::option::of(1_u64..150), deadline in prop::option::of(0_i64..500)
        ) {
            let mut rules = job(State::Starting);
            rules.budget.tokens = tokens;
            rules.deadline = deadline.map(|after| now() + SignedDuration::from_secs(after));
            let (mut at, mut ends) = (now(), 0);
            for (seen, later) in all {
                at += SignedDuration::from_secs(later);
                let was_final = rules.state.is_final();
                match step(&rules, &seen, at) {
                    None => {}
                    Some(Step::Urge) => prop_assert!(false, "nothing was cut off"),
                    Some(Step::Pause(_)) => rules.state = State::Paused,
                    Some(Step::Become(state, _)) => {
                        prop_assert!(!was_final, "what has ended has ended");
                        prop_assert_ne!(state, rules.state, "a step leads somewhere");
                        rules.state = state;
                        ends += usize::from(state.is_final());
                    }
                }
                // Seen once more, nothing is left to be done but to pause or to wait.
                if let Some(Step::Become(state, _)) = step(&rules, &seen, at) {
                    prop_assert!(state.is_final() || state == State::TimedOut || !rules.state.is_told());
                }
            }
            prop_assert!(ends <= 1);
        }
    }
}
