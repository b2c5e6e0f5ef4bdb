//! Reading: a page of events, a page of messages, one event whole.

use super::entry::{Entry, raw, shortened_by};
use crate::api::{Numbered, Recorded};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;

/// A page of messages, oldest first.
#[derive(Debug)]
pub struct MessagePage {
    /// The messages.
    pub messages: Vec<Recorded>,
    /// Where the page before ends.
    pub before: Option<u64>,
    /// What happened between them, oldest first.
    pub facts: Vec<Numbered>,
}

/// So much of what happened between the messages of a page goes with it, of so many events looked through.
const FACTS: usize = 48 << 10;
const LOOKED_THROUGH: u64 = 20_000;

pub(super) const EVENTS: &str = "SELECT seq, epoch, at, kind, json, cut FROM events
     WHERE session = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
pub(super) const MESSAGES: &str = "SELECT m.position, m.seq, e.json, e.cut FROM messages m
     JOIN events e ON e.session = m.session AND e.seq = m.seq
     WHERE m.session = ?1 AND m.position < ?2 ORDER BY m.position DESC LIMIT ?3";

/// The events after a number: at most so many, and at most so many bytes, but one at least.
pub fn events(
    connection: &Connection,
    no: i64,
    after: u64,
    most: usize,
    bytes: usize,
) -> rusqlite::Result<Vec<Arc<Entry>>> {
    let mut select = connection.prepare_cached(EVENTS)?;
    let mut rows = select.query(params![no, number(after), most])?;
    let (mut page, mut sum) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let entry = read(row)?;
        sum += entry.bytes();
        if sum > bytes && !page.is_empty() {
            break;
        }
        page.push(Arc::new(entry));
    }
    Ok(page)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let cut: Option<String> = row.get(5)?;
    Ok(Entry {
        seq: row.get(0)?,
        epoch: row.get(1)?,
        at: Timestamp::from_millisecond(row.get(2)?).unwrap_or_default(),
        kind: row.get(3)?,
        json: row.get::<_, String>(4)?.into(),
        cut: cuts(cut.as_deref()),
        whole: None,
        words: None,
        op: None,
    })
}

fn cuts(json: Option<&str>) -> Vec<(String, u64)> {
    json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}

/// One event as the agent told it, with nothing cut.
pub fn whole(connection: &Connection, no: i64, seq: u64) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached("SELECT COALESCE(whole, json) FROM events WHERE session = ?1 AND seq = ?2")?
        .query_row(params![no, number(seq)], |row| row.get(0))
        .optional()
}

/// A number as a client says it. There is none beyond what the log can count.
fn number(said: u64) -> i64 {
    i64::try_from(said).unwrap_or(i64::MAX)
}

/// Events up to this one are no longer kept.
pub fn floor(connection: &Connection, no: i64) -> rusqlite::Result<u64> {
    connection
        .prepare_cached("SELECT floor FROM sessions WHERE no = ?1")?
        .query_row([no], |row| row.get(0))
}

/// How many messages a session has, and how many tokens they took, with those that were taken back.
pub fn counts(connection: &Connection, no: i64) -> rusqlite::Result<(u64, u64)> {
    connection
        .prepare_cached(
            "SELECT COUNT(*), COALESCE(SUM(tokens), 0) +
             (SELECT COALESCE(SUM(tokens), 0) FROM taken_back WHERE session = ?1)
             FROM messages WHERE session = ?1",
        )?
        .query_row([no], |row| Ok((row.get(0)?, row.get(1)?)))
}

#[derive(Deserialize)]
struct WithMessage<'a> {
    #[serde(borrow)]
    message: &'a RawValue,
}

/// The messages before a place, the newest of them: at most so many, and about so many bytes.
pub fn messages(
    connection: &Connection,
    no: i64,
    before: Option<u64>,
    most: usize,
    bytes: usize,
) -> rusqlite::Result<MessagePage> {
    messages_by(connection, no, before, (most, bytes), None)
}

/// The same, where something is done to each message, and what is too long in it is cut only then.
pub fn messages_by(
    connection: &Connection,
    no: i64,
    before: Option<u64>,
    (most, bytes): (usize, usize),
    change: Option<fn(&mut Value)>,
) -> rusqlite::Result<MessagePage> {
    let mut select = connection.prepare_cached(if change.is_none() {
        MESSAGES
    } else {
        "SELECT m.position, m.seq, COALESCE(e.whole, e.json), NULL FROM messages m
         JOIN events e ON e.session = m.session AND e.seq = m.seq
         WHERE m.session = ?1 AND m.position < ?2 ORDER BY m.position DESC LIMIT ?3"
    })?;
    let before = before.map_or(i64::MAX, number);
    let mut rows = select.query(params![no, before, most + 1])?;
    let (mut page, mut sum, mut more): (Vec<Recorded>, _, Option<u64>) = (Vec::new(), 0, None);
    while let Some(row) = rows.next()? {
        let mut json: String = row.get(2)?;
        let mut cut = cuts(row.get::<_, Option<String>>(3)?.as_deref());
        if let Some(change) = change {
            (json, cut) = shortened_by(&json, change);
        }
        sum += json.len();
        if page.len() == most || (sum > bytes && !page.is_empty()) {
            more = Some(row.get(1)?);
            break;
        }
        let Ok(WithMessage { message }) = serde_json::from_str(&json) else { continue };
        // The places are those in the event; here they are told within the message.
        let cut = cut.into_iter();
        let within = |path: &str| path.strip_prefix("/message").unwrap_or(path).to_owned();
        let cut = cut.map(|(path, size)| (within(&path), size));
        page.push(Recorded {
            position: row.get(0)?,
            seq: row.get(1)?,
            message: raw(message.get().to_owned()),
            cut: cut.collect(),
        });
    }
    page.reverse();
    let next: Option<u64> = connection
        .prepare_cached("SELECT MIN(seq) FROM messages WHERE session = ?1 AND position >= ?2")?
        .query_row(params![no, before], |row| row.get(0))?;
    let facts = facts(connection, no, more.unwrap_or(0), next)?;
    let before = page.first().filter(|_| more.is_some()).map(|first| first.position);
    Ok(MessagePage { messages: page, before, facts })
}

/// What happened between two events that is no message and does not become one: calls, ends of turns, notices. The
/// newest of it.
fn facts(
    connection: &Connection,
    no: i64,
    after: u64,
    before: Option<u64>,
) -> rusqlite::Result<Vec<Numbered>> {
    let head = |connection: &Connection| {
        connection
            .prepare_cached("SELECT COALESCE(MAX(seq), 0) + 1 FROM events WHERE session = ?1")?
            .query_row([no], |row| row.get(0))
    };
    let before = before.map_or_else(|| head(connection), Ok)?;
    let after = after.max(before.saturating_sub(LOOKED_THROUGH));
    let mut select = connection.prepare_cached(
        "SELECT seq, epoch, at, kind, json, cut FROM events
         WHERE session = ?1 AND seq > ?2 AND seq < ?3
           AND kind IN ('tool_started', 'tool_ended', 'notice', 'turn_ended', 'session_ended', 'unread')
         ORDER BY seq DESC",
    )?;
    let mut rows = select.query(params![no, after, before])?;
    let (mut facts, mut sum) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let entry = read(row)?;
        sum += entry.bytes();
        if sum > FACTS {
            break;
        }
        facts.push(entry.numbered());
    }
    facts.reverse();
    Ok(facts)
}

/// The number of the event with which the last turn began, and whether it has ended.
pub fn last_turn(connection: &Connection, no: i64) -> rusqlite::Result<Option<(u64, bool)>> {
    let last = |kind: &str| -> rusqlite::Result<Option<u64>> {
        connection
            .prepare_cached(
                "SELECT seq FROM events WHERE session = ?1 AND kind = ?2 ORDER BY seq DESC LIMIT 1",
            )?
            .query_row(params![no, kind], |row| row.get(0))
            .optional()
    };
    let Some(begun) = last("turn_started")? else { return Ok(None) };
    Ok(Some((begun, last("turn_ended")?.is_some_and(|ended| ended > begun))))
}

/// The messages of a session as they were told last: their ids, and the hash of each.
///
/// None where nothing was ever told of any, as far as the log goes back.
pub fn told(connection: &Connection, no: i64) -> rusqlite::Result<Option<Vec<(String, u64)>>> {
    let any: bool = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM events WHERE session = ?1 AND kind = 'message_recorded')",
        )?
        .query_row([no], |row| row.get(0))?;
    if !any {
        return Ok(None);
    }
    let mut select = connection.prepare_cached(
        "SELECT m.id, COALESCE(e.whole, e.json) FROM messages m
         JOIN events e ON e.session = m.session AND e.seq = m.seq
         WHERE m.session = ?1 ORDER BY m.position",
    )?;
    let rows = select.query_map([no], |row| {
        let json: String = row.get(1)?;
        let message = serde_json::from_str(&json);
        let hash = message.map_or(0, |WithMessage { message }| hash(message.get()));
        Ok((row.get(0)?, hash))
    })?;
    rows.collect::<rusqlite::Result<_>>().map(Some)
}

/// Tells two messages apart.
pub fn hash(json: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    json.hash(&mut hasher);
    hasher.finish()
}

/// The events that recorded the messages which stand, whole and in order.
pub fn wholes(connection: &Connection, no: i64) -> rusqlite::Result<Vec<String>> {
    let mut select = connection.prepare_cached(
        "SELECT COALESCE(e.whole, e.json) FROM messages m
         JOIN events e ON e.session = m.session AND e.seq = m.seq
         WHERE m.session = ?1 ORDER BY m.position",
    )?;
    let rows = select.query_map([no], |row| row.get(0))?;
    rows.collect()
}
