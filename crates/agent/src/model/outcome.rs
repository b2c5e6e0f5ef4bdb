//! What came of a run, or of one turn of a session that lives.

use super::{Failure, Message, StopReason, Text, Usage};
use std::path::PathBuf;

/// What came of a run.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The session, where there was one.
    pub session_id: Option<String>,
    /// The file of the session, where it was found.
    pub session_file: Option<PathBuf>,
    /// All that the model said in its answers, with an empty line between two of them.
    pub text: String,
    /// The messages of this run.
    pub messages: Vec<Message<'static>>,
    /// The tokens of this run, as the CLI counts: what nobody sees is counted too.
    pub usage: Usage,
    /// The model that answered last.
    pub model: Option<Text<'static>>,
    /// Why it ended; nothing where the driver itself broke.
    pub stop_reason: Option<StopReason>,
    /// How often the model was asked.
    pub turns: u64,
    /// What went wrong.
    pub error: Option<Failure>,
}
