//! Prompts that wait until the agent has time.

use serde::{Deserialize, Serialize};

/// A queued prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, utoipa::ToSchema))]
pub struct Queued {
    /// The id of the command that sent it.
    pub id: String,
    /// The text.
    pub text: String,
    /// The name of the sender.
    pub by: String,
    /// Images of the prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", ts(as = "Option<Vec<String>>", optional))]
    pub images: Vec<String>,
    /// True if it may have reached the agent, because Pollux stopped during the delivery.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schema", ts(as = "Option<bool>", optional))]
    pub doubt: bool,
}

/// The prompts that wait, first come first served.
#[derive(Debug, Clone, Default)]
pub(super) struct Queue {
    pub(super) waiting: Vec<Queued>,
    /// True after a turn that was stopped or failed: whoever stopped it did not mean "and now the next".
    pub(super) held: bool,
    /// True where somebody said "go on" before a turn that was stopped had ended: it does not hold the queue again.
    pub(super) released: bool,
}

impl Queue {
    pub(super) fn find(&mut self, id: &str) -> Option<&mut Queued> {
        self.waiting.iter_mut().find(|queued| queued.id == id)
    }

    pub(super) fn cancel(&mut self, id: &str) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|queued| queued.id != id);
        // Where nothing waits, nothing waits for somebody.
        self.held &= !self.waiting.is_empty();
        self.waiting.len() < before
    }

    pub(super) fn next(&mut self) -> Option<Queued> {
        if self.held || self.waiting.is_empty() {
            return None;
        }
        Some(self.waiting.remove(0))
    }
}
