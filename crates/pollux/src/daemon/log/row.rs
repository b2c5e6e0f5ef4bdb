//! A session's row, and what an event does to the list of its messages.

use super::entry::Entry;
use super::retain::empty;
use crate::api::Summary;
use pollux_agent::model::EventKind;
use pollux_agent::session::{Command, Known, Reply};
use rusqlite::{Connection, OptionalExtension, params};
use std::path::PathBuf;
use std::sync::Arc;

/// No message has so many tokens. A file that says more does not make sums run over.
const MOST_TOKENS: u64 = 1 << 40;

pub(super) const PLACE: &str = "SELECT position, seq FROM messages WHERE session = ?1 AND id = ?2";
pub(super) const KNOWN: &str =
    "SELECT id, command, reply FROM commands WHERE session = ?1 ORDER BY at DESC LIMIT 256";

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
        self.is_back(connection, (id, model, tokens))?;
        let known: Option<(i64, u64)> = connection
            .prepare_cached(PLACE)?
            .query_row(params![self.no, id], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        if let Some((position, before)) = known {
            // What it said before is not found twice.
            self.forget_words(connection, before)?;
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
        let mut delete = connection.prepare_cached(
            "DELETE FROM messages WHERE session = ?1 AND id = ?2 RETURNING seq, model, tokens",
        )?;
        let mut keep = connection.prepare_cached(
            "INSERT OR REPLACE INTO taken_back (session, id, model, tokens) VALUES (?1, ?2, ?3, ?4)",
        )?;
        for id in ids {
            let fields = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let gone: Option<(u64, Option<String>, u64)> =
                delete.query_row(params![self.no, id], fields).optional()?;
            let Some((seq, model, tokens)) = gone else { continue };
            // It may be recorded again under another id, and is found there.
            self.forget_words(connection, seq)?;
            if tokens > 0 {
                // They were paid for.
                keep.execute(params![self.no, id, model, tokens])?;
            }
        }
        Ok(())
    }

    /// A message that was taken back may be there again: since 0.57 the CLI gives all of them other ids when a turn is stopped. An
    /// answer is known again by its tokens, which hardly two of one session have in common.
    fn is_back(
        &self,
        connection: &Connection,
        (id, model, tokens): (&str, Option<&str>, u64),
    ) -> rusqlite::Result<()> {
        connection
            .prepare_cached(
                "DELETE FROM taken_back WHERE session = ?1 AND id =
                 (SELECT id FROM taken_back WHERE session = ?1
                  AND (id = ?2 OR (tokens = ?4 AND model IS ?3)) ORDER BY id <> ?2 LIMIT 1)",
            )?
            .execute(params![self.no, id, model, tokens])?;
        Ok(())
    }

    /// The words of an event are found no more.
    fn forget_words(&self, connection: &Connection, seq: u64) -> rusqlite::Result<()> {
        connection
            .prepare_cached(
                "DELETE FROM words WHERE rowid =
                 (SELECT id FROM events WHERE session = ?1 AND seq = ?2)",
            )?
            .execute(params![self.no, seq])?;
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
    let no = connection
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
        ])?;
    // A number is given again when its session was removed. What was left under it would stand in the way of every event.
    empty(connection, no)?;
    Ok(no)
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
    let mut select = connection.prepare_cached(KNOWN)?;
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

#[cfg(test)]
mod tests {
    use super::{Entry, MessageOp, Row, begin};
    use crate::api::Summary;
    use crate::daemon::log::{counts, events, known, remove, schema, search, usage};
    use jiff::Timestamp;
    use pollux_agent::session::{Command, Done, Reply};
    use rusqlite::Connection;
    use std::sync::Arc;

    fn log() -> (tempfile::TempDir, Connection) {
        let directory = tempfile::tempdir().unwrap();
        let connection = schema::open(&directory.path().join("log.db")).unwrap();
        (directory, connection)
    }

    fn session(connection: &Connection, id: &str) -> Row {
        let summary = Summary { id: id.to_owned(), ..Summary::empty(Timestamp::UNIX_EPOCH) };
        let no = begin(connection, &summary, None, None).unwrap();
        Row { no, summary: Arc::new(summary), commands: Vec::new() }
    }

    fn entry(seq: u64, words: Option<&str>, op: MessageOp) -> Arc<Entry> {
        let (cut, whole, words) = (Vec::new(), None, words.map(str::to_owned));
        let (epoch, at, kind) = (1, Timestamp::UNIX_EPOCH, "message_recorded".to_owned());
        Arc::new(Entry { seq, epoch, at, kind, json: "{}".into(), cut, whole, words, op: Some(op) })
    }

    fn says(seq: u64, id: &str, words: &str) -> Arc<Entry> {
        let op = MessageOp::Record { id: id.to_owned(), model: None, tokens: 0 };
        entry(seq, Some(words), op)
    }

    #[test]
    fn a_number_that_is_given_again_has_nothing_of_the_session_before() {
        let (_directory, connection) = log();
        let mut first = session(&connection, "first");
        remove(&connection, first.no).unwrap();
        // Somebody was in the middle of writing.
        first.commands.push(("stop".to_owned(), Command::Stop, Reply::Done(Done::Sent)));
        first.append(&connection, &[says(1, "m1", "late")]).unwrap();
        let second = session(&connection, "second");
        assert_eq!(second.no, first.no);
        assert!(search(&connection, "late", 9).unwrap().is_empty());
        assert!(known(&connection, second.no).unwrap().get("stop").is_none());
        second.append(&connection, &[says(1, "m1", "hello")]).unwrap();
        assert_eq!(events(&connection, second.no, 0, 9, 999).unwrap().len(), 1);
    }

    #[test]
    fn what_was_taken_back_is_not_found_and_what_is_said_again_is_found_once() {
        let (_directory, connection) = log();
        let row = session(&connection, "one");
        row.append(&connection, &[says(1, "m1", "hello"), says(2, "m2", "gone")]).unwrap();
        let removed = MessageOp::Remove(vec!["m1".to_owned(), "m2".to_owned()]);
        row.append(&connection, &[entry(3, None, removed), says(4, "m3", "hello")]).unwrap();
        let found = |word: &str| -> Vec<u64> {
            search(&connection, word, 9).unwrap().iter().map(|found| found.seq).collect()
        };
        assert_eq!(found("hello"), [4]);
        assert!(found("gone").is_empty());
    }
    #[test]
    fn an_answer_that_was_taken_back_was_paid_for_and_one_that_is_told_again_is_paid_for_once() {
        let (_directory, connection) = log();
        let row = session(&connection, "one");
        let answer = |seq: u64, id: &str, tokens: u64| {
            let (id, model) = (id.to_owned(), Some("pro".to_owned()));
            entry(seq, None, MessageOp::Record { id, model, tokens })
        };
        let taken_back = |seq: u64, ids: &[&str]| {
            entry(seq, None, MessageOp::Remove(ids.iter().map(ToString::to_string).collect()))
        };
        row.append(&connection, &[answer(1, "a", 10), answer(2, "b", 20)]).unwrap();
        row.append(&connection, &[taken_back(3, &["b"])]).unwrap();
        assert_eq!(counts(&connection, row.no).unwrap(), (1, 30));
        row.append(&connection, &[answer(4, "c", 25)]).unwrap();
        assert_eq!(counts(&connection, row.no).unwrap(), (2, 55));
        // The same under other ids, one of them at first without its tokens.
        let again = [taken_back(5, &["a", "c"]), answer(6, "d", 10), answer(7, "e", 0)];
        row.append(&connection, &again).unwrap();
        row.append(&connection, &[answer(8, "e", 25)]).unwrap();
        assert_eq!(counts(&connection, row.no).unwrap(), (2, 55));
        assert_eq!(usage(&connection).unwrap()[0].tokens, 55);
        remove(&connection, row.no).unwrap();
        assert_eq!(counts(&connection, row.no).unwrap(), (0, 0));
    }
}
