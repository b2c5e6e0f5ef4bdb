//! Finding words in all that was seen.

use crate::api::{Counted, Found};
use jiff::Timestamp;
use rusqlite::{Connection, params};
use serde_json::Value;

/// How many characters are shown on either side.
const AROUND: usize = 80;

/// The places where all words stand, the newest first. The last word may be the beginning of one.
pub fn search(connection: &Connection, query: &str, most: usize) -> rusqlite::Result<Vec<Found>> {
    let Some(expression) = expression(query) else { return Ok(Vec::new()) };
    let mut select = connection.prepare_cached(
        "SELECT s.id, e.seq, e.kind, e.at, COALESCE(e.whole, e.json)
         FROM words JOIN events e ON e.id = words.rowid JOIN sessions s ON s.no = e.session
         WHERE words MATCH ?1 ORDER BY words.rowid DESC LIMIT ?2",
    )?;
    let rows = select.query_map(params![expression, most], |row| {
        let json: String = row.get(4)?;
        Ok(Found {
            session_id: row.get(0)?,
            seq: row.get(1)?,
            kind: row.get(2)?,
            recorded_at: Timestamp::from_millisecond(row.get(3)?).unwrap_or_default(),
            snippet: snippet(&json, query),
        })
    })?;
    rows.collect()
}

/// Each word in quotes: what a person types is never an expression.
fn expression(query: &str) -> Option<String> {
    // An expression ends with the first NUL.
    let parts =
        query.split(|c: char| c.is_whitespace() || c == '\0').filter(|part| !part.is_empty());
    let words: Vec<String> =
        parts.map(|word| format!("\"{}\"", word.replace('"', "\"\""))).collect();
    (!words.is_empty()).then(|| format!("{} *", words.join(" ")))
}

fn snippet(json: &str, query: &str) -> String {
    let mut texts = Vec::new();
    if let Ok(mut value) = serde_json::from_str::<Value>(json) {
        if let Some(message) = value.get_mut("message").and_then(Value::as_object_mut) {
            message.remove("_original");
        }
        super::entry::texts(&value, &mut texts);
    }
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let has = |text: &&String| {
        let lower = text.to_lowercase();
        words.iter().any(|word| lower.contains(word))
    };
    let Some(text) = texts.iter().find(has) else { return String::new() };
    let characters: Vec<char> = text.chars().collect();
    let lower: String = text.to_lowercase();
    let at = words.iter().find_map(|word| lower.find(word)).unwrap_or(0);
    // Lower case may have other lengths; a few characters more or less do not matter here.
    let at = lower.get(..at).map_or(0, |before| before.chars().count()).min(characters.len());
    let from = at.saturating_sub(AROUND);
    let to = (at + AROUND).min(characters.len());
    let middle: String = characters.get(from..to).unwrap_or_default().iter().collect();
    middle.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Tokens by model, the most first; with those of answers that were taken back.
pub fn usage(connection: &Connection) -> rusqlite::Result<Vec<Counted>> {
    let mut select = connection.prepare_cached(
        "SELECT model, COUNT(*), SUM(tokens) FROM
         (SELECT model, tokens FROM messages UNION ALL SELECT model, tokens FROM taken_back)
         WHERE model IS NOT NULL GROUP BY model ORDER BY SUM(tokens) DESC",
    )?;
    let rows = select.query_map([], |row| {
        Ok(Counted { model: row.get(0)?, messages: row.get(1)?, tokens: row.get(2)? })
    })?;
    rows.collect()
}
