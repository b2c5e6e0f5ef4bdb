//! The thread that writes: all that waits goes into one transaction.

use rusqlite::Connection;
use std::sync::Mutex;
use std::thread::JoinHandle;
use tokio::sync::mpsc;

/// How many jobs may wait. When there are more, those who write wait, and so do the agents that they read from.
const WAITING: usize = 1024;
/// How many jobs one transaction takes.
const AT_ONCE: usize = 256;

/// What is done after the transaction: tells whoever waits.
type After = Box<dyn FnOnce(rusqlite::Result<()>) + Send>;

/// Something to write, and somebody who waits for it.
pub(super) struct Job {
    work: Box<dyn FnOnce(&Connection) -> Done + Send>,
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
        let work = move |connection: &Connection| {
            let outcome = work(connection);
            let failed = outcome.is_err();
            let after: After = Box::new(move |commit| tell(commit.and(outcome)));
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
        let (outcome, done) = transact(&mut connection, jobs.drain(..));
        for after in done {
            // Where the transaction failed, nothing of any of them was written.
            after(outcome.as_ref().copied().map_err(copy));
        }
    }
    // Leaves one file behind instead of three.
    let _checkpointed = connection.pragma_update(None, "wal_checkpoint", "truncate");
}

fn transact(
    connection: &mut Connection,
    jobs: impl Iterator<Item = Job>,
) -> (rusqlite::Result<()>, Vec<After>) {
    let mut all = Vec::new();
    let jobs: Vec<Job> = jobs.collect();
    let mut transaction = match connection.transaction() {
        Ok(transaction) => transaction,
        // Whoever waits sees that nothing came.
        Err(error) => return (Err(error), Vec::new()),
    };
    for job in jobs {
        // One that fails takes no other with it.
        let Ok(mut savepoint) = transaction.savepoint() else { continue };
        let done = (job.work)(&savepoint);
        let ended = if done.failed { savepoint.rollback() } else { Ok(()) };
        let ended = ended.and_then(|()| savepoint.commit());
        all.push((ended, done.after));
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
