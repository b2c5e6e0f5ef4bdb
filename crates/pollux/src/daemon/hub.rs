//! All sessions: started, resumed, found in files, listed, opened.

mod acp;
pub mod agent;
mod agent_environment;
mod begin;
mod brought;
mod files;
mod headless;
mod hooks;
mod repair;
mod restore;
mod resumed;
pub mod servers;
mod task;
pub mod terminal;
mod terminals;
mod unite;
mod uploads;

pub use acp::obey;
pub use brought::talk as brought;
pub use task::{Ask, Snapshot, only_ends};
pub use uploads::Uploads;

use super::clock::Clock;
use super::guard::lock;
use super::log::{Bell, Feed, Log, known, stored};
use super::team::badge::Badges;
use crate::api::{Driver, Summary};
use crate::trouble::Trouble;
use agent::{Agents, Wanted};
use jiff::Timestamp;
use pollux_agent::model::{Mode, SessionStatus};
use pollux_agent::session::{Limits, Reply, Request, Session};
use pollux_agent::terminal::Pane;
use repair::{is_torn, left_behind};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use task::Task;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How many questions may wait for one session's task. When there are more, those who ask wait.
const WAITING: usize = 64;

/// How often one question is asked anew because the session's task was exchanged for another one.
const EXCHANGES: usize = 4;

/// What shapes the sessions of this daemon.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The agent's own directory, such as `~/.gemini`.
    pub gemini: PathBuf,
    /// The index of the agent's files.
    pub index: Option<PathBuf>,
    /// What a session may do, and for how long.
    pub limits: Limits,
    /// Pictures that belong to prompts.
    pub uploads: Uploads,
}

/// All sessions. Clones are the same hub.
#[derive(Debug, Clone)]
pub struct Hub {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    log: Log,
    clock: Clock,
    settings: Settings,
    agents: Agents,
    slots: Mutex<HashMap<String, Slot>>,
    watchers: Arc<Mutex<Vec<Weak<Bell>>>>,
    tasks: Mutex<JoinSet<()>>,
    /// Sessions are begun one after the other: the same request twice at once begins one.
    begins: tokio::sync::Mutex<()>,
    /// True while the agent's files have yet to be listed for the first time.
    lists: watch::Sender<bool>,
    /// False while tmux has not said which agents live there.
    sure: watch::Sender<bool>,
    stop: CancellationToken,
}

/// A session, and its task where it has one.
#[derive(Debug, Clone)]
struct Slot {
    no: i64,
    feed: Arc<Feed>,
    task: Option<mpsc::Sender<Ask>>,
    /// The agent's own file.
    file: Option<PathBuf>,
    start: Option<Wanted>,
    /// True where it was left as it was by a daemon that ended: what is in its file may not be in the log.
    torn: bool,
    /// The mode that a daemon which has ended gave for a while, and until when.
    ends: Option<(Mode, Timestamp)>,
    /// Held while its task is started, or exchanged for another one: there is one at a time.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Slot {
    /// A session of which nothing is known but its place in the log.
    fn new(no: i64, feed: Arc<Feed>) -> Self {
        let (task, file, start, ends) = (None, None, None, None);
        Self { no, feed, task, file, start, torn: false, ends, turn: Arc::default() }
    }
}

impl Hub {
    /// The hub over a log. What was there before is known; nothing of it is started.
    pub fn open(log: Log, agents: Agents, settings: Settings) -> anyhow::Result<Self> {
        let rows = log.read_now(stored)?;
        let last = rows.iter().map(|row| row.summary.updated_at).max();
        let watchers = Arc::new(Mutex::new(Vec::new()));
        let mut slots = HashMap::new();
        for row in rows {
            let start: Option<Wanted> =
                row.start.as_deref().and_then(|start| serde_json::from_str(start).ok());
            let mut summary = row.summary;
            let torn = start.is_some() && is_torn(&summary);
            let ends = summary.mode_until.map(|until| (summary.mode, until));
            left_behind(&mut summary);
            let id = summary.id.clone();
            let feed = Arc::new(Feed::new(summary, Arc::clone(&watchers)));
            let file = row.file;
            let slot = Slot { file, start, torn, ends, ..Slot::new(row.no, feed) };
            slots.insert(id, slot);
        }
        let inner = Inner {
            log,
            clock: Clock::start(last),
            settings,
            agents,
            slots: Mutex::new(slots),
            watchers,
            tasks: Mutex::new(JoinSet::new()),
            begins: tokio::sync::Mutex::default(),
            lists: watch::Sender::new(false),
            sure: watch::Sender::new(true),
            stop: CancellationToken::new(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The log.
    pub fn log(&self) -> &Log {
        &self.inner.log
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    /// Who holds which credential.
    pub fn badges(&self) -> Arc<Badges> {
        self.inner.agents.badges()
    }

    /// The drivers that there are.
    pub fn drivers(&self) -> Vec<Driver> {
        self.inner.agents.drivers.clone()
    }

    /// All sessions, the newest first.
    pub fn list(&self) -> Vec<Arc<Summary>> {
        let mut all: Vec<Arc<Summary>> =
            self.slots().values().map(|slot| slot.feed.summary()).collect();
        all.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then_with(|| a.id.cmp(&b.id)));
        all
    }

    /// The session that a word names: its id, the agent's id of it, or the beginning of either.
    pub fn find(&self, wanted: &str) -> Result<String, Trouble> {
        let slots = self.slots();
        if slots.contains_key(wanted) {
            return Ok(wanted.to_owned());
        }
        let is = |summary: &Summary| {
            !wanted.is_empty()
                && (summary.id.starts_with(wanted)
                    || summary.agent_id.as_deref().is_some_and(|id| id.starts_with(wanted)))
        };
        let found: Vec<String> = slots
            .values()
            .map(|slot| slot.feed.summary())
            .filter(|summary| is(summary))
            .map(|summary| summary.id.clone())
            .collect();
        match found.as_slice() {
            [one] => Ok(one.clone()),
            [] => {
                Err(Trouble::refused("unknown_session", format!("no session matches `{wanted}`"))
                    .hint("list sessions with `pollux ls --all`"))
            }
            many => {
                let message = format!("`{wanted}` matches {} sessions", many.len());
                Err(Trouble::refused("ambiguous_session", message).hint("use a longer prefix"))
            }
        }
    }

    /// The number of a session in the log, and its feed.
    pub fn feed(&self, id: &str) -> Result<(i64, Arc<Feed>), Trouble> {
        let slots = self.slots();
        let slot = slots.get(id).ok_or_else(|| unknown(id))?;
        Ok((slot.no, Arc::clone(&slot.feed)))
    }

    /// This bell rings for every session.
    pub fn watch(&self, bell: &Arc<Bell>) {
        lock(&self.inner.watchers).push(Arc::downgrade(bell));
    }

    /// Decides a command. One that is asked twice is done once.
    pub async fn command(&self, id: &str, request: Request) -> anyhow::Result<Reply> {
        self.told(id, |reply| Ask::Command { request: request.clone(), reply }).await?
    }

    /// All that a client needs which knows nothing of a session.
    pub async fn snapshot(&self, id: &str) -> anyhow::Result<Snapshot> {
        self.told(id, |reply| Ask::Snapshot { reply }).await?
    }

    /// The terminal that the agent of a session is in.
    pub async fn pane(&self, id: &str) -> anyhow::Result<Pane> {
        let pane = self.told(id, |reply| Ask::Pane { reply }).await?;
        let none = || {
            Trouble::refused("no_terminal", "this session is not running in a terminal")
                .hint("start terminal sessions with `pollux new`")
        };
        Ok(pane.ok_or_else(none)?)
    }

    /// What the task of a session says. Where it is exchanged for another one meanwhile, that one is asked.
    async fn told<T>(
        &self,
        id: &str,
        question: impl Fn(oneshot::Sender<T>) -> Ask,
    ) -> anyhow::Result<T> {
        for _ in 0..EXCHANGES {
            let (reply, told) = oneshot::channel();
            let task = self.ask(id).await?;
            if task.send(question(reply)).await.is_ok()
                && let Ok(said) = told.await
            {
                return Ok(said);
            }
        }
        anyhow::bail!("the session's task has stopped")
    }

    /// The agent's own directory.
    pub fn gemini(&self) -> &std::path::Path {
        &self.inner.settings.gemini
    }

    /// Pictures that belong to prompts.
    pub fn uploads(&self) -> &Uploads {
        &self.inner.settings.uploads
    }

    /// The task of a session, which is started where there is none.
    #[expect(
        clippy::await_holding_invalid_type,
        reason = "the lock protects a critical section, not a value; later callers wait"
    )]
    async fn ask(&self, id: &str) -> anyhow::Result<mpsc::Sender<Ask>> {
        let slot = self.slot(id)?;
        if let Some(task) = slot.task.filter(|task| !task.is_closed()) {
            return Ok(task);
        }
        let _turn = slot.turn.lock().await;
        // Somebody may have been faster, and with another agent.
        let slot = self.slot(id)?;
        if let Some(task) = slot.task.filter(|task| !task.is_closed()) {
            return Ok(task);
        }
        let no = slot.no;
        let known = self.log().read(move |connection| known(connection, no)).await?;
        let now = self.now();
        let summary = slot.feed.summary();
        let mut session = Session::new(self.inner.settings.limits, summary.mode, now)
            .model(summary.model.clone())
            .with(summary.queue.clone(), known);
        if let Some((mode, until)) = slot.ends.filter(|_| summary.driver == Some(Driver::Terminal))
        {
            session = session.ending(mode, until);
        }
        if slot.start.is_none() || summary.status == SessionStatus::Exited {
            session.ended();
        }
        let mut slots = self.slots();
        let slot = slots.get_mut(id).ok_or_else(|| unknown(id))?;
        let (asks, asked) = mpsc::channel(WAITING);
        let task = Task::new(self, slot, session, asked);
        let mut tasks = lock(&self.inner.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task.run());
        drop(tasks);
        slot.task = Some(asks.clone());
        Ok(asks)
    }

    /// Brings the sessions up to date in whose middle the daemon before this one ended.
    pub async fn mend(self) {
        for id in self.torn(|slot| !self.is_unsure(slot)) {
            if let Err(error) = self.ask(&id).await {
                tracing::error!(session = %id, "could not recover the session: {error:#}");
            }
        }
    }

    /// The sessions of this kind in whose middle the daemon before this one ended.
    fn torn(&self, is: impl Fn(&Slot) -> bool) -> Vec<String> {
        let slots = self.slots();
        let torn = slots.iter().filter(|(_, slot)| slot.torn && is(slot));
        torn.map(|(id, _)| id.clone()).collect()
    }

    /// Ends the task of a session, if it has one, and waits for it.
    async fn close(&self, id: &str) {
        let task = self.slots().get_mut(id).and_then(|slot| slot.task.take());
        if let Some(task) = task {
            let (reply, told) = oneshot::channel();
            if task.send(Ask::Close { reply }).await.is_ok() {
                // It answers when it is done.
                let _closed = told.await;
            }
        }
    }

    /// Says that all shall end, and waits for nothing.
    pub fn halt(&self) {
        self.inner.stop.cancel();
    }

    /// Ends every session's task, and with it every agent that lives only as long as we do.
    pub async fn stop(&self) {
        self.inner.stop.cancel();
        let mut tasks = std::mem::take(&mut *lock(&self.inner.tasks));
        while tasks.join_next().await.is_some() {}
    }

    fn slot(&self, id: &str) -> Result<Slot, Trouble> {
        self.slots().get(id).cloned().ok_or_else(|| unknown(id))
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<String, Slot>> {
        lock(&self.inner.slots)
    }
}

/// Where the epochs of a session begin: a log that is made anew has later ones than the one before it.
fn epoch(now: Timestamp) -> u64 {
    u64::try_from(now.as_second()).unwrap_or(0)
}

fn unknown(id: &str) -> Trouble {
    Trouble::refused("unknown_session", format!("no session `{id}`"))
        .hint("list sessions with `pollux ls --all`")
}
