//! The turn of a live session, and how it is known. Pure.

use super::super::words::{bare, is_prompt, is_said};
use crate::model::{Event, EventKind, QuestionKind, SessionStatus};

/// A turn that goes on.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) known: Known,
    /// Somebody stopped it.
    pub(super) cancelled: bool,
}

/// What is known of a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Known {
    /// That there is one.
    #[default]
    Seen,
    /// Its prompt, which was told.
    Told,
    /// The same, by the session file or a hook alone.
    Recorded,
    /// Its answer or its end too, by the same: it is over as soon as the screen stands still.
    Answered,
}

impl Turn {
    pub(super) fn is_untold(&self) -> bool {
        self.known == Known::Seen
    }

    pub(super) fn is_unseen(&self) -> bool {
        matches!(self.known, Known::Recorded | Known::Answered)
    }
}

/// A prompt whose turn was not seen yet.
#[derive(Debug)]
pub(super) struct Early {
    pub(super) prompt: String,
    /// It was sent from here, and is no older one that was read only now.
    pub(super) ours: bool,
}

/// Whether a prompt that a hook tells of is that of a turn which was told: as it was sent, or as the screen shows it.
pub(super) fn is_of(prompt: &str, told: &str) -> bool {
    is_prompt(prompt, told) || is_said(&bare(prompt), &bare(told))
}

/// Whether this says that a turn goes on.
pub(super) fn is_at_work(event: &Event<'_>) -> bool {
    use SessionStatus::{Waiting, Working};
    let EventKind::SessionChanged(change) = &event.kind else { return false };
    matches!(change.status, Some(Working | Waiting))
}

/// Whether a question is asked by an agent that works, and by no other.
pub(super) fn is_of_turn(kind: QuestionKind) -> bool {
    use QuestionKind::{Command, Edit, Fetch, Mcp, Plan};
    matches!(kind, Command | Edit | Fetch | Mcp | Plan)
}
