//! Hears an agent, whatever else the session's task does: an event that is half read is not dropped.

use crate::daemon::hub::agent::Events;
use pollux_agent::model::Event;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// How many events may wait to be written down. When there are more, the agent is heard no further.
const WAITING: usize = 1024;

/// Ends its agent when it is dropped.
pub(super) struct Pump {
    events: mpsc::Receiver<Event<'static>>,
    _task: JoinSet<()>,
}

impl Pump {
    pub(super) fn start(mut agent: Box<dyn Events>) -> Self {
        let (tell, events) = mpsc::channel(WAITING);
        let mut task = JoinSet::new();
        task.spawn(async move {
            while let Some(event) = agent.next().await {
                if tell.send(event).await.is_err() {
                    break;
                }
            }
        });
        Self { events, _task: task }
    }

    /// All events that are there, one at least; none when the agent is gone.
    pub(super) async fn heard(&mut self, most: usize) -> Vec<Event<'static>> {
        let mut events = Vec::new();
        self.events.recv_many(&mut events, most).await;
        events
    }
}
