//! A prompt of which it is not known whether the agent has it: Pollux was ended while it handed it over, or the agent was. It
//! is sent again only where it is known that it did not arrive.

use super::super::command::Effect;
use super::super::queue::Queued;
use super::super::said::notice;
use super::Session;
use crate::model::{Level, SessionStatus};
use unicode_width::UnicodeWidthChar;

impl Session {
    /// Somebody has said this to the agent. The prompt in doubt that says the same has arrived, and waits no more.
    pub(super) fn is_said(&mut self, text: &str) {
        let first = self.queue.waiting.first().filter(|first| first.doubt);
        let arrived = first.is_some_and(|first| {
            // What the files hold that a prompt names stands below it.
            let whole = text.trim_start().strip_prefix(first.text.trim());
            bare(text) == bare(&first.text) || whole.is_some_and(|rest| rest.starts_with('\n'))
        });
        if arrived {
            self.queue.waiting.remove(0);
            self.queue.held &= !self.queue.waiting.is_empty();
        }
    }

    /// The prompt in doubt was handed to the driver, and the agent had it: nothing was sent.
    pub fn had_arrived(&mut self) -> Vec<Effect> {
        self.is_not_sent();
        self.next()
    }

    /// The prompt in doubt was handed to the driver, and nothing says whether the agent had it. It is not sent again, and
    /// that is told; what waits behind it waits until somebody has looked.
    pub fn is_not_known(&mut self) -> Vec<Effect> {
        let Some(text) = self.is_not_sent() else { return Vec::new() };
        self.queue.held = !self.queue.waiting.is_empty();
        let text = format!(
            "cannot tell if the agent received a prompt before Pollux or the agent stopped; it is not sent again: {text:?}"
        );
        vec![notice(Level::Warning, text)]
    }

    /// The agent is gone. What it had not begun with waits until somebody goes on with the session, and that is told; the
    /// prompt that was on its way to it may have arrived.
    pub(super) fn untaken(&mut self) -> Option<Effect> {
        if let Some(sending) = self.sending.take() {
            self.queue.waiting.insert(0, Queued { doubt: true, ..sending });
        }
        self.queue.held = !self.queue.waiting.is_empty();
        if self.status == SessionStatus::Exited {
            // It was told.
            return None;
        }
        let text = &self.queue.waiting.first()?.text;
        let text = match self.queue.waiting.len() {
            1 => {
                format!(
                    "the agent exited before it started a prompt, which stays in the queue: {text:?}"
                )
            }
            many => format!(
                "the agent exited before it started {many} prompts, which stay in the queue; the first: {text:?}"
            ),
        };
        Some(notice(Level::Warning, text))
    }

    /// Takes back that the prompt in doubt is on its way. None where the agent has begun a turn meanwhile.
    fn is_not_sent(&mut self) -> Option<String> {
        let queued = self.sending.take_if(|sending| sending.doubt)?;
        if self.status == SessionStatus::Working {
            self.status = SessionStatus::Idle;
        }
        Some(queued.text)
    }
}

/// Words without blanks, and without what is not seen: a driver may put that before a prompt that would be taken for a command.
fn bare(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && c.width() != Some(0)).collect()
}
