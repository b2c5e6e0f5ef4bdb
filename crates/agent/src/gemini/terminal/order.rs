//! What a live agent can be told to do.

use super::words::Words;
use crate::model::{Failure, Mode};
use std::path::PathBuf;
use tokio::sync::oneshot;

/// What becomes of a prompt while the agent works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Busy {
    /// It is not sent.
    Refuse,
    /// It is sent when the agent is done.
    #[default]
    Wait,
    /// The CLI takes it now, and gives it to the model when the turn is over.
    Queue,
}

/// An order, and who waits for what comes of it.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) kind: Kind,
    pub(super) done: oneshot::Sender<Result<(), Failure>>,
}

#[derive(Debug)]
pub(super) enum Kind {
    Send { words: Words, files: Vec<PathBuf>, busy: Busy },
    SendInDoubt(Words),
    Ready(Busy),
    Answer { question: Option<String>, choice: String, reason: Option<String> },
    Interrupt { drop_queued: bool },
    Mode(Mode),
    Model(String),
    Hook(String),
    Whole,
    Stop,
}

impl Kind {
    /// Whether it waits until the agent is done.
    pub(super) fn waits(&self) -> bool {
        matches!(self, Self::Send { busy: Busy::Wait, .. } | Self::Ready(Busy::Wait))
    }
}
