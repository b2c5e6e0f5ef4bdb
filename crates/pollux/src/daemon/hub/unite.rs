//! One conversation is one session. An agent of ours may learn its own id late: until then its file, or a hook of it, looks like a
//! session of somebody else's, and is shown as one.

use super::{Hub, Slot};
use crate::daemon::log::{Feed, remove};
use std::sync::Arc;

impl Hub {
    /// Takes in a session that the agent's files or hooks told of. Gives its feed, for those who follow all to be told.
    pub(super) async fn appears(&self, id: &str, slot: Slot) -> Option<Arc<Feed>> {
        self.slots().entry(id.to_owned()).or_insert(slot);
        // An agent of ours may have learned meanwhile that it is its own.
        self.unite(id).await;
        self.slots().get(id).map(|slot| Arc::clone(&slot.feed))
    }

    /// Lets go of the session that was only read under an agent's own id, where an agent of ours turns out to have it: all
    /// of it is told there.
    #[expect(
        clippy::await_holding_invalid_type,
        reason = "the lock protects a critical section, not a value; later callers wait"
    )]
    pub(super) async fn unite(&self, agent_id: &str) {
        if !self.is_twice(agent_id) {
            return;
        }
        let Ok(slot) = self.slot(agent_id) else { return };
        // Held until nothing of it is left: a task that is started meanwhile would write what nobody takes away.
        let _turn = slot.turn.lock().await;
        self.close(agent_id).await;
        // Somebody may have gone on with it meanwhile.
        if !self.is_twice(agent_id) {
            return;
        }
        let Some(slot) = self.slots().remove(agent_id) else { return };
        let no = slot.no;
        if let Err(error) = self.log().write(move |connection| remove(connection, no)).await {
            tracing::warn!(
                session = agent_id,
                "could not remove a duplicate session from the log: {error:#}"
            );
        }
        slot.feed.is_gone();
    }

    fn is_twice(&self, agent_id: &str) -> bool {
        let slots = self.slots();
        let is_read = |slot: &Slot| slot.start.is_none() && slot.feed.summary().driver.is_none();
        let has_it = |slot: &Slot| {
            let summary = slot.feed.summary();
            summary.driver.is_some()
                && summary.id != agent_id
                && summary.agent_id.as_deref() == Some(agent_id)
        };
        slots.get(agent_id).is_some_and(is_read) && slots.values().any(has_it)
    }
}
