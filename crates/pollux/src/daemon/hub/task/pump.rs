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
    task: JoinSet<()>,
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
        Self { events, room, lent: 0, task }
    }

    /// Hears the agent a little further than it would be: a driver that waits for room may not see its orders.
    pub(super) fn lend(&mut self) {
        let more = WAITING.saturating_sub(self.room.available_permits());
        self.lent += more;
        self.room.add_permits(more);
    }

    /// Ends the agent, and gives what it had said that nobody has taken yet.
    pub(super) async fn end(mut self) -> Vec<Event<'static>> {
        self.task.shutdown().await;
        let mut events = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            events.push(event);
        }
        events
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

#[cfg(test)]
mod tests {
    use super::Pump;
    use crate::daemon::hub::agent::Events;
    use futures::future::BoxFuture;
    use pollux_agent::model::{Event, EventKind, Source, Text};
    use std::sync::Arc;
    use tokio::sync::Notify;

    /// Says a few things, and tells when it has nothing more to say.
    struct Says {
        left: usize,
        done: Arc<Notify>,
    }

    impl Events for Says {
        fn next(&mut self) -> BoxFuture<'_, Option<Event<'static>>> {
            Box::pin(async {
                if self.left == 0 {
                    self.done.notify_one();
                    std::future::pending::<()>().await;
                }
                self.left -= 1;
                Some(Event::new(Source::Acp, EventKind::TurnStarted { prompt: Text::from("on") }))
            })
        }
    }

    #[tokio::test]
    async fn what_an_agent_said_before_it_was_ended_is_not_lost() {
        let done = Arc::new(Notify::new());
        let pump = Pump::start(Box::new(Says { left: 3, done: Arc::clone(&done) }));
        done.notified().await;
        assert_eq!(pump.end().await.len(), 3);
    }
}
