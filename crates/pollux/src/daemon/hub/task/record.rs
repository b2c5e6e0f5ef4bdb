//! Facts are numbered and written down, and then told.

use super::{Accepted, Hub, TRY_AGAIN, Task, Turn, sum};
use crate::daemon::log::{self, Entry, Row, entry};
use pollux_agent::model::{Event, EventKind};
use pollux_agent::session::Effect;
use std::collections::VecDeque;
use std::sync::Arc;

/// That the log cannot be written is said once in so many tries: the journal may be on the same disk.
const SAID: u32 = 120;

impl Task {
    /// Numbers facts, writes them down, and does what follows from them. Comes back when they are on disk.
    pub(super) async fn record(&mut self, events: Vec<Event<'static>>, command: Option<Accepted>) {
        let mut events = VecDeque::from(events);
        let (mut entries, mut orders) = (Vec::new(), Vec::new());
        let now = self.clock.now();
        let called = self.summary.agent_id.clone();
        let mut ended = false;
        while let Some(event) = events.pop_front() {
            let effects = self.session.event(&event, now);
            entries.push(self.number(&event));
            ended |= matches!(event.kind, EventKind::TurnEnded { .. });
            for effect in effects {
                match effect {
                    Effect::Record(event) => events.push_front(*event),
                    Effect::Order(order) => orders.push(order),
                }
            }
        }
        self.write(entries, command, ended).await;
        for order in orders {
            self.order(order);
        }
        if self.summary.agent_id != called {
            self.is_one().await;
        }
    }

    /// The agent's own id has become known. What was seen under it belongs here.
    async fn is_one(&mut self) {
        if let (Some(inner), Some(id)) = (self.hub.upgrade(), &self.summary.agent_id) {
            Hub { inner }.unite(id).await;
        }
    }

    pub(super) fn number(&mut self, event: &Event<'static>) -> Arc<Entry> {
        match &event.kind {
            EventKind::TurnStarted { .. } => self.turn = Turn::Going,
            EventKind::TurnEnded { .. } | EventKind::SessionEnded { .. } => self.turn = Turn::None,
            EventKind::HistoryRewritten { .. } => self.summary.epoch += 1,
            _ => {}
        }
        self.summary.seq += 1;
        self.view.fold(event);
        sum::fold(&mut self.summary, event);
        let now = self.clock.now();
        self.summary.updated_at = event.at.map_or(now, |at| sum::time(at, now));
        Arc::new(entry(event, self.summary.seq, self.summary.epoch, now))
    }

    pub(super) async fn write(
        &mut self,
        entries: Vec<Arc<Entry>>,
        command: Option<Accepted>,
        count: bool,
    ) {
        sum::state(&mut self.summary, &self.session, &self.feed.summary());
        let mut tries = 0_u32;
        loop {
            let summary = Arc::new(self.summary.clone());
            let row = Row { no: self.no, summary, command: command.clone() };
            match self.log.append(row, entries.clone(), Arc::clone(&self.feed)).await {
                Ok(()) => break,
                // The agent waits as long as the disk does. Nothing is told that was not written.
                Err(error) if tries.is_multiple_of(SAID) => {
                    tracing::error!(session = %self.summary.id, "{error:#}");
                }
                Err(_) => {}
            }
            tries = tries.wrapping_add(1);
            tokio::select! {
                () = tokio::time::sleep(TRY_AGAIN) => {}
                // Who ends the daemon does not wait for the disk: the files of the agents have what is missing.
                () = self.stop.cancelled() => return,
            }
        }
        if count || self.follow.is_some() {
            self.recount(count).await;
        }
        self.feed.set_summary(self.summary.clone());
    }

    /// Counts messages and tokens, and looks at the branch. With `keep`, the next daemon shall know too.
    pub(super) async fn recount(&mut self, keep: bool) {
        self.summary.branch = self.summary.cwd.as_deref().and_then(super::branch::branch);
        let no = self.no;
        let Ok((messages, tokens)) =
            self.log.read(move |connection| log::counts(connection, no)).await
        else {
            return;
        };
        sum::count(&mut self.summary, messages, tokens);
        if keep {
            let row = Row { no, summary: Arc::new(self.summary.clone()), command: None };
            // What cannot be written now is written with the next event.
            drop(self.log.append(row, Vec::new(), Arc::clone(&self.feed)).await);
        }
    }
}
