//! What is done before anybody is answered: the log is brought up to date with the session's file.

use super::{AT_ONCE, Task, Turn};
use crate::daemon::hub::repair::missing;
use crate::daemon::log;
use pollux_agent::gemini::transcript::follow::Follow;
use pollux_agent::model::{Event, EventKind, SessionStatus, Source, StopReason};
use std::path::PathBuf;

/// An agent of the daemon before this one, which ended in the middle of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    Nobody,
    /// It may be there still.
    Somebody,
    /// The file has grown, at a moment when it was not looked at.
    Writing,
}

impl Left {
    pub(super) fn of(torn: bool) -> Self {
        if torn { Self::Somebody } else { Self::Nobody }
    }

    /// The file has grown, and is not looked at now.
    pub(super) fn writes(&mut self) {
        if *self == Self::Somebody {
            *self = Self::Writing;
        }
    }
}

impl Task {
    /// What must be done before anybody is answered: the log is brought up to date with the session's file.
    pub(super) async fn begin(&mut self) {
        if self.wanted.is_none() {
            self.look().await;
        } else if self.torn {
            self.mend().await;
        } else if self.wanted.as_ref().is_some_and(|wanted| wanted.found.is_some()) {
            self.take_up().await;
        } else if self.wanted.as_ref().is_some_and(|wanted| wanted.file.is_some()) {
            // What was said before it is gone on with.
            self.look().await;
            self.follow = None;
        }
    }

    /// The agent is there already, in a terminal: its file is read up to now, and its driver goes on from there.
    pub(super) async fn take_up(&mut self) {
        self.look().await;
        let no = self.no;
        let turn = self.log.read(move |connection| log::last_turn(connection, no)).await;
        if matches!(turn, Ok(Some((_, false)))) {
            self.turn = Turn::Earlier;
        }
        let (place, wanted) = (self.follow.take(), self.wanted.as_ref());
        if let Some(mut handed) = wanted.and_then(|wanted| wanted.place.lock().ok()) {
            *handed = place;
        }
    }

    /// The daemon before this one ended in the middle of something.
    pub(super) async fn mend(&mut self) {
        self.torn = false;
        // What is told of the turn makes an agent idle again that is gone.
        let gone = self.summary.driver.is_some() && self.summary.status == SessionStatus::Exited;
        self.look().await;
        self.follow = None;
        let no = self.no;
        let turn = self.log.read(move |connection| log::last_turn(connection, no)).await;
        let mut events = Vec::new();
        if let Ok(Some((_, false))) = turn {
            let kind = EventKind::TurnEnded {
                stop_reason: StopReason::Error,
                duration_ms: None,
                tool_calls: None,
                error: None,
            };
            events.push(Event::new(Source::Pollux, kind).derived("Pollux restarted"));
        }
        if gone {
            let reason = "the agent exited while Pollux was not running".to_owned();
            events.push(Event::new(Source::Pollux, EventKind::SessionEnded { reason }));
        }
        if !events.is_empty() {
            self.record(events).await;
        }
    }

    /// The agent of before is gone by now, and has written what it had heard: the prompt that waits first may be among it.
    pub(super) async fn look_for_first(&mut self) {
        if self.is_in_doubt() {
            self.look().await;
            self.follow = None;
        }
    }

    pub(super) fn is_at_rest(&self) -> bool {
        matches!(self.session.state().status, SessionStatus::Idle | SessionStatus::Exited)
    }

    /// Looks at a file that has grown while the session was at work, once it is at rest.
    pub(super) async fn look_where_unseen(&mut self) {
        if self.left == Left::Writing && self.is_at_rest() {
            self.left = Left::Somebody;
            self.look_anew().await;
        }
    }

    /// Reads the whole file once more: it was written anew, or by somebody else than our agent.
    pub(super) async fn look_anew(&mut self) {
        self.follow = None;
        self.look().await;
        self.follow = None;
    }

    /// Reads what the session's file has more than the log.
    pub(super) async fn look(&mut self) {
        let Some(path) = self.path().await else { return };
        let first = self.follow.is_none();
        let mut follow = self.follow.take().unwrap_or_else(|| Follow::new(path));
        let read = tokio::task::spawn_blocking(move || {
            let mut events = follow.poll();
            while follow.is_behind() {
                events.extend(follow.poll());
            }
            (follow, events)
        });
        let Ok((follow, mut events)) = read.await else { return };
        if first {
            let no = self.no;
            match self.log.read(move |connection| log::told(connection, no)).await {
                Ok(told) => events = missing(told, events, self.wanted.is_none()),
                // All of it would be told a second time. The next look begins anew.
                Err(error) => {
                    let id = &self.summary.id;
                    return tracing::error!(session = %id, "could not read the session file: {error:#}");
                }
            }
        }
        let news = !events.is_empty();
        for part in parts(events) {
            self.record(part).await;
        }
        self.follow = Some(follow);
        if news {
            // Once for all of it: a file may have been read for the first time.
            self.recount(false).await;
            self.feed.set_summary(self.summary.clone());
        }
    }

    /// The same in the file that is the session's now: it may have had another one before, or none.
    pub(super) async fn look_in(&mut self, file: PathBuf) {
        if self.file.as_ref() != Some(&file) {
            (self.file, self.follow) = (Some(file), None);
        }
        self.look().await;
    }

    pub(super) async fn path(&mut self) -> Option<PathBuf> {
        // A session that is gone on with may be written to another file than before.
        if self.wanted.is_some() {
            let (agents, id) = (self.agents.clone(), self.summary.agent_id.clone()?);
            let terminal = self.wanted.as_ref().and_then(|wanted| wanted.found.clone());
            let index = self.index.clone();
            let found = tokio::task::spawn_blocking(move || {
                agents.file_of(&id, terminal.as_ref(), index.as_deref())
            });
            self.file = found.await.ok().flatten();
        }
        self.file.clone()
    }
}

/// What is much is written in parts.
fn parts(events: Vec<Event<'static>>) -> Vec<Vec<Event<'static>>> {
    let mut parts = Vec::new();
    let mut events = events.into_iter().peekable();
    while events.peek().is_some() {
        parts.push(events.by_ref().take(AT_ONCE).collect());
    }
    parts
}
