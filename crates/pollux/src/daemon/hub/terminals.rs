//! Agents in terminals: taken up when the daemon starts, adopted when somebody says so.

use super::agent::Wanted;
use super::{Hub, Slot, unknown};
use crate::api::{Driver, Summary};
use crate::daemon::log::Bell;
use crate::trouble::Trouble;
use pollux_agent::gemini::terminal::Found;
use pollux_agent::model::SessionStatus;
use pollux_agent::terminal::Socket;
use std::sync::Arc;
use std::time::Duration;

/// How long tmux may take to say what there is, before the daemon goes on without it.
const PATIENCE: Duration = Duration::from_secs(3);
/// After so long it is asked again.
const AGAIN: Duration = Duration::from_secs(2);
/// So long whoever asks first waits until the agents that live were looked at: else he would hear that they start.
const SEEN: Duration = Duration::from_secs(1);
/// What is said of a tmux that is there and does not answer.
const TMUX_SILENT: &str = "tmux_silent";

impl Hub {
    /// Takes up the agents that live in terminals, whoever started them. False where tmux does not say which those are.
    pub async fn take_up_all(&self) -> bool {
        let Some(tmux) = &self.inner.agents.tmux else { return true };
        let found = match tokio::time::timeout(PATIENCE, tmux.servers().all()).await {
            Ok(Ok(found)) => found,
            Ok(Err(failure)) if failure.code != TMUX_SILENT => {
                tracing::warn!("{}", failure.message);
                Vec::new()
            }
            Ok(Err(_)) | Err(_) => {
                tracing::warn!("tmux does not respond");
                self.inner.sure.send_replace(false);
                return false;
            }
        };
        let mut taken_up = Vec::new();
        for found in found.into_iter().filter(|found| !found.dead) {
            let pane = found.pane.clone();
            match self.take_up(found).await {
                Ok(summary) => taken_up.push(summary.id.clone()),
                Err(error) => tracing::warn!(pane, "could not reattach to an agent: {error:#}"),
            }
        }
        self.inner.sure.send_replace(true);
        // One that only starts is not waited for longer.
        let _starts = tokio::time::timeout(SEEN, self.are_seen(&taken_up)).await;
        true
    }

    /// Waits until each of these agents was looked at.
    async fn are_seen(&self, sessions: &[String]) {
        let bell = Arc::new(Bell::default());
        self.watch(&bell);
        let starts = |id: &String| {
            self.feed(id).is_ok_and(|(_, feed)| feed.summary().status == SessionStatus::Starting)
        };
        while sessions.iter().any(starts) {
            bell.heard().await;
        }
    }

    /// Asks a tmux that did not answer until it does. What would have been done at the start is done then.
    pub async fn take_up_late(self) {
        while !self.take_up_all().await {
            tokio::select! {
                () = tokio::time::sleep(AGAIN) => {}
                () = self.inner.stop.cancelled() => return,
            }
        }
        // Others have been started meanwhile, and need what they were lent.
        self.sweep_but(|_| true);
        for id in self.torn(is_in_terminal) {
            if let Err(error) = self.mend_anew(&id).await {
                tracing::error!(session = %id, "could not recover the session: {error:#}");
            }
        }
    }

    /// Somebody may have opened it while nobody could say whether its agent lives.
    #[expect(
        clippy::await_holding_invalid_type,
        reason = "the lock protects a critical section, not a value; later callers wait"
    )]
    async fn mend_anew(&self, id: &str) -> anyhow::Result<()> {
        let turn = self.slot(id)?.turn;
        let turn = turn.lock().await;
        if !self.slot(id)?.torn {
            // Somebody has gone on with it meanwhile.
            return Ok(());
        }
        self.close(id).await;
        drop(turn);
        self.ask(id).await.map(drop)
    }

    /// True where nobody knows whether the agent of a session lives.
    pub(super) fn is_unsure(&self, slot: &Slot) -> bool {
        !*self.inner.sure.borrow() && slot.torn && is_in_terminal(slot)
    }

    /// Waits until it is known which of these sessions have an agent that lives.
    pub async fn is_sure_of(&self, sessions: &[Arc<str>]) {
        let unsure = |id: &Arc<str>| self.slot(id).is_ok_and(|slot| self.is_unsure(&slot));
        if sessions.iter().any(unsure) {
            // The sender lives as long as the hub.
            drop(self.inner.sure.subscribe().wait_for(|sure| *sure).await);
        }
    }

    /// Takes back what was lent to agents that have not outlived the daemon before this one.
    pub fn sweep(&self) {
        self.sweep_but(|summary| summary.driver == Some(Driver::Terminal));
    }

    /// The same, where those of this kind that have not ended are let alone.
    fn sweep_but(&self, may_live: impl Fn(&Summary) -> bool) {
        let lives =
            |summary: &Summary| may_live(summary) && summary.status != SessionStatus::Exited;
        self.badges()
            .sweep(|session| self.feed(session).is_ok_and(|(_, feed)| lives(&feed.summary())));
    }

    /// Gives an agent in a terminal a name, where it has none, and takes it up.
    pub async fn adopt(&self, socket: &Socket, pane: Option<&str>) -> anyhow::Result<Arc<Summary>> {
        let agents = &self.inner.agents;
        let (Some(tmux), Some(home)) = (&agents.tmux, agents.home()) else {
            let message = "this daemon does not manage terminal sessions";
            return Err(Trouble::refused("no_terminals", message).into());
        };
        self.take_up(tmux.servers().adopt(socket, pane, home).await?).await
    }

    /// The tmux server for terminals of ours.
    pub fn tmux(&self) -> Option<&Socket> {
        self.inner.agents.tmux.as_ref().map(super::terminal::Tmux::socket)
    }

    async fn take_up(&self, found: Found) -> anyhow::Result<Arc<Summary>> {
        let known = self.slots().iter().find(|(_, slot)| is_of(slot, &found)).map(|(id, slot)| {
            let summary = slot.feed.summary();
            let driven = slot.task.is_some() && summary.driver.is_some();
            (id.clone(), driven && summary.status != SessionStatus::Exited)
        });
        let id = match known {
            Some((id, true)) => id,
            Some((id, false)) => {
                let mut wanted = Wanted::in_terminal(found, id.clone());
                wanted.mode = self.feed(&id)?.1.summary().mode;
                let start = self.slots().get(&id).and_then(|slot| slot.start.clone());
                wanted.given = start.and_then(|start| start.given);
                self.reopen(&id, wanted).await?;
                id
            }
            None => {
                let name = found.name.clone().or_else(|| found.key.clone());
                let id = name.ok_or_else(|| unknown("(unnamed)"))?;
                let wanted = Wanted::in_terminal(found, id.clone());
                let summary = self.summary(&wanted);
                self.add(wanted, summary, None).await?;
                id
            }
        };
        Ok(self.feed(&id)?.1.summary())
    }
}

fn is_in_terminal(slot: &Slot) -> bool {
    slot.feed.summary().driver == Some(Driver::Terminal)
}

/// Whether an agent in a terminal is that of a session: by the name that it had first, or by the agent's own id.
fn is_of(slot: &Slot, found: &Found) -> bool {
    let summary = slot.feed.summary();
    let named =
        found.name.as_ref() == Some(&summary.id) && summary.driver == Some(Driver::Terminal);
    named
        || found.key.as_ref() == Some(&summary.id)
        || (found.key.is_some() && found.key == summary.agent_id)
}
