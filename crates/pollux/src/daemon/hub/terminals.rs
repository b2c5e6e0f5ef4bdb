//! Agents in terminals: taken up when the daemon starts, adopted when somebody says so.

use super::agent::Wanted;
use super::{Hub, Slot, unknown};
use crate::api::{Driver, Summary};
use crate::daemon::log::Feed;
use crate::trouble::Trouble;
use pollux_agent::gemini::terminal::Found;
use pollux_agent::model::SessionStatus;
use pollux_agent::terminal::Socket;
use std::sync::Arc;
use std::time::Duration;

/// How long tmux may take to say what there is, before the daemon goes on without it.
const PATIENCE: Duration = Duration::from_secs(3);

impl Hub {
    /// Takes up the agents that live in terminals, whoever started them.
    pub async fn take_up_all(&self) {
        let Some(tmux) = &self.inner.agents.tmux else { return };
        let found = match tokio::time::timeout(PATIENCE, tmux.servers().all()).await {
            Ok(Ok(found)) => found,
            Ok(Err(failure)) => return tracing::warn!("{}", failure.message),
            Err(_) => return tracing::warn!("tmux does not answer"),
        };
        for found in found.into_iter().filter(|found| !found.dead) {
            let pane = found.pane.clone();
            if let Err(error) = self.take_up(found).await {
                tracing::warn!(pane, "an agent could not be taken up: {error:#}");
            }
        }
    }

    /// Takes back what was lent to agents that have not outlived the daemon before this one.
    pub fn sweep(&self) {
        self.badges().sweep(|session| {
            let lives = |(_, feed): (i64, Arc<Feed>)| {
                let summary = feed.summary();
                summary.driver == Some(Driver::Terminal) && summary.status != SessionStatus::Exited
            };
            self.feed(session).is_ok_and(lives)
        });
    }

    /// Gives an agent in a terminal a name, where it has none, and takes it up.
    pub async fn adopt(&self, socket: &Socket, pane: Option<&str>) -> anyhow::Result<Arc<Summary>> {
        let agents = &self.inner.agents;
        let (Some(tmux), Some(home)) = (&agents.tmux, agents.home()) else {
            let message = "this daemon has no agents in terminals";
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
                let id = name.ok_or_else(|| unknown("without a name"))?;
                let wanted = Wanted::in_terminal(found, id.clone());
                let summary = self.summary(&wanted);
                self.add(wanted, summary, None).await?;
                id
            }
        };
        Ok(self.feed(&id)?.1.summary())
    }
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
