//! What teams and the audit log leave behind: jobs, letters, members, runs, entries. What is still open is never let go.

use rusqlite::{Connection, params};

/// So many jobs, letters and entries of the audit log are kept that are over, the newest, however young they are.
const MOST: u32 = 100_000;

/// Jobs that have ended, with the time when they did.
const ENDED: &str = "state IN ('done', 'failed', 'cancelled')
    AND COALESCE(unixepoch(json_extract(job, '$.ended_at')) * 1000, 0)";

/// Lets go of what was over before this time: jobs that have ended, letters that were delivered or are dead, entries of the
/// audit log, runs of schedules that are gone.
pub(super) fn forget(connection: &Connection, until: i64) -> rusqlite::Result<usize> {
    let deletes = [
        format!("DELETE FROM jobs WHERE {ENDED} < ?1"),
        "DELETE FROM letters WHERE state IN ('delivered', 'dead') AND ended_at < ?1".to_owned(),
        "DELETE FROM audit WHERE at < ?1".to_owned(),
        "DELETE FROM runs WHERE at < ?1 AND schedule NOT IN (SELECT name FROM schedules)"
            .to_owned(),
    ];
    let mut gone = 0;
    for delete in deletes {
        gone += connection.execute(&delete, [until])?;
    }
    Ok(gone)
}

/// Lets go of the oldest of what is over, where there is too much of it.
pub(super) fn cut(connection: &Connection) -> rusqlite::Result<usize> {
    cut_to(connection, MOST)
}

fn cut_to(connection: &Connection, most: u32) -> rusqlite::Result<usize> {
    let over = [
        ("jobs", "no", "state IN ('done', 'failed', 'cancelled')"),
        ("letters", "id", "state IN ('delivered', 'dead')"),
        ("audit", "id", "TRUE"),
    ];
    let mut gone = 0;
    for (table, id, is_over) in over {
        let delete = format!(
            "DELETE FROM {table} WHERE {is_over} AND {id} <=
             (SELECT {id} FROM {table} WHERE {is_over} ORDER BY {id} DESC LIMIT 1 OFFSET ?1)"
        );
        gone += connection.execute(&delete, params![most])?;
    }
    Ok(gone)
}

/// Lets go of agents that have ended for good before `until`, and of those that ended with a daemon, or are headless and so no
/// process, and were not heard of since `old`. Those for whom somebody works, who have a job that is open, or to whom a letter is on its way stay.
/// Gives their sessions.
pub(super) fn leave(
    connection: &Connection,
    until: i64,
    old: i64,
) -> rusqlite::Result<Vec<String>> {
    let mut delete = connection.prepare_cached(
        "DELETE FROM members AS m WHERE m.session IN (
            SELECT s.id FROM sessions s
             WHERE (json_extract(s.summary, '$.status') = 'exited'
                    AND s.updated_at < CASE WHEN m.gone_at < ?1 THEN ?1 ELSE ?2 END)
                OR (json_extract(s.summary, '$.driver') = 'headless' AND s.updated_at < ?2))
         AND NOT EXISTS (SELECT 1 FROM members c WHERE c.parent = m.session)
         AND NOT EXISTS (SELECT 1 FROM jobs j WHERE m.session IN (j.worker, j.caller)
               AND j.state NOT IN ('done', 'failed', 'cancelled'))
         AND NOT EXISTS (SELECT 1 FROM letters l WHERE l.receiver = m.session
               AND l.state IN ('waiting', 'claimed'))
         RETURNING session",
    )?;
    delete.query_map([until, old], |row| row.get(0))?.collect()
}

#[cfg(test)]
mod tests {
    use super::{cut_to, forget, leave};
    use crate::daemon::log::schema;
    use rusqlite::{Connection, params};

    fn log() -> (tempfile::TempDir, Connection) {
        let directory = tempfile::tempdir().unwrap();
        let connection = schema::open(&directory.path().join("log.db")).unwrap();
        (directory, connection)
    }

    /// The words of one column, in order.
    fn left(connection: &Connection, select: &str) -> Vec<String> {
        let mut select = connection.prepare(select).unwrap();
        select.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    fn job(connection: &Connection, id: &str, state: &str, ended_at: Option<&str>) {
        let json = serde_json::json!({ "ended_at": ended_at }).to_string();
        let insert =
            "INSERT INTO jobs (id, caller, worker, state, job) VALUES (?1, 'lead', ?1, ?2, ?3)";
        connection.execute(insert, params![id, state, json]).unwrap();
    }

    fn letter(connection: &Connection, to: Option<&str>, state: &str, ended_at: Option<i64>) {
        let insert = "INSERT INTO letters (receiver, text, state, created_at, ended_at) VALUES (?1, ?2, ?2, 0, ?3)";
        connection.execute(insert, params![to, state, ended_at]).unwrap();
    }

    #[test]
    fn what_is_over_goes_by_its_age_and_what_is_open_stays_however_old_it_is() {
        let (_directory, connection) = log();
        for state in ["done", "failed", "cancelled"] {
            job(&connection, state, state, Some("1970-01-01T00:00:01.5Z"));
        }
        for state in ["starting", "working", "waiting", "paused", "timed_out"] {
            job(&connection, state, state, None);
        }
        job(&connection, "young", "done", Some("1970-01-01T00:00:02Z"));
        for state in ["delivered", "dead"] {
            letter(&connection, Some("a"), state, Some(1999));
        }
        for state in ["waiting", "claimed"] {
            letter(&connection, Some("a"), state, None);
        }
        letter(&connection, None, "waiting", None);
        let entry = "INSERT INTO audit (at, device, action, detail) VALUES (?1, 'phone', ?2, '{}')";
        connection.execute(entry, params![1999, "old"]).unwrap();
        connection.execute(entry, params![2000, "young"]).unwrap();
        let run = "INSERT INTO runs (schedule, due_at, at, outcome) VALUES (?1, 0, 0, 'given')";
        connection.execute("INSERT INTO schedules VALUES ('there', '{}')", []).unwrap();
        connection.execute(run, ["there"]).unwrap();
        connection.execute(run, ["gone"]).unwrap();
        assert_eq!(forget(&connection, 2000).unwrap(), 3 + 2 + 1 + 1);
        let open = ["starting", "working", "waiting", "paused", "timed_out", "young"];
        assert_eq!(left(&connection, "SELECT id FROM jobs ORDER BY no"), open);
        let open = ["waiting", "claimed", "waiting"];
        assert_eq!(left(&connection, "SELECT state FROM letters ORDER BY id"), open);
        assert_eq!(left(&connection, "SELECT action FROM audit"), ["young"]);
        assert_eq!(left(&connection, "SELECT schedule FROM runs"), ["there"]);
    }

    #[test]
    fn of_what_is_over_no_more_than_the_newest_are_kept() {
        let (_directory, connection) = log();
        job(&connection, "open", "working", None);
        for id in ["a", "b", "c"] {
            job(&connection, id, "done", Some("2026-11-16T12:00:00Z"));
            letter(&connection, Some(id), "delivered", Some(i64::MAX));
            connection
                .execute(
                    "INSERT INTO audit (at, device, action, detail) VALUES (0, 'd', ?1, '{}')",
                    [id],
                )
                .unwrap();
        }
        assert_eq!(cut_to(&connection, 2).unwrap(), 3);
        assert_eq!(cut_to(&connection, 2).unwrap(), 0);
        assert_eq!(left(&connection, "SELECT id FROM jobs ORDER BY no"), ["open", "b", "c"]);
        assert_eq!(left(&connection, "SELECT receiver FROM letters"), ["b", "c"]);
        assert_eq!(left(&connection, "SELECT action FROM audit"), ["b", "c"]);
    }

    /// An agent: for whom it works, what its session does and since when, when it has ended for good.
    fn member(
        connection: &Connection,
        (name, parent): (&str, Option<&str>),
        (status, at): (&str, i64),
        gone_at: Option<i64>,
    ) {
        let driver = if name == "headless" { "headless" } else { "acp" };
        let summary = serde_json::json!({ "status": status, "driver": driver }).to_string();
        let session = "INSERT INTO sessions (id, summary, updated_at) VALUES (?1, ?2, ?3)";
        connection.execute(session, params![name, summary, at]).unwrap();
        let row =
            "INSERT INTO members (session, name, profile, team, parent, depth, given, gone_at)
                   VALUES (?1, ?1, 'p', 't', ?2, 0, '{}', ?3)";
        connection.execute(row, params![name, parent, gone_at]).unwrap();
    }

    #[test]
    fn agents_leave_when_they_are_long_gone_and_nobody_and_nothing_hangs_on_them() {
        let (_directory, connection) = log();
        member(&connection, ("lead", None), ("exited", 10), Some(10));
        member(&connection, ("worker", Some("lead")), ("exited", 10), Some(10));
        member(&connection, ("young", None), ("exited", 3000), Some(3000));
        member(&connection, ("alive", None), ("idle", 10), None);
        // Somebody went on with its session after it had ended.
        member(&connection, ("back", None), ("idle", 10), Some(5));
        // They ended with their daemon, and wait for a letter or a job that wakes them.
        member(&connection, ("asleep", None), ("exited", 1500), None);
        member(&connection, ("forgotten", None), ("exited", 10), None);
        member(&connection, ("headless", None), ("idle", 10), None);
        member(&connection, ("busy", None), ("exited", 10), None);
        job(&connection, "busy", "working", None);
        member(&connection, ("written to", None), ("exited", 10), Some(10));
        letter(&connection, Some("written to"), "waiting", None);
        let go = || {
            let mut gone = leave(&connection, 2000, 1000).unwrap();
            gone.sort();
            gone
        };
        // The job that is open is the lead's: it stays until that has ended.
        assert_eq!(go(), ["forgotten", "headless", "worker"]);
        connection.execute("UPDATE jobs SET state = 'done'", []).unwrap();
        assert_eq!(go(), ["busy", "lead"]);
        assert!(go().is_empty());
        let stay = ["alive", "asleep", "back", "written to", "young"];
        assert_eq!(left(&connection, "SELECT session FROM members ORDER BY session"), stay);
    }
}
