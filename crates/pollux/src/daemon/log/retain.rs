//! What is kept, and for how long: by age, and by size.

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

/// Lets go of what is old. The growing of texts goes first, because the messages that came of it stay; then whole
/// sessions, the oldest first. Gives how many events are gone.
pub fn retain(connection: &Connection, keep: Keep, now: Timestamp) -> rusqlite::Result<usize> {
    let old = now.saturating_sub(keep.age).map_or(0, Timestamp::as_millisecond);
    let mut gone = 0;
    let mut select =
        connection.prepare("SELECT no FROM sessions WHERE updated_at < ?1 ORDER BY updated_at")?;
    let sessions: Vec<i64> =
        select.query_map([old], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for no in sessions {
        gone += forget(connection, no)?;
    }
    while bytes(connection)? > keep.bytes {
        let oldest = connection
            .query_row(
                "SELECT s.no FROM sessions s WHERE EXISTS
                 (SELECT 1 FROM events e WHERE e.session = s.no) ORDER BY s.updated_at LIMIT 1",
                [],
                |row| row.get(0),
            )
            .optional()?;
        match oldest {
            Some(no) => gone += forget(connection, no)?,
            None => break,
        }
    }
    Ok(gone)
}

/// All events of a session, but not the session itself: a client that comes back gets a snapshot.
fn forget(connection: &Connection, no: i64) -> rusqlite::Result<usize> {
    connection.execute(
        "DELETE FROM words WHERE rowid IN (SELECT id FROM events WHERE session = ?1)",
        [no],
    )?;
    connection.execute(
        "UPDATE sessions SET floor = COALESCE(
         (SELECT MAX(seq) FROM events WHERE session = ?1), floor) WHERE no = ?1",
        [no],
    )?;
    connection.execute("DELETE FROM messages WHERE session = ?1", [no])?;
    connection.execute("DELETE FROM commands WHERE session = ?1", [no])?;
    connection.execute("DELETE FROM events WHERE session = ?1", params![no])
}

/// The bytes that are in use; what was let go is used again.
fn bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, u64>(0));
    Ok((number("page_count")? - number("freelist_count")?) * number("page_size")?)
}
