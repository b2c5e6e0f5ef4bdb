//! Members, jobs and letters in the log.

use crate::api::team::Job;
use crate::team::given::Given;
use crate::team::post::{Letter, State};
use jiff::Timestamp;
use pollux_agent::session::Command;
use rusqlite::{Connection, OptionalExtension, Row, params};

/// An agent of a team, as it is kept.
#[derive(Debug, Clone)]
pub struct Kept {
    /// Its session.
    pub session: String,
    /// What it is called.
    pub name: String,
    /// Its profile.
    pub profile: String,
    /// The session that began the team.
    pub team: String,
    /// For whom it works.
    pub parent: Option<String>,
    /// How many are above it.
    pub depth: u32,
    /// What its process is given.
    pub given: Given,
    /// Its worktree: the tree, the branch, and where it came from.
    pub worktree: Option<crate::daemon::team::Tree>,
    /// True where it has ended for good.
    pub gone: bool,
}

/// Writes down an agent.
pub fn add_member(connection: &Connection, kept: &Kept) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO members (session, name, profile, team, parent, depth, given, worktree)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            kept.session,
            kept.name,
            kept.profile,
            kept.team,
            kept.parent,
            kept.depth,
            serde_json::to_string(&kept.given).unwrap_or_default(),
            kept.worktree.as_ref().and_then(|tree| serde_json::to_string(tree).ok()),
        ])?;
    Ok(())
}

/// All agents, the oldest first.
pub fn members(connection: &Connection) -> rusqlite::Result<Vec<Kept>> {
    let mut select = connection.prepare(
        "SELECT m.session, m.name, m.profile, m.team, m.parent, m.depth, m.given, m.worktree, m.gone_at
         FROM members m JOIN sessions s ON s.id = m.session ORDER BY s.no",
    )?;
    let rows = select.query_map([], |row| {
        let (given, worktree): (String, Option<String>) = (row.get(6)?, row.get(7)?);
        let gone: Option<i64> = row.get(8)?;
        let Ok(given) = serde_json::from_str(&given) else { return Ok(None) };
        Ok(Some(Kept {
            session: row.get(0)?,
            name: row.get(1)?,
            profile: row.get(2)?,
            team: row.get(3)?,
            parent: row.get(4)?,
            depth: row.get(5)?,
            given,
            worktree: worktree.and_then(|tree| serde_json::from_str(&tree).ok()),
            gone: gone.is_some(),
        }))
    })?;
    rows.filter_map(Result::transpose).collect()
}

/// An agent has ended for good.
pub fn gone(connection: &Connection, session: &str, now: Timestamp) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE members SET gone_at = COALESCE(gone_at, ?2) WHERE session = ?1")?
        .execute(params![session, now.as_millisecond()])?;
    Ok(())
}

/// Writes a job down, or what became of it. False where it has ended before.
pub fn save_job(
    connection: &Connection,
    job: &Job,
    client: Option<&str>,
) -> rusqlite::Result<bool> {
    let changed = connection
        .prepare_cached(
            "INSERT INTO jobs (id, client_id, caller, worker, state, job) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (id) DO UPDATE SET worker = ?4, state = ?5, job = ?6
             WHERE state NOT IN ('done', 'failed', 'cancelled')",
        )?
        .execute(params![
            job.id,
            client,
            job.caller,
            job.worker,
            job.state.word(),
            serde_json::to_string(job).unwrap_or_default(),
        ])?;
    Ok(changed > 0)
}

fn jobs_of(rows: rusqlite::Rows<'_>) -> rusqlite::Result<Vec<Job>> {
    let texts: Vec<String> = rows.mapped(|row| row.get(0)).collect::<rusqlite::Result<_>>()?;
    // What a later version wrote stays where it is.
    Ok(texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect())
}

/// The jobs that have not ended for good.
pub fn open_jobs(connection: &Connection) -> rusqlite::Result<Vec<Job>> {
    let mut select = connection.prepare_cached(
        "SELECT job FROM jobs WHERE state NOT IN ('done', 'failed', 'cancelled') ORDER BY no",
    )?;
    jobs_of(select.query([])?)
}

/// The last jobs and all that have not ended for good, the newest first.
pub fn jobs(connection: &Connection, most: usize) -> rusqlite::Result<Vec<Job>> {
    let mut select = connection.prepare_cached(
        "SELECT job FROM jobs WHERE state NOT IN ('done', 'failed', 'cancelled')
           OR no IN (SELECT no FROM jobs ORDER BY no DESC LIMIT ?1) ORDER BY no DESC",
    )?;
    jobs_of(select.query([most])?)
}

pub(super) const JOB: &str =
    "SELECT job FROM jobs WHERE id >= ?1 AND id < ?1 || char(1114111) LIMIT 2";

/// The job with an id that begins so; none where there is none, or several.
pub fn job(connection: &Connection, id: &str) -> rusqlite::Result<Option<Job>> {
    let mut select = connection.prepare_cached(JOB)?;
    let mut found = jobs_of(select.query([id])?)?;
    Ok(if found.len() == 1 { found.pop() } else { None })
}

/// The job that a request with this id has given before.
pub fn given_before(connection: &Connection, client: &str) -> rusqlite::Result<Option<Job>> {
    let mut select = connection.prepare_cached("SELECT job FROM jobs WHERE client_id = ?1")?;
    Ok(jobs_of(select.query([client])?)?.pop())
}

/// Writes a letter, and gives its id.
pub fn write(
    connection: &Connection,
    (from, to): (Option<&str>, Option<&str>),
    (text, job, notice): (&str, Option<&str>, bool),
    now: Timestamp,
) -> rusqlite::Result<i64> {
    connection
        .prepare_cached(
            "INSERT INTO letters (sender, receiver, text, job, notice, state, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, 'waiting', ?6)",
        )?
        .insert(params![from, to, text, job, notice, now.as_millisecond()])
}

const LETTER: &str = "SELECT id, sender, receiver, text, job, state, reason, attempt, created_at, ended_at, notice FROM letters";

fn letter(row: &Row<'_>) -> rusqlite::Result<Letter> {
    let (state, created, ended): (String, i64, Option<i64>) =
        (row.get(5)?, row.get(8)?, row.get(9)?);
    let at = |ms| Timestamp::from_millisecond(ms).unwrap_or_default();
    Ok(Letter {
        id: row.get(0)?,
        from: row.get(1)?,
        to: row.get(2)?,
        text: row.get(3)?,
        job: row.get(4)?,
        state: serde_json::from_value(state.into()).unwrap_or(State::Dead),
        notice: row.get(10)?,
        reason: row.get(6)?,
        attempt: row.get(7)?,
        created_at: at(created),
        ended_at: ended.map(at),
    })
}

pub(super) const CLAIM: &str = "UPDATE letters SET state = 'claimed', attempt = attempt + 1
     WHERE id = (SELECT MIN(id) FROM letters WHERE receiver = ?1 AND state = 'waiting')
       AND NOT EXISTS (SELECT 1 FROM letters WHERE receiver = ?1 AND state = 'claimed')
     RETURNING id, sender, receiver, text, job, state, reason, attempt, created_at, ended_at, notice";

/// Takes the first letter that waits for a receiver, unless one is on its way to it already. One statement: nobody
/// else takes the same.
pub fn claim(connection: &Connection, receiver: &str) -> rusqlite::Result<Option<Letter>> {
    connection.prepare_cached(CLAIM)?.query_row([receiver], letter).optional()
}

/// A letter is somewhere else now. False where it was not where it was thought to be.
pub fn settle(
    connection: &Connection,
    id: i64,
    (from, to): (State, State),
    reason: Option<&str>,
    now: Timestamp,
) -> rusqlite::Result<bool> {
    let word = |state: State| serde_json::to_value(state).unwrap_or_default();
    let ended = matches!(to, State::Delivered | State::Dead).then(|| now.as_millisecond());
    let changed = connection
        .prepare_cached(
            "UPDATE letters SET state = ?3, reason = ?4, ended_at = ?5 WHERE id = ?1 AND state = ?2",
        )?
        .execute(params![id, word(from).as_str(), word(to).as_str(), reason, ended])?;
    Ok(changed > 0)
}

/// A person has seen what became of a job: what was written to him of it is no news.
pub fn seen(connection: &Connection, job: &str, now: Timestamp) -> rusqlite::Result<bool> {
    let changed = connection
        .prepare_cached(
            "UPDATE letters SET state = 'delivered', ended_at = ?2
             WHERE job = ?1 AND receiver IS NULL AND state = 'waiting'",
        )?
        .execute(params![job, now.as_millisecond()])?;
    Ok(changed > 0)
}

/// The letters that are neither delivered nor dead, the oldest first; those of people apart.
pub fn open_letters(connection: &Connection) -> rusqlite::Result<Vec<Letter>> {
    let mut select = connection.prepare_cached(&format!(
        "{LETTER} WHERE receiver IS NOT NULL AND state IN ('waiting', 'claimed') ORDER BY id"
    ))?;
    select.query_map([], letter)?.collect()
}

/// How many letters wait for a person.
pub fn unread(connection: &Connection) -> rusqlite::Result<u64> {
    connection
        .prepare_cached(
            "SELECT COUNT(*) FROM letters WHERE receiver IS NULL AND state = 'waiting'",
        )?
        .query_row([], |row| row.get(0))
}

/// The letters that wait for a receiver.
pub fn waiting(connection: &Connection, receiver: &str) -> rusqlite::Result<Vec<Letter>> {
    let mut select = connection.prepare_cached(&format!(
        "{LETTER} WHERE receiver = ?1 AND state = 'waiting' ORDER BY id"
    ))?;
    select.query_map([receiver], letter)?.collect()
}

/// The letter that is on its way to a receiver.
pub fn claimed(connection: &Connection, receiver: &str) -> rusqlite::Result<Option<Letter>> {
    let mut select = connection
        .prepare_cached(&format!("{LETTER} WHERE receiver = ?1 AND state = 'claimed' LIMIT 1"))?;
    select.query_row([receiver], letter).optional()
}

/// Whose letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    /// Everybody's.
    All,
    /// Those to people.
    People,
    /// Those to and from a session.
    Session(String),
}

/// The last letters, the oldest first.
pub fn letters(connection: &Connection, of: &Whose, most: usize) -> rusqlite::Result<Vec<Letter>> {
    let whose = match of {
        Whose::All => "",
        Whose::People => " WHERE receiver IS NULL",
        Whose::Session(_) => " WHERE receiver = ?2 OR sender = ?2",
    };
    let mut select = connection.prepare_cached(&format!(
        "SELECT * FROM ({LETTER}{whose} ORDER BY id DESC LIMIT ?1) ORDER BY id"
    ))?;
    match of {
        Whose::Session(session) => select.query_map(params![most, session], letter)?.collect(),
        Whose::All | Whose::People => select.query_map(params![most], letter)?.collect(),
    }
}

pub(super) const HAS_COMMAND: &str =
    "SELECT EXISTS (SELECT 1 FROM commands WHERE session = ?1 AND id = ?2)";

/// True where a session has taken a command with this id.
pub fn has_command(connection: &Connection, no: i64, id: &str) -> rusqlite::Result<bool> {
    connection.prepare_cached(HAS_COMMAND)?.query_row(params![no, id], |row| row.get(0))
}

/// True where somebody has told the agent of a session to end.
pub fn was_stopped(connection: &Connection, no: i64) -> rusqlite::Result<bool> {
    let mut select = connection
        .prepare_cached("SELECT command FROM commands WHERE session = ?1 ORDER BY at DESC")?;
    let commands = select.query_map([no], |row| row.get::<_, String>(0))?;
    for command in commands {
        // What a later version wrote is none that this one knows.
        if matches!(serde_json::from_str(&command?), Ok(Command::Stop)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What a turn gave.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// The reason why it ended; none while it goes on.
    pub ended: Option<String>,
    /// The whole events of texts, messages and tool ends in it, in order.
    pub told: Vec<String>,
}

pub(super) const FIRST: &str = "SELECT seq, json FROM events
     WHERE session = ?1 AND kind = ?2 AND seq > ?3 ORDER BY seq LIMIT 1";

/// The first turn after an event, if it has begun.
pub fn turn(connection: &Connection, no: i64, after: u64) -> rusqlite::Result<Option<Turn>> {
    let first = |kind: &str, after: u64| {
        connection
            .prepare_cached(FIRST)?
            .query_row(params![no, kind, after], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
    };
    let Some((begun, _)): Option<(u64, String)> = first("turn_started", after)? else {
        return Ok(None);
    };
    let Some((end, json)): Option<(u64, String)> = first("turn_ended", begun)? else {
        return Ok(Some(Turn::default()));
    };
    // What is told late is still of this turn.
    let until = first("turn_started", end)?.map_or(u64::MAX >> 1, |(next, _): (u64, String)| next);
    let reason = serde_json::from_str::<serde_json::Value>(&json).ok();
    let reason = reason.and_then(|event| event["stop_reason"].as_str().map(str::to_owned));
    let mut select = connection.prepare_cached(
        "SELECT COALESCE(whole, json) FROM events
         WHERE session = ?1 AND seq > ?2 AND seq < ?3
           AND kind IN ('text_grew', 'message_recorded', 'tool_ended') ORDER BY seq",
    )?;
    let from = prompted(connection, no, (after, begun))?.unwrap_or(begun);
    let told = select.query_map(params![no, from, until], |row| row.get(0))?;
    Ok(Some(Turn {
        ended: Some(reason.unwrap_or_default()),
        told: told.collect::<Result<_, _>>()?,
    }))
}

/// The last prompt that was written down in a part of the log. That of a turn may stand before its beginning, and its answer with
/// it: who comes to an agent that works reads its file first.
fn prompted(
    connection: &Connection,
    no: i64,
    (after, until): (u64, u64),
) -> rusqlite::Result<Option<u64>> {
    connection
        .prepare_cached(
            "SELECT seq FROM events
             WHERE session = ?1 AND kind = 'message_recorded' AND seq > ?2 AND seq < ?3
               AND json ->> '$.message.role' = 'user' AND json ->> '$.message.meta' IS NOT TRUE
             ORDER BY seq DESC LIMIT 1",
        )?
        .query_row(params![no, after, until], |row| row.get(0))
        .optional()
}

/// What was said last of a session that has ended: an error, or the reason of its end.
pub fn last_words(
    connection: &Connection,
    no: i64,
    after: u64,
) -> rusqlite::Result<Option<String>> {
    let mut select = connection.prepare_cached(
        "SELECT json FROM events WHERE session = ?1 AND seq > ?2
           AND kind IN ('notice', 'session_ended', 'turn_ended') ORDER BY seq DESC LIMIT 8",
    )?;
    let rows = select.query_map(params![no, after], |row| row.get::<_, String>(0))?;
    let texts: Vec<String> = rows.collect::<rusqlite::Result<_>>()?;
    let events: Vec<serde_json::Value> =
        texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
    let word = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let error = events.iter().find_map(|event| {
        let failed = word(&event["error"]["message"]);
        failed.or_else(|| (event["level"] == "error").then(|| word(&event["text"]))?)
    });
    Ok(error.or_else(|| events.iter().find_map(|event| word(&event["reason"]))))
}

#[cfg(test)]
mod tests {
    use super::turn;
    use crate::daemon::log::schema;
    use rusqlite::params;
    use serde_json::{Value, json};

    /// What is known of the first turn after an event of a log.
    fn told(after: u64, log: &[Value]) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        let connection = schema::open(&directory.path().join("log.db")).unwrap();
        for (seq, event) in (1_u64..).zip(log) {
            let insert = "INSERT INTO events (session, seq, epoch, at, kind, json) VALUES (1, ?1, 1, 0, ?2, ?3)";
            let kind = event["type"].as_str().unwrap();
            connection.execute(insert, params![seq, kind, event.to_string()]).unwrap();
        }
        let told = turn(&connection, 1, after).unwrap().unwrap().told;
        let text = |event: &String| {
            let event: Value = serde_json::from_str(event).unwrap();
            event["message"]["content"].as_str().unwrap_or_default().to_owned()
        };
        told.iter().map(text).collect()
    }

    fn wrote(role: &str, text: &str) -> Value {
        json!({ "type": "message_recorded", "message": { "role": role, "content": text } })
    }

    #[test]
    fn an_answer_that_was_written_down_before_its_turn_was_seen_is_that_of_the_turn() {
        let started = json!({ "type": "turn_started", "prompt": "go" });
        let ended = json!({ "type": "turn_ended", "stop_reason": "end_turn" });
        let log = [wrote("user", "go"), wrote("assistant", "gone"), started, ended];
        assert_eq!(told(0, &log), ["gone"]);
        // One of the turn before that is late is not.
        let late = [vec![wrote("assistant", "before")], log.to_vec()].concat();
        assert_eq!(told(0, &late), ["gone"]);
        let context = json!({ "type": "message_recorded",
            "message": { "role": "user", "content": "context", "meta": true } });
        let late = [vec![wrote("assistant", "before"), context], log[2..].to_vec()].concat();
        assert!(told(0, &late).is_empty());
    }
}
