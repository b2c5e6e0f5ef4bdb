//! A session for a client that knows nothing of it.

use super::Task;
use crate::api::{Live, Numbered, Recorded, Summary};
use crate::daemon::log::{self, MessagePage};
use std::sync::Arc;

/// A page of a snapshot has so many messages, and about so many bytes.
const MESSAGES: usize = 50;
const BYTES: usize = 64 << 10;

/// All that a client needs which knows nothing of a session.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The session, with the number and the epoch of its last event.
    pub summary: Arc<Summary>,
    /// The last page of messages.
    pub messages: Vec<Recorded>,
    /// Where the page before ends.
    pub before: Option<u64>,
    /// What happened between them.
    pub facts: Vec<Numbered>,
    /// What has not become a message yet.
    pub live: Live,
}

impl Task {
    pub(super) async fn snapshot(&mut self) -> anyhow::Result<Snapshot> {
        let (mut page, floor) = self.newest().await?;
        let is_free = self.wanted.is_none() || self.is_at_rest();
        if page.messages.is_empty() && floor > 0 && is_free {
            // Its events were let go. Its file may still have what was said.
            self.look_anew().await;
            (page, _) = self.newest().await?;
        }
        Ok(self.with(page))
    }

    /// As it stands in the log, whatever is still to be written.
    pub(super) async fn as_written(&mut self) -> anyhow::Result<Snapshot> {
        let (page, _) = self.newest().await?;
        Ok(self.with(page))
    }

    fn with(&self, page: MessagePage) -> Snapshot {
        Snapshot {
            summary: self.feed.summary(),
            messages: page.messages,
            before: page.before,
            facts: page.facts,
            live: self.view.live(),
        }
    }

    /// The newest messages, and up to which event none is kept.
    async fn newest(&mut self) -> anyhow::Result<(MessagePage, u64)> {
        let no = self.no;
        let read = move |connection: &rusqlite::Connection| {
            let page = log::messages(connection, no, None, MESSAGES, BYTES)?;
            Ok((page, log::floor(connection, no)?))
        };
        self.log.read(read).await
    }
}
