//! Hears an agent, whatever else the session's task does: an event that is half read is not dropped.

use crate::daemon::hub::agent::Events;
use pollux_agent::model::Event;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

/// How many events may wait to be written down. When there are more, the agent is heard no further.
const WAITING: usize = 1024;

/// Ends its agent when it is dropped.
pub(super) struct Pump {
    events: mpsc::UnboundedReceiver<Event<'static>>,
    /// So many more may wait.
    room: Arc<Semaphore>,
    /// So much of that is to be given back.
    lent: usize,
    _task: JoinSet<()>,
}

impl Pump {
    #[expect(
        clippy::disallowed_methods,
        reason = "`room` is its capacity: that can be more for a while, and a channel's cannot"
    )]
    pub(super) fn start(mut agent: Box<dyn Events>) -> Self {
        let (tell, events) = mpsc::unbounded_channel();
        let room = Arc::new(Semaphore::new(WAITING));
        let mut task = JoinSet::new();
        let free = Arc::clone(&room);
        task.spawn(async move {
            while let Some(event) = agent.next().await {
                let Ok(place) = free.acquire().await else { break };
                // Its place is free again when the event was taken.
                place.forget();
                if tell.send(event).is_err() {
                    break;
                }
            }
        });
        Self { events, room, lent: 0, _task: task }
    }

    /// Hears the agent a little further than it would be: a driver that waits for room may not see its orders.
    pub(super) fn lend(&mut self) {
        let more = WAITING.saturating_sub(self.room.available_permits());
        self.lent += more;
        self.room.add_permits(more);
    }

    /// All events that are there, one at least; none when the agent is gone.
    async fn heard(&mut self, most: usize) -> Vec<Event<'static>> {
        let mut events = Vec::new();
        let taken = self.events.recv_many(&mut events, most).await;
        let back = taken.min(self.lent);
        self.lent -= back;
        self.room.add_permits(taken - back);
        events
    }
}

/// What an agent says, where there is one.
pub(super) async fn heard(pump: &mut Option<Pump>, most: usize) -> Vec<Event<'static>> {
    match pump {
        Some(pump) => pump.heard(most).await,
        None => std::future::pending().await,
    }
}
