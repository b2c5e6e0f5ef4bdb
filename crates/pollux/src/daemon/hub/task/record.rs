//! Facts are numbered and written down, and then told.

use super::{Accepted, Hub, Order, Task, Turn, Woke, sum};
use crate::daemon::log::{self, Entry, Row, entry};
use pollux_agent::model::{Event, EventKind, Failure, Phase};
use pollux_agent::session::Effect;
use std::collections::VecDeque;
use std::sync::Arc;

/// Facts that have their numbers, and what follows from them once they are on disk.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) entries: Vec<Arc<Entry>>,
    events: Vec<Event<'static>>,
    orders: Vec<Order>,
    /// True where a turn has ended.
    ended: bool,
    /// The agent's own id of the session, as it was before.
    called: Option<String>,
}

impl Task {
    /// Numbers facts, writes them down, and does what follows from them. Comes back when they are on disk, and says so; or when
    /// the daemon ends before they are.
    pub(super) async fn record(&mut self, events: Vec<Event<'static>>) -> bool {
        let batch = self.take_in(events);
        while let Err(error) = self.try_write(&batch.entries, None).await {
            self.cannot_write(&error);
            if !self.until_next_try().await {
                return false;
            }
        }
        self.is_written(batch).await;
        true
    }

    /// Takes facts in: what follows from them is known, and is done when they were written.
    pub(super) fn take_in(&mut self, events: Vec<Event<'static>>) -> Batch {
        let mut events = VecDeque::from(events);
        let mut batch = Batch { called: self.summary.agent_id.clone(), ..Batch::default() };
        let now = self.clock.now();
        while let Some(event) = events.pop_front() {
            let effects = self.session.event(&event, now);
            batch.entries.push(self.number(&event));
            batch.ended |= matches!(event.kind, EventKind::TurnEnded { .. });
            for effect in effects {
                match effect {
                    Effect::Record(event) => events.push_front(*event),
                    Effect::Order(order) => batch.orders.push(order),
                }
            }
            batch.events.push(event);
        }
        batch
    }

    /// They are on disk: those who ask are told of them, and what follows is done.
    pub(super) async fn is_written(&mut self, batch: Batch) {
        self.full.is_over();
        for event in &batch.events {
            self.view.fold(event);
        }
        if batch.ended || self.follow.is_some() {
            self.recount(batch.ended).await;
        }
        self.feed.set_summary(self.summary.clone());
        for order in batch.orders {
            self.follows(order);
        }
        self.full.stopped = false;
        if self.summary.agent_id != batch.called {
            self.is_one().await;
        }
    }

    /// An order that follows from facts. A prompt that was to begin next, and that somebody stopped while nothing could be
    /// written, does not begin.
    fn follows(&mut self, order: Order) {
        if self.full.stopped && matches!(order, Order::Prompt { .. }) {
            let why = "the prompt was stopped before it could be logged";
            let stopped = Err(Failure::new(Phase::Request, "stopped", why));
            self.late.push_back(Woke::Ordered(order, stopped));
        } else {
            self.order(order);
        }
    }

    /// The agent's own id has become known. What was seen under it belongs here.
    async fn is_one(&mut self) {
        if let (Some(inner), Some(id)) = (self.hub.upgrade(), &self.summary.agent_id) {
            Hub { inner }.unite(id).await;
        }
    }

    fn number(&mut self, event: &Event<'static>) -> Arc<Entry> {
        match &event.kind {
            EventKind::TurnStarted { .. } => self.turn = Turn::Going,
            EventKind::TurnEnded { .. } | EventKind::SessionEnded { .. } => self.turn = Turn::None,
            EventKind::HistoryRewritten { .. } => self.summary.epoch += 1,
            _ => {}
        }
        self.summary.seq += 1;
        sum::fold(&mut self.summary, event);
        let now = self.clock.now();
        self.summary.updated_at = event.at.map_or(now, |at| sum::time(at, now));
        Arc::new(entry(event, self.summary.seq, self.summary.epoch, now))
    }

    /// Writes facts down, with what was accepted while nothing could be written. Where that fails, nothing of it is on disk.
    pub(super) async fn try_write(
        &mut self,
        entries: &[Arc<Entry>],
        command: Option<&Accepted>,
    ) -> anyhow::Result<()> {
        sum::state(&mut self.summary, &self.session, &self.feed.summary());
        let summary = Arc::new(self.summary.clone());
        let commands = self.full.commands.iter().chain(command).cloned().collect();
        let row = Row { no: self.no, summary, commands };
        self.log.append(row, entries.to_vec(), Arc::clone(&self.feed)).await?;
        self.full.commands.clear();
        Ok(())
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
            let row = Row { no, summary: Arc::new(self.summary.clone()), commands: Vec::new() };
            // What cannot be written now is written with the next event.
            drop(self.log.append(row, Vec::new(), Arc::clone(&self.feed)).await);
        }
    }
}
