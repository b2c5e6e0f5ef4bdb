//! How far a team may grow, and how much one job may take. Pure.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

/// What a team may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many agents of one team may live at once, the first one apart.
    pub workers: usize,
    /// How many levels there may be below the first one.
    pub depth: u32,
    /// How many tokens one job may take before it pauses.
    pub tokens: Option<u64>,
    /// How long one job may work before it pauses.
    pub time: Option<SignedDuration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { workers: 64, depth: 4, tokens: None, time: Some(SignedDuration::from_hours(4)) }
    }
}

/// What one job may take. What is not said is the daemon's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// So many tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// So many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

impl Budget {
    /// Why a job cannot be given so little; nothing where it can.
    pub fn refuse(&self) -> Option<&'static str> {
        match (self.tokens, self.seconds) {
            (Some(0), _) => Some("a job needs at least 1 token"),
            (_, Some(0)) => Some("a job needs at least 1 second"),
            _ => None,
        }
    }
}

impl Limits {
    /// Why there may be no further worker, and what to do; nothing where there may.
    pub fn refuse(&self, living: usize, depth: u32) -> Option<(String, &'static str)> {
        if depth > self.depth {
            let why = format!(
                "the new agent would be at level {depth} of the team, and the limit is {}",
                self.depth
            );
            return Some((why, "do the work yourself, or raise `team_depth` in config.toml"));
        }
        if living >= self.workers {
            let why = format!(
                "the team already has {living} running agents, and the limit is {}",
                self.workers
            );
            return Some((why, "stop an agent that is done, or do the work yourself"));
        }
        None
    }

    /// The budget of a job: what was asked for, at most what there is.
    pub fn budget(&self, asked: Budget) -> Budget {
        let own_seconds = self.time.and_then(|time| u64::try_from(time.as_secs()).ok());
        Budget {
            tokens: least(asked.tokens, self.tokens),
            seconds: least(asked.seconds, own_seconds),
        }
    }
}

impl Limits {
    /// The budget of a job that is gone on with, which has taken so many tokens, and how many of them it was given now. Where
    /// nobody says how many it may take besides, and it has none left, it gets as many as it was given last: at first that is
    /// its whole budget. None of it is more than one job may take.
    pub fn more(
        &self,
        had: Budget,
        granted: Option<u64>,
        spent: u64,
        more: Budget,
    ) -> (Budget, Option<u64>) {
        let seconds = more.seconds.or(had.seconds);
        let tokens = more.tokens.or(granted).or(had.tokens);
        let given = self.budget(Budget { tokens, seconds });
        if more.tokens.is_none() && had.tokens.is_some_and(|had| spent < had) {
            return (Budget { tokens: had.tokens, ..given }, granted);
        }
        let besides = |tokens: u64| spent.saturating_add(tokens);
        (Budget { tokens: given.tokens.map(besides), ..given }, given.tokens)
    }
}

fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, Limits};
    use proptest::prelude::*;

    #[test]
    fn a_job_that_is_gone_on_with_keeps_a_budget_within_the_limits() {
        let limits = Limits {
            tokens: Some(1000),
            time: Some(jiff::SignedDuration::from_secs(60)),
            ..Limits::default()
        };
        let budget = |tokens, seconds| Budget { tokens, seconds };
        let more = |spent, more| limits.more(budget(Some(500), Some(30)), None, spent, more).0;
        assert_eq!(more(510, budget(None, None)), budget(Some(1010), Some(30)));
        assert_eq!(more(510, budget(Some(90), None)), budget(Some(600), Some(30)));
        assert_eq!(more(510, budget(Some(9999), Some(9999))), budget(Some(1510), Some(60)));
        assert_eq!(more(20, budget(None, Some(40))), budget(Some(500), Some(40)), "its time");
    }

    #[test]
    fn a_job_that_is_gone_on_with_again_and_again_gets_each_time_what_it_was_given_last() {
        let limits = Limits::default();
        let tokens = |tokens| Budget { tokens, seconds: None };
        let more = |(had, granted): (Budget, _), spent, besides| {
            let had = Budget { seconds: None, ..had };
            limits.more(had, granted, spent, tokens(besides))
        };
        let once = more((tokens(Some(500)), None), 510, None);
        assert_eq!((once.0.tokens, once.1), (Some(1010), Some(500)));
        let twice = more(once, 1020, None);
        assert_eq!((twice.0.tokens, twice.1), (Some(1520), Some(500)));
        let with_less = more(twice, 1520, Some(90));
        assert_eq!((with_less.0.tokens, with_less.1), (Some(1610), Some(90)));
        // Its time was over before its tokens were: they stay what they are.
        assert_eq!(more(with_less, 1600, None).0.tokens, Some(1610));
        assert_eq!(more(with_less, 1611, None).0.tokens, Some(1701));
        assert_eq!(more((tokens(None), None), 9, None).0.tokens, None, "there is no limit");
    }

    #[test]
    fn a_budget_of_nothing_is_refused_and_none_at_all_is_not() {
        let refuse = |tokens, seconds| Budget { tokens, seconds }.refuse();
        assert!(refuse(Some(0), None).is_some() && refuse(Some(1), Some(0)).is_some());
        assert_eq!((refuse(None, None), refuse(Some(1), Some(1))), (None, None));
    }

    proptest! {
        #[test]
        fn a_team_that_grows_only_where_it_is_not_refused_never_outgrows_its_limits(
            workers in 0_usize..9, depth in 0_u32..5, births in prop::collection::vec(0_u32..7, 0..40)
        ) {
            let limits = Limits { workers, depth, ..Limits::default() };
            let mut living = Vec::new();
            for level in births {
                if limits.refuse(living.len(), level).is_none() {
                    living.push(level);
                }
            }
            prop_assert!(living.len() <= workers);
            prop_assert!(living.iter().all(|level| *level <= depth));
        }

        #[test]
        fn nobody_gets_a_greater_budget_by_asking(own in prop::option::of(0_u64..99), asked in prop::option::of(0_u64..99)) {
            let limits = Limits { tokens: own, ..Limits::default() };
            let budget = limits.budget(Budget { tokens: asked, seconds: None });
            prop_assert!(own.is_none() || budget.tokens <= own);
        }
    }
}
