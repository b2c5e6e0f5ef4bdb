//! The newest events of one session, in memory, and the bells of those who follow it.

use super::entry::Entry;
use crate::api::Summary;
use crate::daemon::guard::lock;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, Weak};
use tokio::sync::Notify;

/// So much of a session is kept in memory. Whoever is further behind reads from disk.
const BYTES: usize = 256 << 10;
const ENTRIES: usize = 512;

/// Rings for one client: which sessions have news.
#[derive(Debug, Default)]
pub struct Bell {
    notify: Notify,
    dirty: Mutex<BTreeSet<Arc<str>>>,
}

impl Bell {
    /// News of a session.
    pub fn ring(&self, session: &Arc<str>) {
        lock(&self.dirty).insert(Arc::clone(session));
        self.notify.notify_one();
    }

    /// Waits for news, and gives the sessions that have some.
    pub async fn heard(&self) -> BTreeSet<Arc<str>> {
        loop {
            let dirty = std::mem::take(&mut *lock(&self.dirty));
            if !dirty.is_empty() {
                return dirty;
            }
            self.notify.notified().await;
        }
    }
}

/// What is new in one session.
#[derive(Debug)]
pub struct Feed {
    id: Arc<str>,
    recent: Mutex<Recent>,
    summary: Mutex<Arc<Summary>>,
    bells: Mutex<Vec<Weak<Bell>>>,
    /// Those who follow all sessions.
    watchers: Arc<Mutex<Vec<Weak<Bell>>>>,
}

#[derive(Debug)]
struct Recent {
    entries: VecDeque<Arc<Entry>>,
    bytes: usize,
    /// The number of the last event that is on disk.
    seq: u64,
    epoch: u64,
}

impl Feed {
    /// The feed of a session, of which this is known.
    pub fn new(summary: Summary, watchers: Arc<Mutex<Vec<Weak<Bell>>>>) -> Self {
        let recent =
            Recent { entries: VecDeque::new(), bytes: 0, seq: summary.seq, epoch: summary.epoch };
        Self {
            id: summary.id.as_str().into(),
            recent: Mutex::new(recent),
            summary: Mutex::new(Arc::new(summary)),
            bells: Mutex::new(Vec::new()),
            watchers,
        }
    }

    /// The session.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// Events that are on disk now.
    pub(super) fn publish(&self, entries: Vec<Arc<Entry>>) {
        let mut recent = lock(&self.recent);
        for entry in entries {
            recent.seq = entry.seq;
            recent.epoch = entry.epoch;
            recent.bytes += entry.bytes();
            recent.entries.push_back(entry);
        }
        while recent.bytes > BYTES || recent.entries.len() > ENTRIES {
            match recent.entries.pop_front() {
                Some(oldest) => recent.bytes -= oldest.bytes(),
                None => break,
            }
        }
        drop(recent);
        ring(&self.bells, &self.id);
    }

    /// Lets go of what is in memory: nobody has listened for a while.
    pub fn rest(&self) {
        let mut recent = lock(&self.recent);
        recent.entries = VecDeque::new();
        recent.bytes = 0;
    }

    /// The number and the epoch of the last event that is on disk.
    pub fn head(&self) -> (u64, u64) {
        let recent = lock(&self.recent);
        (recent.seq, recent.epoch)
    }

    /// The events after a number, at most so many bytes; none where they are not all in memory.
    pub fn after(&self, seq: u64, most: usize) -> Option<Vec<Arc<Entry>>> {
        let recent = lock(&self.recent);
        if seq >= recent.seq {
            return Some(Vec::new());
        }
        let first = recent.entries.front()?.seq;
        let skip = usize::try_from((seq + 1).checked_sub(first)?).ok()?;
        let mut bytes = 0;
        let page = recent.entries.iter().skip(skip).take_while(|entry| {
            let fits = bytes == 0 || bytes + entry.bytes() <= most;
            bytes += entry.bytes();
            fits
        });
        Some(page.cloned().collect())
    }

    /// What is to be known of it.
    pub fn summary(&self) -> Arc<Summary> {
        Arc::clone(&lock(&self.summary))
    }

    /// It is different now. Those who follow are told where it is worth it.
    pub fn set_summary(&self, summary: Summary) {
        let mut known = lock(&self.summary);
        let news = summary.version > known.version;
        *known = Arc::new(summary);
        drop(known);
        if news {
            ring(&self.bells, &self.id);
            ring(&self.watchers, &self.id);
        }
    }

    /// There is such a session now.
    pub fn is_there(&self) {
        ring(&self.watchers, &self.id);
    }

    /// There is no such session any more: those who follow find that out when they look.
    pub fn is_gone(&self) {
        ring(&self.bells, &self.id);
        ring(&self.watchers, &self.id);
    }

    /// From now on this bell rings.
    pub fn join(&self, bell: &Arc<Bell>) {
        let mut bells = lock(&self.bells);
        bells.retain(|known| known.strong_count() > 0 && !known.ptr_eq(&Arc::downgrade(bell)));
        bells.push(Arc::downgrade(bell));
    }

    /// This bell rings no more.
    pub fn leave(&self, bell: &Arc<Bell>) {
        lock(&self.bells).retain(|known| !known.ptr_eq(&Arc::downgrade(bell)));
    }

    /// True where somebody follows.
    pub fn is_followed(&self) -> bool {
        lock(&self.bells).iter().any(|bell| bell.strong_count() > 0)
    }
}

fn ring(bells: &Mutex<Vec<Weak<Bell>>>, session: &Arc<str>) {
    lock(bells).retain(|bell| match bell.upgrade() {
        Some(bell) => {
            bell.ring(session);
            true
        }
        None => false,
    });
}
