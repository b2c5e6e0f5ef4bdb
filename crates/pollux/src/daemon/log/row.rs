//! A session's row, and what an event does to the list of its messages.

use super::entry::Entry;
use crate::api::Summary;
use pollux_agent::model::EventKind;
use pollux_agent::session::{Command, Known, Reply};
use rusqlite::{Connection, OptionalExtension, params};
use std::path::PathBuf;
use std::sync::Arc;

/// No message has so many tokens. A file that says more does not make sums run over.
const MOST_TOKENS: u64 = 1 << 40;

/// What an event does to the list of messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageOp {
    /// A message is there, or is another one now.
    Record {
        /// Its id.
        id: String,
        /// The model that answered.
        model: Option<String>,
        /// Its tokens.
        tokens: u64,
    },
    /// Messages are gone.
    Remove(Vec<String>),
}

impl MessageOp {
    pub(super) fn of(kind: &EventKind<'_>) -> Option<Self> {
        match kind {
            EventKind::MessageRecorded { message, .. } => Some(Self::Record {
                id: message.id.to_string(),
                model: message.model.as_ref().map(ToString::to_string),
                tokens: message.usage.map_or(0, |usage| usage.total_tokens.min(MOST_TOKENS)),
            }),
            EventKind::HistoryRewritten { removed, .. } if !removed.is_empty() => {
                Some(Self::Remove(removed.iter().map(ToString::to_string).collect()))
            }
            _ => None,
        }
    }
}

/// What is written of a session together with its events.
#[derive(Debug, Clone)]
pub struct Row {
    /// The number of the session in the log.
    pub no: i64,
    /// What is to be known of it.
    pub summary: Arc<Summary>,
    /// Commands that were accepted, with what was replied.
    pub commands: Vec<(String, Command, Reply)>,
}

/// A session as it was left.
#[derive(Debug, Clone)]
pub struct Stored {
    /// Its number in the log.
    pub no: i64,
    /// What was known of it.
    pub summary: Summary,
    /// How it was started: the body of the request.
    pub start: Option<String>,
    /// The agent's own file.
    pub file: Option<PathBuf>,
}

impl Row {
    pub(super) fn append(
        &self,
        connection: &Connection,
        entries: &[Arc<Entry>],
    ) -> rusqlite::Result<()> {
        let mut insert = connection.prepare_cached(
            "INSERT INTO events (session, seq, epoch, at, kind, json, cut, whole)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        let mut words =
            connection.prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?;
        for entry in entries {
            let cut = (!entry.cut.is_empty()).then(|| serde_json::to_string(&entry.cut).ok());
            let id = insert.insert(params![
                self.no,
                entry.seq,
                entry.epoch,
                entry.at.as_millisecond(),
                entry.kind,
                &*entry.json,
                cut.flatten(),
                entry.whole,
            ])?;
            if let Some(text) = &entry.words {
                words.execute(params![id, text])?;
            }
            match &entry.op {
                Some(MessageOp::Record { id, model, tokens }) => {
                    self.record(connection, entry.seq, (id, model.as_deref(), *tokens))?;
                }
                Some(MessageOp::Remove(ids)) => self.remove(connection, ids)?,
                None => {}
            }
        }
        self.save(connection)
    }

    fn record(
        &self,
        connection: &Connection,
        seq: u64,
        (id, model, tokens): (&str, Option<&str>, u64),
    ) -> rusqlite::Result<()> {
        let known: Option<(i64, u64)> = connection
            .prepare_cached("SELECT position, seq FROM messages WHERE session = ?1 AND id = ?2")?
            .query_row(params![self.no, id], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        if let Some((position, before)) = known {
            // What it said before is not found twice.
            connection
                .prepare_cached(
                    "DELETE FROM words WHERE rowid =
                     (SELECT id FROM events WHERE session = ?1 AND seq = ?2)",
                )?
                .execute(params![self.no, before])?;
            connection
                .prepare_cached(
                    "UPDATE messages SET seq = ?3, model = ?4, tokens = ?5
                     WHERE session = ?1 AND position = ?2",
                )?
                .execute(params![self.no, position, seq, model, tokens])?;
            return Ok(());
        }
        connection
            .prepare_cached(
                "INSERT INTO messages (session, position, id, seq, model, tokens) VALUES (?1,
                 (SELECT COALESCE(MAX(position), 0) + 1 FROM messages WHERE session = ?1),
                 ?2, ?3, ?4, ?5)",
            )?
            .execute(params![self.no, id, seq, model, tokens])?;
        Ok(())
    }

    fn remove(&self, connection: &Connection, ids: &[String]) -> rusqlite::Result<()> {
        let mut delete =
            connection.prepare_cached("DELETE FROM messages WHERE session = ?1 AND id = ?2")?;
        for id in ids {
            delete.execute(params![self.no, id])?;
        }
        Ok(())
    }

    fn save(&self, connection: &Connection) -> rusqlite::Result<()> {
        let summary = &self.summary;
        connection
            .prepare_cached(
                "UPDATE sessions SET agent_id = ?2, summary = ?3, updated_at = ?4 WHERE no = ?1",
            )?
            .execute(params![
                self.no,
                summary.agent_id,
                serde_json::to_string(&**summary).unwrap_or_default(),
                summary.updated_at.as_millisecond(),
            ])?;
        for (id, command, reply) in &self.commands {
            connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO commands (session, id, command, reply, at)
                     VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![
                    self.no,
                    id,
                    serde_json::to_string(command).unwrap_or_default(),
                    serde_json::to_string(reply).unwrap_or_default(),
                    summary.updated_at.as_millisecond(),
                ])?;
        }
        Ok(())
    }
}

/// Writes down a new session, and gives its number.
pub fn begin(
    connection: &Connection,
    summary: &Summary,
    start: Option<&str>,
    file: Option<&str>,
) -> rusqlite::Result<i64> {
    connection
        .prepare_cached(
            "INSERT INTO sessions (id, agent_id, summary, start, file, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .insert(params![
            summary.id,
            summary.agent_id,
            serde_json::to_string(summary).unwrap_or_default(),
            start,
            file,
            summary.updated_at.as_millisecond(),
        ])
}

/// All sessions, as they were left.
pub fn stored(connection: &Connection) -> rusqlite::Result<Vec<Stored>> {
    let mut select = connection
        .prepare("SELECT no, summary, start, file FROM sessions ORDER BY updated_at DESC")?;
    let rows = select.query_map([], |row| {
        let summary: String = row.get(1)?;
        let file: Option<String> = row.get(3)?;
        Ok((row.get(0)?, summary, row.get(2)?, file.map(PathBuf::from)))
    })?;
    let mut all = Vec::new();
    for row in rows {
        let (no, summary, start, file) = row?;
        // A row that a later version wrote, and that this one cannot read, stays where it is.
        if let Ok(summary) = serde_json::from_str(&summary) {
            all.push(Stored { no, summary, start, file });
        }
    }
    Ok(all)
}

/// The last commands of a session, for those who try again.
pub fn known(connection: &Connection, no: i64) -> rusqlite::Result<Known> {
    let mut select = connection.prepare_cached(
        "SELECT id, command, reply FROM commands WHERE session = ?1 ORDER BY at DESC LIMIT 256",
    )?;
    let rows = select.query_map([no], |row| {
        Ok((row.get(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
    })?;
    let mut known = Known::default();
    for row in rows {
        let (id, command, reply): (String, _, _) = row?;
        if let (Ok(command), Ok(reply)) =
            (serde_json::from_str(&command), serde_json::from_str(&reply))
        {
            known.remember(id, command, reply);
        }
    }
    Ok(known)
}
