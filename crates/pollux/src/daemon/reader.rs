//! One client's way through one session: a snapshot or the exact tail, then what comes, at its own pace.

use super::hub::Hub;
use super::log::{self, Bell, Entry, Feed};
use crate::api::{FRAME_BYTES, ServerFrame, Snapshot, Why};
use std::fmt::Write;
use std::sync::Arc;

/// Somebody who misses more events than this is better off with a snapshot.
const FAR: u64 = 5_000;
/// How many events are read from disk at once.
const AT_ONCE: usize = 1_000;

/// A subscription. It holds a place in the log, and no events.
#[derive(Debug)]
pub struct Reader {
    hub: Hub,
    no: i64,
    feed: Arc<Feed>,
    after: u64,
    epoch: u64,
    version: u64,
    bell: Arc<Bell>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.feed.leave(&self.bell);
    }
}

impl Reader {
    /// Begins after the last event that the client has handled, and gives the first frame: it says which it is.
    pub async fn open(
        hub: &Hub,
        id: &str,
        seen: Option<(u64, u64)>,
        bell: &Arc<Bell>,
    ) -> anyhow::Result<(Self, String)> {
        let (no, feed) = hub.feed(id)?;
        // Before the head is looked at: what comes in between rings.
        feed.join(bell);
        let bell = Arc::clone(bell);
        let mut reader = Self { hub: hub.clone(), no, feed, after: 0, epoch: 0, version: 0, bell };
        let frame = match reader.verdict(seen).await? {
            Ok((after, epoch)) => {
                (reader.after, reader.epoch) = (after, epoch);
                ServerFrame::Resumed { session_id: id.to_owned(), after, epoch }
            }
            Err(why) => reader.snapshot(id, why).await?,
        };
        Ok((reader, serde_json::to_string(&frame)?))
    }

    /// The tail, or why not.
    async fn verdict(&self, seen: Option<(u64, u64)>) -> anyhow::Result<Result<(u64, u64), Why>> {
        let Some((after, epoch)) = seen else { return Ok(Err(Why::Fresh)) };
        let (head, now) = self.feed.head();
        if epoch != now {
            return Ok(Err(Why::Epoch));
        }
        let no = self.no;
        let floor = self.hub.log().read(move |connection| log::floor(connection, no)).await?;
        if after > head || after < floor {
            return Ok(Err(Why::Gone));
        }
        Ok(if head - after > FAR { Err(Why::Far) } else { Ok((after, epoch)) })
    }

    async fn snapshot(&mut self, id: &str, why: Why) -> anyhow::Result<ServerFrame> {
        let snapshot = self.hub.snapshot(id).await?;
        let session = (*snapshot.summary).clone();
        (self.after, self.epoch) = (session.seq, session.epoch);
        self.version = session.version;
        Ok(ServerFrame::Snapshot(Box::new(Snapshot {
            session_id: id.to_owned(),
            why,
            seq: session.seq,
            epoch: session.epoch,
            session,
            messages: snapshot.messages,
            before: snapshot.before,
            facts: snapshot.facts,
            live: snapshot.live,
        })))
    }

    /// The number and the epoch of the last event that was given.
    pub fn place(&self) -> (u64, u64) {
        (self.after, self.epoch)
    }

    /// The next frame; none where there is nothing new.
    pub async fn next(&mut self) -> anyhow::Result<Option<String>> {
        // One that turned out to be another one's is there no more.
        self.hub.feed(self.feed.id())?;
        let (head, _) = self.feed.head();
        if self.after < head {
            let page = self.page().await?;
            if page.first().is_none_or(|first| first.seq != self.after + 1) {
                // What comes next was let go before this client came to it.
                let id = self.feed.id().to_string();
                let frame = self.snapshot(&id, Why::Gone).await?;
                return Ok(Some(serde_json::to_string(&frame)?));
            }
            if let Some(last) = page.last() {
                (self.after, self.epoch) = (last.seq, last.epoch);
                return Ok(Some(frame(self.feed.id(), &page, self.after >= head)));
            }
        }
        let summary = self.feed.summary();
        if summary.version > self.version && summary.seq <= self.after {
            self.version = summary.version;
            let frame = ServerFrame::Session { session: Box::new((*summary).clone()) };
            return Ok(Some(serde_json::to_string(&frame)?));
        }
        Ok(None)
    }

    async fn page(&self) -> anyhow::Result<Vec<Arc<Entry>>> {
        if let Some(page) = self.feed.after(self.after, FRAME_BYTES) {
            return Ok(page);
        }
        let (no, after) = (self.no, self.after);
        let read = move |connection: &rusqlite::Connection| {
            log::events(connection, no, after, AT_ONCE, FRAME_BYTES)
        };
        self.hub.log().read(read).await
    }
}

/// A frame of events, put together from what is kept as JSON.
fn frame(id: &str, page: &[Arc<Entry>], caught_up: bool) -> String {
    let bytes: usize = page.iter().map(|entry| entry.bytes()).sum();
    let mut out = String::with_capacity(bytes + 128);
    let id = serde_json::Value::from(id);
    // Writing to a string does not fail.
    let _written = write!(out, r#"{{"type":"events","session_id":{id},"events":["#);
    for (index, entry) in page.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        entry.write(&mut out);
    }
    let _written = write!(out, r#"],"caught_up":{caught_up}}}"#);
    out
}
