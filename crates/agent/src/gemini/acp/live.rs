//! A session over ACP that lives: its events, what steers it, and its end, which leaves the session file whole.

use crate::acp::{Agent, Control, Opened, Session};
use crate::gemini::transcript::resume::Guard;
use crate::model::{Event, Outcome};
use std::collections::VecDeque;
use std::path::Path;

/// A session of Gemini CLI that lives. Dropping it ends the CLI, and all that it started, at once.
#[derive(Debug)]
pub struct Live {
    pub(super) session: Session,
    pub(super) agent: Agent,
    pub(super) guard: Option<Guard>,
    /// What was to be said before the CLI said anything.
    pub(super) early: VecDeque<Event<'static>>,
}

impl Live {
    /// The next event; none when the CLI is gone.
    pub async fn next(&mut self) -> Option<Event<'static>> {
        match self.early.pop_front() {
            Some(event) => Some(event),
            None => self.session.next().await,
        }
    }

    /// What steers the session, from anywhere.
    pub fn control(&self) -> Control {
        self.session.control()
    }

    /// What the CLI said when it opened the session: modes, models.
    pub fn opened(&self) -> &Opened {
        self.session.opened()
    }

    /// The process behind it, which may have more sessions.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// What came of the last turn, once its `turn_ended` was told. To be taken once.
    pub fn outcome(&mut self) -> Option<Outcome> {
        self.session.outcome()
    }

    /// Ends the CLI, and takes away what would make its next start delete the session. A session that is gone all the
    /// same is put back as it was before, and that is an error.
    pub async fn close(self) -> std::io::Result<()> {
        let Self { session, agent, guard, .. } = self;
        agent.close().await;
        drop(session);
        let Some(guard) = guard else { return Ok(()) };
        let moved = guard.move_stubs();
        if guard.is_gone() {
            guard.put_back()?;
            let copy = guard.copy().display().to_string();
            let message =
                format!("the session file was deleted and restored from its copy ({copy})");
            return Err(std::io::Error::other(message));
        }
        moved.map(drop)
    }

    /// The copy that was kept of a session that is gone on with.
    pub fn copy(&self) -> Option<&Path> {
        self.guard.as_ref().map(Guard::copy)
    }
}
