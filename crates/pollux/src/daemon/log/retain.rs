//! What is kept, and for how long: by age, and by size.

mod team;

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

/// How long events are kept, and how many bytes the log may have.
#[derive(Debug, Clone, Copy)]
pub struct Keep {
    /// Events of sessions that have been silent for so long are let go.
    pub age: SignedDuration,
    /// The oldest sessions are let go until the log has no more than this.
    pub bytes: u64,
}

impl Default for Keep {
    fn default() -> Self {
        Self { age: SignedDuration::from_hours(24 * 90), bytes: 4 << 30 }
    }
}

/// What was let go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gone {
    /// How many events.
    pub events: usize,
    /// How many jobs, letters, runs and entries of the audit log.
    pub rows: usize,
    /// The sessions of agents that are of no team any more.
    pub members: Vec<String>,
}

/// Lets go of the events of the session that has been silent for longest, where it is too old or the log too large, and of
/// what teams and the audit log have from before that time. Nothing where all may stay. To be asked again until then.
pub fn retain(
    connection: &Connection,
    keep: Keep,
    now: Timestamp,
) -> rusqlite::Result<Option<Gone>> {
    let old = now.saturating_sub(keep.age).map_or(0, Timestamp::as_millisecond);
    let events = oldest(connection, keep, old)?;
    let until = events.map_or(old, |(_, at)| at.max(old));
    let gone = Gone {
        events: events.map_or(Ok(0), |(no, _)| forget(connection, no))?,
        rows: team::forget(connection, until)? + team::cut(connection)?,
        members: team::leave(connection, until, old)?,
    };
    Ok((events.is_some() || gone != Gone::default()).then_some(gone))
}

/// The session whose events go next, and since when it has been silent.
fn oldest(connection: &Connection, keep: Keep, old: i64) -> rusqlite::Result<Option<(i64, i64)>> {
    let oldest: Option<(i64, i64)> = connection
        .query_row(
            "SELECT s.no, s.updated_at FROM sessions s WHERE EXISTS
             (SELECT 1 FROM events e WHERE e.session = s.no) ORDER BY s.updated_at LIMIT 1",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    match oldest {
        Some((no, at)) if at < old || bytes(connection)? > keep.bytes => Ok(Some((no, at))),
        _ => Ok(None),
    }
}

/// All events of a session, but not the session itself: a client that comes back gets a snapshot.
fn forget(connection: &Connection, no: i64) -> rusqlite::Result<usize> {
    connection.execute(
        "UPDATE sessions SET floor = COALESCE(
         (SELECT MAX(seq) FROM events WHERE session = ?1), floor) WHERE no = ?1",
        [no],
    )?;
    empty(connection, no)
}

/// All that was written under the number of a session.
pub(super) fn empty(connection: &Connection, no: i64) -> rusqlite::Result<usize> {
    connection.execute(
        "DELETE FROM words WHERE rowid IN (SELECT id FROM events WHERE session = ?1)",
        [no],
    )?;
    connection.execute("DELETE FROM messages WHERE session = ?1", [no])?;
    connection.execute("DELETE FROM taken_back WHERE session = ?1", [no])?;
    connection.execute("DELETE FROM commands WHERE session = ?1", [no])?;
    connection.execute("DELETE FROM events WHERE session = ?1", params![no])
}

/// A session with all that there is of it.
pub fn remove(connection: &Connection, no: i64) -> rusqlite::Result<()> {
    empty(connection, no)?;
    connection.execute("DELETE FROM sessions WHERE no = ?1", [no]).map(drop)
}

/// The bytes that are in use; what was let go is used again.
fn bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, u64>(0));
    Ok((number("page_count")? - number("freelist_count")?) * number("page_size")?)
}

#[cfg(test)]
mod tests {
    use super::{Gone, Keep, bytes, retain};
    use crate::daemon::log::schema;
    use jiff::{SignedDuration, Timestamp};
    use rusqlite::{Connection, params};

    /// Three sessions, each a day older than the next, and so many bytes in each of their four events.
    fn log(bytes: usize) -> (tempfile::TempDir, Connection, Timestamp) {
        let directory = tempfile::tempdir().unwrap();
        let connection = schema::open(&directory.path().join("log.db")).unwrap();
        let now: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        for no in 1..=3_i64 {
            let at = (now - SignedDuration::from_hours(24 * (4 - no))).as_millisecond();
            let session =
                "INSERT INTO sessions (no, id, summary, updated_at) VALUES (?1, ?1, '{}', ?2)";
            connection.execute(session, params![no, at]).unwrap();
            for seq in 1..=4_i64 {
                let event = "INSERT INTO events (session, seq, epoch, at, kind, json)
                             VALUES (?1, ?2, 1, ?3, 'notice', ?4)";
                connection.execute(event, params![no, seq, at, "x".repeat(bytes)]).unwrap();
            }
        }
        (directory, connection, now)
    }

    fn left(connection: &Connection) -> Vec<(i64, i64)> {
        let mut select = connection
            .prepare("SELECT no, floor FROM sessions s WHERE EXISTS (SELECT 1 FROM events WHERE session = s.no)")
            .unwrap();
        select
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect()
    }

    #[test]
    fn what_is_too_old_goes_and_says_up_to_where() {
        let (_directory, connection, now) = log(10);
        let keep = Keep { age: SignedDuration::from_hours(60), ..Keep::default() };
        let gone = Gone { events: 4, ..Gone::default() };
        assert_eq!(retain(&connection, keep, now).unwrap(), Some(gone));
        assert_eq!(retain(&connection, keep, now).unwrap(), None, "the others are young");
        assert_eq!(left(&connection), [(2, 0), (3, 0)]);
        let floor: i64 = connection
            .query_row("SELECT floor FROM sessions WHERE no = 1", [], |row| row.get(0))
            .unwrap();
        assert_eq!(floor, 4);
    }

    #[test]
    fn a_log_that_is_too_large_loses_the_oldest_until_it_is_not() {
        let (_directory, connection, now) = log(100_000);
        let keep = Keep { bytes: bytes(&connection).unwrap() - 300_000, ..Keep::default() };
        let mut gone = 0;
        while let Some(more) = retain(&connection, keep, now).unwrap() {
            gone += more.events;
        }
        assert_eq!((gone, left(&connection)), (4, vec![(2, 0), (3, 0)]));
        assert!(bytes(&connection).unwrap() <= keep.bytes);
    }
}
