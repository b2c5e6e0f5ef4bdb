//! Devices, the audit log, and the directories that the user allowed.

use crate::api::{AuditEntry, Device, Scope};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn at(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap_or_default()
}

/// Lets a device in. Only the hash of its secret is kept.
pub fn add_device(connection: &Connection, device: &Device, hash: &[u8]) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO devices (id, name, scopes, hash, created_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            device.id,
            device.name,
            serde_json::to_string(&device.scopes).unwrap_or_default(),
            hash,
            device.created_at.as_millisecond(),
        ])?;
    Ok(())
}

fn device(row: &rusqlite::Row<'_>) -> rusqlite::Result<Device> {
    let scopes: String = row.get(2)?;
    let seen: Option<i64> = row.get(4)?;
    Ok(Device {
        id: row.get(0)?,
        name: row.get(1)?,
        scopes: serde_json::from_str::<Vec<Scope>>(&scopes).unwrap_or_default(),
        created_at: at(row.get(3)?),
        seen_at: seen.map(at),
    })
}

/// All devices with the hashes of their secrets, the newest first.
pub fn devices(connection: &Connection) -> rusqlite::Result<Vec<(Device, Vec<u8>)>> {
    let mut select = connection.prepare(
        "SELECT id, name, scopes, created_at, seen_at, hash FROM devices ORDER BY created_at DESC",
    )?;
    let rows = select.query_map([], |row| Ok((device(row)?, row.get(5)?)))?;
    rows.collect()
}

/// A device was here.
pub fn seen(connection: &Connection, id: &str, now: Timestamp) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE devices SET seen_at = ?2 WHERE id = ?1")?
        .execute(params![id, now.as_millisecond()])?;
    Ok(())
}

/// Lets a device in no more. False where there is none.
pub fn revoke(connection: &Connection, id: &str) -> rusqlite::Result<bool> {
    Ok(connection.execute("DELETE FROM devices WHERE id = ?1", [id])? > 0)
}

/// Writes down who did what. The entry gets its id here.
///
/// Gives its number.
pub fn audit(connection: &Connection, entry: &AuditEntry) -> rusqlite::Result<i64> {
    connection
        .prepare_cached(
            "INSERT INTO audit (at, device, action, session, detail) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            entry.at.as_millisecond(),
            entry.device,
            entry.action,
            entry.session_id,
            entry.detail.to_string(),
        ])?;
    Ok(connection.last_insert_rowid())
}

/// What came of what is written down there.
pub fn audit_more(connection: &Connection, id: i64, detail: &Value) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE audit SET detail = ?2 WHERE id = ?1")?
        .execute(params![id, detail.to_string()])?;
    Ok(())
}

/// The last entries, the newest first.
pub fn audited(connection: &Connection, most: usize) -> rusqlite::Result<Vec<AuditEntry>> {
    let mut select = connection.prepare_cached(
        "SELECT id, at, device, action, session, detail FROM audit ORDER BY id DESC LIMIT ?1",
    )?;
    let rows = select.query_map([most], |row| {
        let detail: String = row.get(5)?;
        Ok(AuditEntry {
            id: row.get(0)?,
            at: at(row.get(1)?),
            device: row.get(2)?,
            action: row.get(3)?,
            session_id: row.get(4)?,
            detail: serde_json::from_str(&detail).unwrap_or_default(),
        })
    })?;
    rows.collect()
}

/// The directories that the user allowed.
pub fn projects(connection: &Connection) -> rusqlite::Result<Vec<PathBuf>> {
    let mut select = connection.prepare_cached("SELECT path FROM projects ORDER BY path")?;
    let rows = select.query_map([], |row| row.get::<_, String>(0))?;
    rows.map(|path| path.map(PathBuf::from)).collect()
}

/// Allows one more.
pub fn trust(connection: &Connection, path: &Path) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR IGNORE INTO projects (path) VALUES (?1)")?
        .execute([path.display().to_string()])?;
    Ok(())
}

/// The session that a request to begin one with this id has begun before.
pub fn begun(connection: &Connection, client_id: &str) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached("SELECT session FROM begun WHERE client_id = ?1")?
        .query_row([client_id], |row| row.get(0))
        .optional()
}

/// A request with this id has begun a session.
pub fn begins(connection: &Connection, client_id: &str, session: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR IGNORE INTO begun (client_id, session) VALUES (?1, ?2)")?
        .execute([client_id, session])?;
    Ok(())
}
