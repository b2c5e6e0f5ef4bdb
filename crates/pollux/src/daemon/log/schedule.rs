//! Schedules and their runs in the log.

use crate::api::schedule::{Outcome, Run, Schedule};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

/// So many runs of one schedule are kept.
const RUNS: u32 = 500;

/// Writes a schedule down, or what is new about it.
pub fn save(connection: &Connection, schedule: &Schedule) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO schedules (name, schedule) VALUES (?1, ?2)")?
        .execute(params![schedule.name, serde_json::to_string(schedule).unwrap_or_default()])?;
    Ok(())
}

/// All schedules, by name.
pub fn all(connection: &Connection) -> rusqlite::Result<Vec<Schedule>> {
    let mut select = connection.prepare_cached("SELECT schedule FROM schedules ORDER BY name")?;
    let texts: Vec<String> =
        select.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    // What a later version wrote stays where it is.
    Ok(texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect())
}

/// Takes a schedule away; its runs stay. False where there is none.
pub fn remove(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    let gone = connection.execute("DELETE FROM schedules WHERE name = ?1", [name])?;
    Ok(gone > 0)
}

/// A run begins, and the schedule is due at another time where this was its time: both or neither. One that was taken away
/// meanwhile stays away, and one that was changed stays as it was changed.
pub fn begin(
    connection: &Connection,
    schedule: &Schedule,
    due_at: Timestamp,
    (outcome, now): (Outcome, Timestamp),
) -> rusqlite::Result<Run> {
    connection
        .prepare_cached(
            "UPDATE schedules SET schedule = json_set(schedule, '$.next_at', ?2) WHERE name = ?1
             AND schedule ->> '$.cron' = ?3 AND COALESCE(schedule ->> '$.next_at', ?4) = ?4",
        )?
        .execute(params![
            schedule.name,
            schedule.next_at.map(|at| at.to_string()),
            schedule.cron,
            due_at.to_string()
        ])?;
    let id = connection
        .prepare_cached("INSERT INTO runs (schedule, due_at, at, outcome) VALUES (?1, ?2, ?3, ?4)")?
        .insert(params![
            schedule.name,
            due_at.as_millisecond(),
            now.as_millisecond(),
            word(outcome)
        ])?;
    connection
        .prepare_cached(
            "DELETE FROM runs WHERE schedule = ?1 AND id NOT IN
               (SELECT id FROM runs WHERE schedule = ?1 ORDER BY id DESC LIMIT ?2)",
        )?
        .execute(params![schedule.name, RUNS])?;
    let schedule = schedule.name.clone();
    Ok(Run { id, schedule, due_at, at: now, outcome, job: None, why: None })
}

/// What became of a run.
pub fn settle(connection: &Connection, run: &Run) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE runs SET outcome = ?2, job = ?3, why = ?4 WHERE id = ?1")?
        .execute(params![run.id, word(run.outcome), run.job, run.why])?;
    Ok(())
}

const RUN: &str = "SELECT id, schedule, due_at, at, outcome, job, why FROM runs";

/// The last runs, of one schedule or of all, the newest first.
pub fn runs(connection: &Connection, of: Option<&str>, most: usize) -> rusqlite::Result<Vec<Run>> {
    let mut select = connection.prepare_cached(&format!(
        "{RUN} WHERE ?1 IS NULL OR schedule = ?1 ORDER BY id DESC LIMIT ?2"
    ))?;
    select.query_map(params![of, most], run)?.collect()
}

/// The runs in whose middle a daemon ended.
pub fn open(connection: &Connection) -> rusqlite::Result<Vec<Run>> {
    let mut select =
        connection.prepare_cached(&format!("{RUN} WHERE outcome = 'begun' ORDER BY id"))?;
    select.query_map([], run)?.collect()
}

pub(super) const LAST_JOB: &str =
    "SELECT job FROM runs WHERE schedule = ?1 AND job IS NOT NULL ORDER BY id DESC LIMIT 1";

/// The job of the last run that gave one.
pub fn last_job(connection: &Connection, of: &str) -> rusqlite::Result<Option<String>> {
    connection.prepare_cached(LAST_JOB)?.query_row([of], |row| row.get(0)).optional()
}

fn run(row: &Row<'_>) -> rusqlite::Result<Run> {
    let at = |ms: i64| Timestamp::from_millisecond(ms).unwrap_or_default();
    let outcome: String = row.get(4)?;
    Ok(Run {
        id: row.get(0)?,
        schedule: row.get(1)?,
        due_at: at(row.get(2)?),
        at: at(row.get(3)?),
        outcome: serde_json::from_value(outcome.into()).unwrap_or(Outcome::Failed),
        job: row.get(5)?,
        why: row.get(6)?,
    })
}

fn word(outcome: Outcome) -> String {
    let word = serde_json::to_value(outcome).unwrap_or_default();
    word.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Outcome, Schedule, Timestamp, all, begin, remove, runs, save};
    use crate::daemon::log::schema;
    use serde_json::json;

    #[test]
    fn a_schedule_that_was_taken_away_does_not_come_back_with_its_last_run() {
        let directory = tempfile::tempdir().unwrap();
        let connection = schema::open(&directory.path().join("log.db")).unwrap();
        let often = json!({ "name": "often", "cron": "* * * * *", "profile": "developer",
            "prompt": "look", "cwd": "/" });
        let mut often: Schedule = serde_json::from_value(often).unwrap();
        save(&connection, &often).unwrap();
        let now = Timestamp::UNIX_EPOCH;
        often.next_at = Some(now);
        begin(&connection, &often, now, (Outcome::Begun, now)).unwrap();
        assert_eq!(all(&connection).unwrap()[0].next_at, Some(now));
        assert!(remove(&connection, "often").unwrap());
        begin(&connection, &often, now, (Outcome::Begun, now)).unwrap();
        assert!(all(&connection).unwrap().is_empty());
        assert_eq!(runs(&connection, Some("often"), 9).unwrap().len(), 2);
    }

    #[test]
    fn a_schedule_that_was_changed_when_it_was_due_stays_as_it_was_changed() {
        let directory = tempfile::tempdir().unwrap();
        let connection = schema::open(&directory.path().join("log.db")).unwrap();
        let now = Timestamp::UNIX_EPOCH;
        let later: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        let mut before: Schedule =
            serde_json::from_value(json!({ "name": "often", "prompt": "look",
            "cron": "* * * * *", "profile": "developer", "cwd": "/", "next_at": now }))
            .unwrap();
        let words = Schedule { prompt: "look again".into(), ..before.clone() };
        let other = Schedule { cron: "0 9 * * *".into(), next_at: Some(later), ..words.clone() };
        before.next_at = Some(later);
        for (changed, next_at) in [(words, later), (other, later)] {
            save(&connection, &changed).unwrap();
            begin(&connection, &before, now, (Outcome::Begun, now)).unwrap();
            let known = all(&connection).unwrap().remove(0);
            assert_eq!((known.prompt, known.cron), (changed.prompt, changed.cron));
            assert_eq!(known.next_at, Some(next_at));
        }
    }
}
