//! The log: every event of every session, numbered, on disk before anybody hears of it.
//!
//! One thread writes, all that waits in one transaction. Readers have connections of their own and never wait for it.
//! A [`Feed`] holds the newest events of one session in memory and rings the bells of those who follow.

mod afar;
mod entry;
mod feed;
mod page;
mod people;
mod retain;
mod row;
pub mod schedule;
mod schema;
mod search;
pub mod team;
mod writer;

pub use afar::{
    Subscription, share, shared, subscribe, subscriptions, unshare, unsubscribe, unsubscribe_device,
};
pub use entry::{Entry, cut, entry, shortened};
pub use feed::{Bell, Feed};
pub use page::{
    MessagePage, counts, events, floor, hash, last_turn, messages, messages_by, told, whole, wholes,
};
pub use people::{
    add_device, audit, audit_more, audited, begins, begun, devices, projects, revoke, seen, trust,
};
pub use retain::{Gone, Keep, remove, retain};
pub use row::{MessageOp, Row, Stored, begin, known, stored};
pub use search::{search, usage};

use crate::daemon::guard::lock;
use crate::trouble::Trouble;
use rusqlite::{Connection, ErrorCode};
use schema::Closed;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use writer::{Job, Writer};

/// So many connections for reading are kept.
const READERS: usize = 4;

/// The log. Clones are the same log.
#[derive(Debug, Clone)]
pub struct Log {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    writer: Writer,
    readers: Mutex<Vec<Connection>>,
}

impl Log {
    /// Opens the log, and makes it where there is none.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let connection = schema::open(path).map_err(|error| closed(path, error))?;
        let writer = Writer::start(connection)?;
        let readers = Mutex::new(Vec::new());
        Ok(Self { inner: Arc::new(Inner { path: path.to_owned(), writer, readers }) })
    }

    /// Does something in the next transaction, and gives what came of it when that is on disk.
    pub async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        let (tell, told) = tokio::sync::oneshot::channel();
        let job = Job::new(work, move |outcome| {
            // Whoever asked may have gone away.
            drop(tell.send(outcome));
        });
        self.inner.writer.send(job).await?;
        told.await?.map_err(|error| anyhow::Error::new(error).context(unwritten()))
    }

    /// Appends events to a session, and tells those who follow when they are on disk.
    pub async fn append(
        &self,
        row: Row,
        entries: Vec<Arc<Entry>>,
        feed: Arc<Feed>,
    ) -> anyhow::Result<()> {
        let (tell, told) = tokio::sync::oneshot::channel();
        let written = entries.clone();
        let work = move |connection: &Connection| row.append(connection, &written);
        let job = Job::new(work, move |outcome: rusqlite::Result<()>| {
            if outcome.is_ok() {
                feed.publish(entries);
            }
            drop(tell.send(outcome));
        });
        self.inner.writer.send(job).await?;
        told.await?.map_err(|error| anyhow::Error::new(error).context(unwritten()))
    }

    /// Reads something, beside the writer.
    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        let inner = Arc::clone(&self.inner);
        let task = tokio::task::spawn_blocking(move || inner.read(work));
        task.await?.map_err(|error| anyhow::anyhow!(error).context("could not read the log"))
    }

    /// Reads something, where waiting is allowed.
    pub fn read_now<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> anyhow::Result<T> {
        self.inner.read(work).map_err(|error| broken(&self.inner.path, error))
    }
}

impl Inner {
    fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let free = lock(&self.readers).pop();
        let connection = match free {
            Some(connection) => connection,
            None => schema::reader(&self.path)?,
        };
        let outcome = work(&connection);
        let mut readers = lock(&self.readers);
        if readers.len() < READERS {
            readers.push(connection);
        }
        outcome
    }
}

fn closed(path: &Path, error: Closed) -> anyhow::Error {
    match error {
        Closed::Sqlite(error) => broken(path, error),
        Closed::Newer => {
            let message =
                format!("the log {} was created by a newer version of Pollux", path.display());
            let hint = "use that version, or move the log away so that Pollux creates a new one";
            Trouble::failed("log_newer", message).hint(hint).into()
        }
    }
}

fn broken(path: &Path, error: rusqlite::Error) -> anyhow::Error {
    let message = format!("could not open the log {}", path.display());
    let hint = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "free some space on that disk",
        _ => {
            "check the free disk space and the file; if it is damaged, move it away and Pollux creates a new one"
        }
    };
    anyhow::Error::new(error).context(Trouble::failed("log_broken", message).hint(hint))
}

/// Nothing can be written now, and so nothing is begun that would have to be.
pub fn unwritten() -> Trouble {
    let message = "Pollux cannot write its log, so it did nothing";
    let hint = "free some space on the disk with Pollux's data; until then you can still interrupt and stop agents and deny their requests";
    Trouble::failed("log_unwritten", message).hint(hint)
}
