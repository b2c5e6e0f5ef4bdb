//! Work that is given again and again: when it is due, what became of what was missed, and what is said. Pure.

use croner::Cron;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use ts_rs::TS;
use utoipa::ToSchema;

/// What comes later than this was missed: nobody was there when it was due.
const LATE: SignedDuration = SignedDuration::from_mins(1);

/// What to do about runs that were due while no daemon was running.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    TS,
    ToSchema,
    clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// Skip them and wait for the next run
    #[default]
    Skip,
    /// Run once, no matter how many runs were missed
    Once,
}

/// What is to be done about a schedule now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Nothing before this moment.
    At(Timestamp),
    /// It runs.
    Now,
    /// It was missed, and stays so.
    Missed,
}

/// When an expression is true for the first time after a moment, by the clock of a place. None where it never is.
pub fn next(cron: &str, after: Timestamp, place: &TimeZone) -> Result<Option<Timestamp>, String> {
    let cron = Cron::from_str(cron).map_err(|error| plain(&error.to_string()))?;
    let from = after.to_zoned(place.clone());
    Ok(cron.find_next_occurrence(&from, false).ok().map(|next| next.timestamp()))
}

/// What is wrong, without the name of its kind before it.
fn plain(error: &str) -> String {
    let what = error.rsplit_once(": ").map_or(error, |(_, what)| what).trim_end_matches('.');
    let mut letters = what.chars();
    let first = letters.next().map(|first| first.to_lowercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

/// What is to be done about a schedule that is due at `next`.
pub fn due(next: Timestamp, missed: Missed, now: Timestamp) -> Due {
    if now < next {
        Due::At(next)
    } else if missed == Missed::Skip && now.duration_since(next) > LATE {
        Due::Missed
    } else {
        Due::Now
    }
}

/// A prompt with the words that are known now: each `{{name}}` that is among them.
pub fn filled(template: &str, words: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    // What is put in is not looked at again: it may be anything.
    while let Some((before, from)) = rest.split_once("{{") {
        out.push_str(before);
        let known = from.split_once("}}").and_then(|(name, after)| {
            let word = words.iter().find(|(known, _)| *known == name.trim())?;
            Some((word.1, after))
        });
        let (word, after) = known.unwrap_or(("{{", from));
        out.push_str(word);
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::{Due, Missed, due, filled, next};
    use jiff::tz::TimeZone;
    use jiff::{SignedDuration, Timestamp};
    use proptest::prelude::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn an_expression_is_read_by_the_clock_of_the_place() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap_or(TimeZone::UTC);
        let nine = next("0 9 * * MON-FRI", at("2026-11-14T12:00:00Z"), &TimeZone::UTC).unwrap();
        assert_eq!(nine, Some(at("2026-11-16T09:00:00Z")));
        let nine = next("0 9 * * *", at("2026-07-01T00:00:00Z"), &berlin).unwrap().unwrap();
        assert_eq!(nine.to_zoned(berlin).hour(), 9);
        let wrong =
            |cron: &str| next(cron, at("2026-07-01T00:00:00Z"), &TimeZone::UTC).unwrap_err();
        assert_eq!(wrong("every day"), "pattern must have between 5 and 7 fields");
        assert_eq!(wrong("61 3 * * *"), "number out of bounds");
        assert!(next("0 0 31 2 *", at("2026-07-01T00:00:00Z"), &TimeZone::UTC).unwrap().is_none());
    }

    #[test]
    fn what_was_missed_is_made_up_for_only_where_that_was_asked() {
        let when = at("2026-11-16T09:00:00Z");
        let late = when + SignedDuration::from_hours(30);
        assert_eq!(due(when, Missed::Skip, late), Due::Missed);
        assert_eq!(due(when, Missed::Once, late), Due::Now);
        assert_eq!(due(when, Missed::Skip, when), Due::Now);
        let early = when - SignedDuration::from_secs(1);
        assert_eq!(due(when, Missed::Once, early), Due::At(when));
    }

    #[test]
    fn what_is_put_into_a_prompt_is_not_read_again() {
        let words = [("output", "a {{date}}"), ("date", "today")];
        assert_eq!(filled("{{date}}: {{ output }} {{who}}", &words), "today: a {{date}} {{who}}");
    }

    proptest! {
        #[test]
        fn the_next_time_is_always_later(minutes in 0_i64..3_000_000, step in 1_u32..59) {
            let from = at("2026-01-01T00:00:00Z") + SignedDuration::from_mins(minutes);
            let after = next(&format!("*/{step} * * * *"), from, &TimeZone::UTC).unwrap().unwrap();
            prop_assert!(after > from);
            prop_assert!(after.duration_since(from) <= SignedDuration::from_mins(60));
        }

        #[test]
        fn any_template_can_be_filled(template in ".{0,60}", word in ".{0,20}") {
            drop(filled(&template, &[("output", &word)]));
        }
    }
}
