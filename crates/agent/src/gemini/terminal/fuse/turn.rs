//! The turn of a live session, and how it is known. Pure.

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
    /// The same, by the session file alone.
    Recorded,
    /// Its answer too, by the session file alone: it is over as soon as the screen stands still.
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
