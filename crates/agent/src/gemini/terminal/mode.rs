//! Changing the mode and the model of a live agent, each seen on its screen.

use super::act::refusal;
use super::order::Busy;
use super::words::{Words, bare};
use super::work::Work;
use crate::model::{Failure, Mode, SessionStatus};
use std::time::Duration;

/// How long the CLI may take to show another mode.
const SHOWN: Duration = Duration::from_secs(3);
/// How long a screen may take to stand still; that of an agent that works never does.
const STILL: Duration = Duration::from_millis(400);
/// What the CLI says when it has another model.
const SET: &str = "Model set to";
/// How many modes can be gone through with one key.
const MODES: usize = 4;

impl Work {
    /// Changes the mode: Ctrl+Y for `yolo`, Shift+Tab through the others, as far as this version has them.
    pub(super) async fn set_mode(&mut self, mode: Mode) -> Result<(), Failure> {
        self.has_begun().await?;
        if self.status() == SessionStatus::Waiting {
            let message = "the mode cannot be changed while the agent waits for an answer";
            return Err(refusal("question_open", message, "answer it first"));
        }
        self.until(SHOWN, |work| work.reading.mode.is_some()).await;
        if self.reading.mode == Some(mode) {
            return Ok(());
        }
        if mode == Mode::Yolo || self.reading.mode == Some(Mode::Yolo) {
            self.change("C-y").await;
        }
        for _ in 0..MODES {
            if self.reading.mode == Some(mode) || mode == Mode::Yolo || !self.change("BTab").await {
                break;
            }
        }
        if self.reading.mode == Some(mode) {
            return Ok(());
        }
        let shown = self.reading.mode.map_or("unknown", Mode::upstream);
        let message = format!(
            "cannot leave the mode {shown}: this CLI does not offer {} here",
            mode.upstream()
        );
        Err(refusal("no_such_mode", message, "start a new session with that mode"))
    }

    /// Presses a key that changes the mode. False where nothing changed.
    async fn change(&mut self, key: &str) -> bool {
        let before = self.reading.mode;
        let other = |work: &Self| work.reading.mode.is_some() && work.reading.mode != before;
        // A key that comes while the CLI draws the last change may be lost.
        for _ in 0..2 {
            self.until(STILL, Self::is_settled).await;
            if self.pane.press(&[key]).await.is_ok() && self.until(SHOWN, other).await {
                return true;
            }
        }
        false
    }

    /// Changes the model.
    pub(super) async fn set_model(&mut self, model: &str) -> Result<(), Failure> {
        if model.trim().is_empty() || model.contains(char::is_whitespace) {
            return Err(refusal(
                "no_such_model",
                "a model name must not be empty or contain spaces",
                "choose another name",
            ));
        }
        let before = self.reading.model.clone();
        self.enter(&Words::Command(format!("/model set {model}")), &[], Busy::Refuse).await?;
        let is_set = |work: &Self| match (&before, &work.reading.model) {
            (_, Some(shown)) if shown.contains(model) => true,
            (Some(before), Some(shown)) => shown != before,
            // A narrow window has no room for the model.
            _ => work.says(&format!("{SET} {model}")),
        };
        if self.until(SHOWN, is_set).await {
            return Ok(());
        }
        let shown = self.reading.model.as_deref().unwrap_or("the previous model");
        let message = format!("Gemini CLI still shows {shown}");
        Err(refusal("not_accepted", message, "check its screen with `pollux screen`"))
    }

    /// Whether a text stands on the screen, wrapped or not.
    fn says(&self, text: &str) -> bool {
        bare(&self.text()).contains(&bare(text))
    }
}
