//! Hooks: what the agents of this user say of themselves, whoever started them.

use super::{Ask, Hub, Slot, epoch};
use crate::api::{Driver, Summary};
use crate::daemon::log::{Feed, begin};
use pollux_agent::gemini::hooks::deliver::Place;
use pollux_agent::gemini::hooks::inbox::Inbox;
use pollux_agent::model::{Mode, SessionStatus};
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;

/// A line as a hook hands it over, as far as it says whose it is.
#[derive(Debug, Deserialize)]
struct Told {
    #[serde(default)]
    key: Option<String>,
    payload: Whose,
}

#[derive(Debug, Deserialize)]
struct Whose {
    session_id: String,
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    transcript_path: Option<PathBuf>,
}

impl Hub {
    /// Listens to hooks until the hub ends. Where another daemon does already, this one goes without.
    pub async fn hear_hooks(self, place: Place) {
        let at = place.socket.display().to_string();
        let inbox = match Inbox::open(place).await {
            Ok(inbox) => inbox,
            Err(error) => return tracing::warn!("cannot receive hook events at {at}: {error}"),
        };
        // What was told while nobody listened is of use to those only who are still there.
        for line in inbox.spooled().unwrap_or_default() {
            self.hook(line, false).await;
        }
        loop {
            let line = tokio::select! {
                () = self.inner.stop.cancelled() => return,
                line = inbox.next() => line,
            };
            match line {
                Ok(line) => self.hook(line, true).await,
                Err(error) => return tracing::error!("stopped receiving hook events: {error}"),
            }
        }
    }

    /// Passes a line on to the session whose it is. With `appear`, one that is not known yet appears.
    async fn hook(&self, line: String, appear: bool) {
        let Ok(told) = serde_json::from_str::<Told>(&line) else { return };
        let known = self
            .slots()
            .iter()
            .find(|(_, slot)| is_of(slot, &told))
            .map(|(id, slot)| (id.clone(), slot.feed.summary().driver));
        let id = match known {
            Some((id, Some(Driver::Terminal))) => id,
            // These drivers hear all of it first hand.
            Some((_, Some(Driver::Acp | Driver::Headless))) => return,
            Some(_) | None if !appear => return,
            Some((id, None)) => id,
            None => match self.appear(&told.payload).await {
                Ok(id) => id,
                Err(error) => return tracing::warn!("ignored a session: {error:#}"),
            },
        };
        if let Ok(task) = self.ask(&id).await {
            // Its task reads this before anything that comes later.
            let _sent = task.send(Ask::Hook { line }).await;
        }
    }

    /// A session of the user's own terminal, of which nobody knew.
    async fn appear(&self, whose: &Whose) -> anyhow::Result<String> {
        let now = self.now();
        let id = whose.session_id.clone();
        let summary = Summary {
            id: id.clone(),
            version: 1,
            agent_id: Some(id.clone()),
            cwd: whose.cwd.clone(),
            status: SessionStatus::Exited,
            mode: Mode::Default,
            epoch: epoch(now),
            ..Summary::empty(now)
        };
        let file = whose.transcript_path.clone().filter(|path| !path.as_os_str().is_empty());
        let (row, path) = (summary.clone(), file.as_ref().map(|path| path.display().to_string()));
        let write =
            move |connection: &rusqlite::Connection| begin(connection, &row, None, path.as_deref());
        let no = self.log().write(write).await?;
        let feed = Arc::new(Feed::new(summary, Arc::clone(&self.inner.watchers)));
        let slot = Slot { file, ..Slot::new(no, feed) };
        if let Some(feed) = self.appears(&id, slot).await {
            feed.is_there();
        }
        self.find(&id).map_err(Into::into)
    }
}

fn is_of(slot: &Slot, told: &Told) -> bool {
    let summary = slot.feed.summary();
    let names = [Some(&summary.id), summary.agent_id.as_ref()];
    let is = |name: &String| names.contains(&Some(name));
    is(&told.payload.session_id) || told.key.as_ref().is_some_and(is)
}
