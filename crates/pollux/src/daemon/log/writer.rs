//! The thread that writes: all that waits goes into one transaction.

use rusqlite::{Connection, TransactionBehavior};
use std::sync::Mutex;
use std::thread::JoinHandle;
use tokio::sync::mpsc;

/// How many jobs may wait. When there are more, those who write wait, and so do the agents that they read from.
const WAITING: usize = 1024;
/// How many jobs one transaction takes.
const AT_ONCE: usize = 256;

/// What is done after the transaction: tells whoever waits.
type After = Box<dyn FnOnce(rusqlite::Result<()>) + Send>;

/// What is done in the transaction; it is given why, where it cannot even begin.
type Work = Box<dyn FnOnce(rusqlite::Result<&Connection>) -> Done + Send>;

/// Something to write, and somebody who waits for it.
pub(super) struct Job {
    work: Work,
}

/// What a job did, before the transaction is on disk.
struct Done {
    failed: bool,
    after: After,
}

impl Job {
    pub(super) fn new<T: Send + 'static>(
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
        tell: impl FnOnce(rusqlite::Result<T>) + Send + 'static,
    ) -> Self {
        let work = move |connection: rusqlite::Result<&Connection>| {
            let outcome = connection.and_then(work);
            let failed = outcome.is_err();
            // Its own reason says more than that nothing of the transaction was written.
            let tell = move |commit: rusqlite::Result<()>| {
                tell(outcome.and_then(|it| commit.map(|()| it)));
            };
            let after: After = Box::new(tell);
            Done { failed, after }
        };
        Self { work: Box::new(work) }
    }
}

#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    pub(super) fn start(connection: Connection) -> std::io::Result<Self> {
        let (jobs, waiting) = mpsc::channel(WAITING);
        let thread = std::thread::Builder::new().name("log".into());
        let thread = thread.spawn(move || run(connection, waiting))?;
        Ok(Self { jobs: Some(jobs), thread: Mutex::new(Some(thread)) })
    }

    pub(super) async fn send(&self, job: Job) -> anyhow::Result<()> {
        let jobs = self.jobs.as_ref().ok_or_else(|| anyhow::anyhow!("the log is closed"))?;
        jobs.send(job).await.map_err(|_closed| anyhow::anyhow!("the log is closed"))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Closes the channel: what waits is written, then the thread ends.
        self.jobs = None;
        if let Ok(mut thread) = self.thread.lock()
            && let Some(thread) = thread.take()
        {
            let _ended = thread.join();
        }
    }
}

fn run(mut connection: Connection, mut waiting: mpsc::Receiver<Job>) {
    let mut jobs = Vec::with_capacity(AT_ONCE);
    while waiting.blocking_recv_many(&mut jobs, AT_ONCE) > 0 {
        write(&mut connection, jobs.drain(..));
    }
    // Leaves one file behind instead of three.
    let _checkpointed = connection.pragma_update(None, "wal_checkpoint", "truncate");
}

/// Writes all of them, in one transaction where that goes.
fn write(connection: &mut Connection, mut jobs: impl ExactSizeIterator<Item = Job>) {
    while jobs.len() > 0 {
        let (outcome, done) = transact(connection, &mut jobs);
        for after in done {
            // Where the transaction failed, nothing of any of them was written.
            after(outcome.as_ref().copied().map_err(copy));
        }
    }
}

fn transact(
    connection: &mut Connection,
    jobs: &mut impl Iterator<Item = Job>,
) -> (rusqlite::Result<()>, Vec<After>) {
    let mut all = Vec::new();
    // The right to write is waited for once, and not by each of them.
    let begun = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    let mut transaction = match begun {
        Ok(transaction) => transaction,
        Err(error) => {
            let told = jobs.map(|job| (job.work)(Err(copy(&error))).after).collect();
            return (Err(error), told);
        }
    };
    for job in jobs {
        // One that fails takes no other with it.
        let mut savepoint = match transaction.savepoint() {
            Ok(savepoint) => savepoint,
            Err(error) => {
                all.push((Ok(()), (job.work)(Err(error)).after));
                continue;
            }
        };
        let done = (job.work)(Ok(&savepoint));
        let ended = if done.failed { savepoint.rollback() } else { Ok(()) };
        let ended = ended.and_then(|()| savepoint.commit());
        all.push((ended, done.after));
        // A full disk may end the whole transaction. What comes after that would be on disk, and be told that it is not.
        if transaction.is_autocommit() {
            break;
        }
    }
    let commit = transaction.commit();
    let after = |(ended, after): (rusqlite::Result<()>, After)| -> After {
        match ended {
            Ok(()) => after,
            Err(error) => Box::new(move |_| after(Err(error))),
        }
    };
    (commit, all.into_iter().map(after).collect())
}

fn copy(error: &rusqlite::Error) -> rusqlite::Error {
    match error {
        rusqlite::Error::SqliteFailure(code, message) => {
            rusqlite::Error::SqliteFailure(*code, message.clone())
        }
        other => rusqlite::Error::ToSqlConversionFailure(other.to_string().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Job, write};
    use rusqlite::Connection;
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    #[test]
    fn what_is_told_to_be_on_disk_is_what_is_there_also_when_it_is_full() {
        let directory = tempfile::tempdir().unwrap();
        let mut connection = Connection::open(directory.path().join("log.db")).unwrap();
        connection.execute_batch("CREATE TABLE words (word TEXT NOT NULL)").unwrap();
        let pages: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
        connection.pragma_update(None, "max_page_count", pages + 2).unwrap();
        let (tell, told) = mpsc::channel();
        let words = ["one".to_owned(), "long".repeat(100_000), "two".to_owned()];
        let jobs: Vec<Job> = words
            .iter()
            .cloned()
            .map(|word| {
                let (tell, name) = (tell.clone(), word.chars().take(4).collect::<String>());
                let work = move |connection: &Connection| {
                    connection.execute("INSERT INTO words (word) VALUES (?1)", [word])
                };
                Job::new(work, move |outcome| tell.send((name, outcome.is_ok())).unwrap())
            })
            .collect();
        write(&mut connection, jobs.into_iter());
        drop(tell);
        let told: Vec<(String, bool)> = told.iter().collect();
        assert_eq!(told.len(), 3, "{told:?}");
        for (name, is_there) in told {
            let found: bool = connection
                .query_row("SELECT EXISTS (SELECT 1 FROM words WHERE word = ?1)", [&name], |row| {
                    row.get(0)
                })
                .unwrap();
            assert_eq!(found, is_there, "{name}");
            assert!(is_there || name != "two", "there is room for it");
        }
    }

    #[test]
    fn a_log_that_another_has_locked_is_waited_for_once_and_everybody_hears_why() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.db");
        let mut connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        connection.execute_batch("CREATE TABLE words (word TEXT NOT NULL)").unwrap();
        connection.busy_timeout(Duration::from_millis(300)).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let (tell, told) = mpsc::channel();
        let jobs: Vec<Job> = (0..20)
            .map(|_| {
                let tell = tell.clone();
                let work = |connection: &Connection| {
                    connection.execute("INSERT INTO words (word) VALUES ('x')", [])
                };
                Job::new(work, move |outcome| tell.send(outcome).unwrap())
            })
            .collect();
        drop(tell);
        let since = Instant::now();
        write(&mut connection, jobs.into_iter());
        assert!(since.elapsed() < Duration::from_secs(3), "{:?}", since.elapsed());
        let told: Vec<_> = told.iter().collect();
        let locked = |outcome: &rusqlite::Result<usize>| {
            let code = outcome.as_ref().err().and_then(rusqlite::Error::sqlite_error_code);
            code == Some(rusqlite::ErrorCode::DatabaseBusy)
        };
        assert!(told.len() == 20 && told.iter().all(locked), "{told:?}");
    }
}
