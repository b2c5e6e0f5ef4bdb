//! What reaches out of the daemon: links that show a session to others, and devices that want to be called.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

/// A device that wants to be called: where, and with which keys what it is told is closed.
#[derive(Debug, Clone)]
pub struct Subscription {
    /// The device.
    pub device: String,
    /// Where its calls go.
    pub endpoint: String,
    /// Its public key.
    pub p256dh: String,
    /// Its secret.
    pub auth: String,
}

/// Shows a session to whoever knows a secret, until then. Links that are over are forgotten.
pub fn share(
    connection: &Connection,
    hash: &[u8],
    session: &str,
    (now, until): (Timestamp, Timestamp),
) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM shares WHERE expires_at <= ?1", [now.as_millisecond()])?;
    connection.execute(
        "INSERT OR REPLACE INTO shares (hash, session, expires_at) VALUES (?1, ?2, ?3)",
        params![hash, session, until.as_millisecond()],
    )?;
    Ok(())
}

/// The session that a secret shows, and until when.
pub fn shared(
    connection: &Connection,
    hash: &[u8],
    now: Timestamp,
) -> rusqlite::Result<Option<(String, Timestamp)>> {
    connection
        .query_row(
            "SELECT session, expires_at FROM shares WHERE hash = ?1 AND expires_at > ?2",
            params![hash, now.as_millisecond()],
            |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)),
        )
        .optional()
        .map(|found| {
            found.map(|(session, until)| {
                (session, Timestamp::from_millisecond(until).unwrap_or_default())
            })
        })
}

/// Shows a session to nobody any more. Says how many links are gone.
pub fn unshare(connection: &Connection, session: &str) -> rusqlite::Result<usize> {
    connection.execute("DELETE FROM shares WHERE session = ?1", [session])
}

/// A device wants to be called. One that was sent away while it asked is not.
pub fn subscribe(connection: &Connection, new: &Subscription) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT OR REPLACE INTO subscriptions (endpoint, device, p256dh, auth) SELECT ?1, ?2, ?3, ?4
         WHERE ?2 = 'owner' OR EXISTS (SELECT 1 FROM devices WHERE id = ?2)",
        params![new.endpoint, new.device, new.p256dh, new.auth],
    )?;
    Ok(())
}

/// Nobody is called there any more.
pub fn unsubscribe(connection: &Connection, endpoint: &str) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM subscriptions WHERE endpoint = ?1", [endpoint])?;
    Ok(())
}

/// A device is called no more, wherever.
pub fn unsubscribe_device(connection: &Connection, device: &str) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM subscriptions WHERE device = ?1", [device])?;
    Ok(())
}

/// All that want to be called.
pub fn subscriptions(connection: &Connection) -> rusqlite::Result<Vec<Subscription>> {
    let mut select =
        connection.prepare("SELECT device, endpoint, p256dh, auth FROM subscriptions")?;
    let rows = select.query_map([], |row| {
        Ok(Subscription {
            device: row.get(0)?,
            endpoint: row.get(1)?,
            p256dh: row.get(2)?,
            auth: row.get(3)?,
        })
    })?;
    rows.collect()
}
