//! Sessions that the agent writes without Pollux: found in its files, read only.

use super::{Ask, Hub, Slot, epoch};
use crate::api::Summary;
use crate::daemon::log::{Feed, begin};
use jiff::Timestamp;
use pollux_agent::gemini::transcript::follow::{Watch, Watched};
use pollux_agent::gemini::transcript::store::{self, Kind, Session};
use pollux_agent::model::SessionStatus;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// How long the watching thread waits before it looks whether it shall end.
const LOOK: Duration = Duration::from_millis(500);
/// How many changes may wait. When there are more, the thread waits; the files keep what is new.
const WAITING: usize = 256;

/// How long somebody who asks for sessions waits until they were listed.
const LISTING: Duration = Duration::from_secs(5);

impl Hub {
    /// The agent's files will be followed: who asks for sessions from now on waits until they were listed.
    pub fn will_follow_files(&self) {
        self.inner.lists.send_replace(true);
    }

    /// Waits until the sessions in the agent's files are known, where that is only a matter of time.
    pub async fn is_listed(&self) {
        let mut lists = self.inner.lists.subscribe();
        // Who has waited for so long is shown what there is.
        let _late = tokio::time::timeout(LISTING, lists.wait_for(|lists| !lists)).await;
    }

    /// Finds the sessions in the agent's files, and follows them until the hub ends. Those that have been open grow in
    /// the log while they are written; the others are read when somebody wants to see them.
    pub async fn follow_files(self) {
        let (tell, mut changed) = mpsc::channel(WAITING);
        let (gemini, stop) = (self.inner.settings.gemini.clone(), self.inner.stop.clone());
        let (begun, begins) = oneshot::channel();
        let watching = tokio::task::spawn_blocking(move || watch(gemini, &tell, &stop, begun));
        // Watched before they are listed: what is written in between is told of.
        let _begun = begins.await;
        let mut passed_over = self.list_files().await;
        self.inner.lists.send_replace(false);
        self.tell_all().await;
        loop {
            let path = tokio::select! {
                () = self.inner.stop.cancelled() => break,
                path = changed.recv() => path,
            };
            let Some(path) = path else { break };
            if !passed_over.contains(&path) && !self.tell(&path).await {
                passed_over = self.list_files().await;
                self.tell(&path).await;
            }
        }
        // It looks at the same token.
        let _ended = watching.await;
    }

    /// Tells the session of a file that it has changed. False where no session is known to have it.
    async fn tell(&self, path: &PathBuf) -> bool {
        let found = {
            let slots = self.slots();
            let is = |slot: &&Slot| slot.file.as_ref() == Some(path);
            slots.values().find(is).map(|slot| slot.feed.id().to_string())
        };
        let Some(id) = found else { return false };
        if let Ok(task) = self.ask(&id).await {
            // A session that is busy looks soon enough.
            let _told = task.try_send(Ask::Look { file: path.clone() });
        }
        true
    }

    /// Tells the sessions that are open already: what was written since they looked and before anybody watched, nobody tells.
    async fn tell_all(&self) {
        let open: Vec<PathBuf> = {
            let slots = self.slots();
            slots
                .values()
                .filter(|slot| slot.task.is_some())
                .filter_map(|slot| slot.file.clone())
                .collect()
        };
        for path in open {
            self.tell(&path).await;
        }
    }

    /// Lists the agent's files anew, and takes in the sessions that are not known yet. Gives the files of agents
    /// that work for another: they are no session here, and what is written there is no reason to list all files again.
    async fn list_files(&self) -> HashSet<PathBuf> {
        let settings = self.inner.settings.clone();
        let listed = tokio::task::spawn_blocking(move || {
            store::list(&settings.gemini, &[], settings.index.as_deref(), &|_, _| {})
        });
        let (mut passed_over, mut new) = (HashSet::new(), Vec::new());
        let Ok(listing) = listed.await else { return passed_over };
        for session in &listing.sessions {
            match session.kind {
                Kind::Main => match self.found(session).await {
                    Ok(found) => new.extend(found),
                    Err(error) => tracing::warn!("ignored a session file: {error:#}"),
                },
                Kind::Subagent => {
                    passed_over.insert(session.file.path.clone());
                }
                Kind::Stub => {}
            }
        }
        // All at once: whoever looks is told of many as one list.
        for feed in new {
            feed.is_there();
        }
        passed_over
    }

    /// Takes in the session of a file; gives its feed where it was not known.
    async fn found(&self, session: &Session) -> anyhow::Result<Option<Arc<Feed>>> {
        let path = session.file.path.clone();
        let summary = self.read_only(session);
        {
            let mut slots = self.slots();
            // Most are known by the agent's own id: only the others are looked for.
            let known = if slots.contains_key(&session.id) {
                slots.get_mut(&session.id)
            } else {
                let is =
                    |slot: &&mut Slot| slot.feed.summary().agent_id.as_ref() == Some(&session.id);
                slots.values_mut().find(is)
            };
            if let Some(slot) = known {
                // A session that is driven writes to its own file, and one that was resumed to another one.
                slot.file = Some(path);
                has_grown(slot, summary);
                return Ok(None);
            }
        }
        let row = summary.clone();
        let file = path.display().to_string();
        let no =
            self.log().write(move |connection| begin(connection, &row, None, Some(&file))).await?;
        let id = summary.id.clone();
        let feed = Arc::new(Feed::new(summary, Arc::clone(&self.inner.watchers)));
        let slot = Slot { file: Some(path), ..Slot::new(no, feed) };
        Ok(self.appears(&id, slot).await)
    }

    fn read_only(&self, session: &Session) -> Summary {
        let now = self.now();
        let time = |at: i64| Timestamp::from_millisecond(at).map_or(now, |at| at.min(now));
        let digest = &session.digest;
        Summary {
            id: session.id.clone(),
            agent_id: Some(session.id.clone()),
            cwd: session.project.clone(),
            title: digest.title().map(str::to_owned),
            status: SessionStatus::Exited,
            model: digest.model.clone(),
            epoch: epoch(now),
            messages: digest.messages,
            tokens: digest.usage().total_tokens,
            created_at: digest.started_at.map_or(now, time),
            updated_at: time(session.updated_at()),
            ..Summary::empty(now)
        }
    }
}

/// A session that is only read, and that nobody has open, may have grown while no daemon ran.
fn has_grown(slot: &Slot, listed: Summary) {
    let known = slot.feed.summary();
    if slot.start.is_none() && slot.task.is_none() && listed.updated_at > known.updated_at {
        slot.feed.set_summary(Summary {
            title: listed.title.or_else(|| known.title.clone()),
            messages: listed.messages,
            tokens: listed.tokens,
            updated_at: listed.updated_at,
            version: known.version + 1,
            ..(*known).clone()
        });
    }
}

/// Waits for changes. The watch is a bell only: each session reads its own file.
fn watch(
    gemini: PathBuf,
    tell: &mpsc::Sender<PathBuf>,
    stop: &CancellationToken,
    begun: oneshot::Sender<()>,
) {
    let mut watch = Watch::new(Watched::All(gemini), true);
    // Nobody waits where the hub has ended.
    let _told = begun.send(());
    while !stop.is_cancelled() {
        for (path, _) in watch.next(Instant::now() + LOOK) {
            if tell.blocking_send(path).is_err() {
                return;
            }
        }
    }
}
