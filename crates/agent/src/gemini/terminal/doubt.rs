//! Words of which it is not known whether the CLI has them: whoever sent them was ended meanwhile. What the input box,
//! the session file and the hooks say decides; where they say nothing, the words are not sent again.

use super::act::refusal;
use super::words::{Words, stands};
use super::work::Work;
use crate::model::{Failure, SessionStatus};
use std::time::Duration;

/// The code of the failure that says that the CLI had the words, and is done with them.
pub const HAD_ARRIVED: &str = "had_arrived";
/// The code of the failure that says that nobody can know whether the CLI had the words.
pub const NOT_KNOWN: &str = "not_known";

/// How long the CLI may take to show what it makes of keys that were pressed before we came.
const SHOWS: Duration = Duration::from_millis(1500);
/// How long an agent that works may take to say what it works on.
const SAYS: Duration = Duration::from_secs(10);
/// How long it may take to begin after it was seen to read its keys again.
const BEGINS: Duration = Duration::from_millis(300);

/// What is seen of the words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// They stand in the input box: nobody has pressed Enter, or nobody has taken it.
    Stand,
    /// The CLI has them, and will come to them.
    Wait,
    /// The agent was told them.
    Heard,
    /// The agent does something.
    Works,
}

impl Work {
    /// Sends words that may have arrived.
    pub(super) async fn send_in_doubt(&mut self, words: &Words) -> Result<(), Failure> {
        self.has_begun().await?;
        self.refresh().await?;
        self.read_file().await;
        let text = words.pasted();
        self.until(SHOWS, |work| work.sign(&text).is_some()).await;
        match self.sign(&text) {
            Some(Sign::Stand) => {
                self.fusion.sent(&text);
                self.submit(&text).await
            }
            Some(sign) => self.has_arrived(sign, &text).await,
            None if self.is_asked(&text) || !matches!(words, Words::Prompt(_)) => Err(not_known()),
            None => self.send_anew(&text).await,
        }
    }

    /// Sends words that nothing is seen of. An input box that shows a paste has dealt with all keys before it, so that a
    /// turn which these have begun is seen by then.
    async fn send_anew(&mut self, text: &str) -> Result<(), Failure> {
        self.has_no_draft().await?;
        self.paste(text).await?;
        let begun = |work: &Self| matches!(work.sign(text), Some(Sign::Heard | Sign::Works));
        if self.until(BEGINS, begun).await {
            self.clear_draft().await?;
            return self.has_arrived(Sign::Works, text).await;
        }
        self.fusion.sent(text);
        self.submit(text).await
    }

    /// The CLI has the words, or something else to do.
    async fn has_arrived(&mut self, sign: Sign, text: &str) -> Result<(), Failure> {
        if sign == Sign::Works {
            let told = |work: &Self| work.is_asked(text) || work.is_heard(text);
            if !self.until(SAYS, told).await {
                return Err(not_known());
            }
        }
        match self.status() {
            SessionStatus::Working | SessionStatus::Waiting => Ok(()),
            _ if sign == Sign::Wait => Ok(()),
            _ => Err(refusal(
                HAD_ARRIVED,
                "the agent already received this prompt",
                "check its answer",
            )),
        }
    }

    fn sign(&self, text: &str) -> Option<Sign> {
        let is = |shown: &str| stands(shown, text);
        if self.is_heard(text) {
            Some(Sign::Heard)
        } else if self.reading.draft.as_deref().is_some_and(is) {
            Some(Sign::Stand)
        } else if self.reading.queued.iter().any(|queued| is(queued)) {
            Some(Sign::Wait)
        } else {
            let works = matches!(self.status(), SessionStatus::Working | SessionStatus::Waiting);
            works.then_some(Sign::Works)
        }
    }

    /// Whether the file or a hook has told of the words since we came.
    fn is_heard(&self, text: &str) -> bool {
        self.fusion.has_heard(|heard| stands(heard, text))
    }

    /// Whether the words are the last that the screen shows as asked.
    fn is_asked(&self, text: &str) -> bool {
        self.reading.query.as_deref().is_some_and(|query| stands(query, text))
    }
}

fn not_known() -> Failure {
    let message = "cannot tell if the agent received the prompt";
    refusal(NOT_KNOWN, message, "check its screen with `pollux screen`")
}
