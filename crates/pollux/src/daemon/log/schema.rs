//! The tables. `user_version` counts the steps that were taken.

use rusqlite::{Connection, OpenFlags};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// Each step is taken once, in this order; a new one is added at the end.
const STEPS: &[&str] = &[
    r"
CREATE TABLE sessions (
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    agent_id TEXT,
    summary TEXT NOT NULL,
    start TEXT,
    file TEXT,
    floor INTEGER NOT NULL DEFAULT 0,
    updated_at INTEGER NOT NULL
);
CREATE INDEX sessions_agent ON sessions (agent_id);
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    json TEXT NOT NULL,
    cut TEXT,
    whole TEXT
);
CREATE UNIQUE INDEX events_seq ON events (session, seq);
CREATE TABLE messages (
    session INTEGER NOT NULL,
    position INTEGER NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    model TEXT,
    tokens INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session, position)
) WITHOUT ROWID;
CREATE UNIQUE INDEX messages_id ON messages (session, id);
CREATE VIRTUAL TABLE words USING fts5 (text, content = '', contentless_delete = 1);
CREATE TABLE commands (
    session INTEGER NOT NULL,
    id TEXT NOT NULL,
    command TEXT NOT NULL,
    reply TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (session, id)
) WITHOUT ROWID;
CREATE TABLE begun (client_id TEXT PRIMARY KEY, session TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE devices (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    seen_at INTEGER
) WITHOUT ROWID;
CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    device TEXT NOT NULL,
    action TEXT NOT NULL,
    session TEXT,
    detail TEXT NOT NULL
);
CREATE TABLE projects (path TEXT PRIMARY KEY) WITHOUT ROWID;
",
    r"
CREATE TABLE shares (
    hash BLOB PRIMARY KEY,
    session TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE subscriptions (
    endpoint TEXT PRIMARY KEY,
    device TEXT NOT NULL,
    p256dh TEXT NOT NULL,
    auth TEXT NOT NULL
) WITHOUT ROWID;
",
    r"
CREATE TABLE members (
    session TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    profile TEXT NOT NULL,
    team TEXT NOT NULL,
    parent TEXT,
    depth INTEGER NOT NULL,
    given TEXT NOT NULL,
    worktree TEXT,
    gone_at INTEGER
) WITHOUT ROWID;
CREATE INDEX members_team ON members (team);
CREATE TABLE jobs (
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    client_id TEXT UNIQUE,
    caller TEXT,
    worker TEXT,
    state TEXT NOT NULL,
    job TEXT NOT NULL
);
CREATE INDEX jobs_state ON jobs (state);
CREATE TABLE letters (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    sender TEXT,
    receiver TEXT,
    text TEXT NOT NULL,
    job TEXT,
    notice INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL,
    reason TEXT,
    attempt INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    ended_at INTEGER
);
CREATE INDEX letters_open ON letters (receiver, state, id);
",
    r"
CREATE TABLE schedules (name TEXT PRIMARY KEY, schedule TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    schedule TEXT NOT NULL,
    due_at INTEGER NOT NULL,
    at INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    job TEXT,
    why TEXT
);
CREATE INDEX runs_schedule ON runs (schedule, id);
",
    r"
CREATE TABLE taken_back (
    session INTEGER NOT NULL,
    id TEXT NOT NULL,
    model TEXT,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (session, id)
) WITHOUT ROWID;
",
];

/// Why the database is not opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum Closed {
    /// A later version has taken steps that this one does not know.
    #[error("a newer version of Pollux created it")]
    Newer,
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

/// Opens the database for the one who writes, and takes the steps that are missing.
pub(super) fn open(path: &Path) -> Result<Connection, Closed> {
    // Nobody else's business; what SQLite puts beside it has the same permissions.
    let made = std::fs::OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    drop(made);
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    let done: usize = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if done > STEPS.len() {
        return Err(Closed::Newer);
    }
    // Killed at any moment, a transaction is there or is not. What was on disk before stays, also without power; the
    // last transactions before the power went may be gone.
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    let transaction = connection.transaction()?;
    for step in STEPS.iter().skip(done) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", STEPS.len())?;
    transaction.commit()?;
    Ok(connection)
}

/// Opens the database for somebody who reads.
pub(super) fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    // Half a megabyte for each connection: the system has the file in memory anyway.
    connection.pragma_update(None, "cache_size", -512)?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::{Closed, open};
    use crate::daemon::log::{page, row, schedule, team};

    #[test]
    fn a_log_that_a_newer_version_has_made_stays_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.db");
        open(&path).unwrap().pragma_update(None, "user_version", 9_999).unwrap();
        assert!(matches!(open(&path), Err(Closed::Newer)));
    }

    /// What is asked while an agent works, or by every client that comes.
    const OFTEN: [&str; 9] = [
        page::EVENTS,
        page::MESSAGES,
        row::PLACE,
        row::KNOWN,
        schedule::LAST_JOB,
        team::CLAIM,
        team::FIRST,
        team::HAS_COMMAND,
        team::JOB,
    ];

    #[test]
    fn what_is_asked_often_is_found_by_an_index() {
        let directory = tempfile::tempdir().unwrap();
        let connection = open(&directory.path().join("log.db")).unwrap();
        for query in OFTEN {
            let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
            // Without the values, which make no difference to it.
            let steps = plan.raw_query().mapped(|row| row.get::<_, String>(3));
            let steps: Vec<String> = steps.map(Result::unwrap).collect();
            let scans = |step: &String| step.starts_with("SCAN") && step != "SCAN CONSTANT ROW";
            assert!(!steps.iter().any(scans), "{query}: {steps:?}");
        }
    }
}
