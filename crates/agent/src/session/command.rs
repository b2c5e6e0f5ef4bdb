//! What can be asked of a session, and what comes of it.

use crate::model::{Event, Mode};
use serde::{Deserialize, Serialize};

/// A command, with the id by which its sender will know it again, and who sent it.
#[derive(Debug, Clone)]
pub struct Request {
    /// Chosen by the sender. The same id once more is the same command once more, and is not run twice.
    pub id: String,
    /// Who asks.
    pub by: By,
    /// What is asked.
    pub command: Command,
}

/// Who sent a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct By {
    /// A name for people, such as that of a device.
    pub name: String,
    /// True where it did not come from the user's own account on this machine.
    pub remote: bool,
}

impl By {
    /// The user, on this machine.
    pub fn owner() -> Self {
        Self { name: "owner".into(), remote: false }
    }

    /// Somebody on another device.
    pub fn device(name: impl Into<String>) -> Self {
        Self { name: name.into(), remote: true }
    }
}

/// A command that a client sends to a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Command {
    /// Sends a prompt. It is queued while the agent works.
    Prompt {
        /// The text.
        text: String,
        /// Images of the prompt, by the names that the upload returned.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", ts(as = "Option<Vec<String>>", optional))]
        images: Vec<String>,
    },
    /// Answers a question.
    Answer {
        /// The id of the question.
        question_id: String,
        /// The id of the choice.
        choice: String,
        /// The reason that is sent with the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", ts(optional))]
        reason: Option<String>,
        /// The hash of the question as displayed. If absent, only the id is checked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", ts(optional))]
        shown: Option<String>,
    },
    /// Cancels the current turn.
    Interrupt,
    /// Changes the mode.
    Mode {
        /// The new mode.
        mode: Mode,
        /// After this many seconds the previous mode is restored.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", ts(optional))]
        seconds: Option<u32>,
    },
    /// Changes the model.
    Model {
        /// The model's name, as the agent calls it.
        model: String,
    },
    /// Changes the text of a queued prompt.
    Edit {
        /// The id of the command that sent the prompt.
        queued: String,
        /// The new text.
        text: String,
    },
    /// Cancels a queued prompt.
    Cancel {
        /// The id of the command that sent the prompt.
        queued: String,
    },
    /// Sends keys to the agent's terminal. A client that may send keys can do everything.
    Keys {
        /// Text to type first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", ts(optional))]
        text: Option<String>,
        /// Keys to press afterwards: `Enter`, `Escape`, `Up`, `C-c` and so on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", ts(as = "Option<Vec<String>>", optional))]
        keys: Vec<String>,
    },
    /// Resizes the agent's terminal window until the size is restored.
    Fit {
        /// Width in columns.
        columns: u16,
        /// Height in rows.
        rows: u16,
    },
    /// Restores the window size, which follows the attached terminal again.
    GiveBack,
    /// Resumes the queue, which pauses after a cancelled or failed turn.
    Continue,
    /// Stops the agent.
    Stop,
}

impl Command {
    /// A prompt of words.
    pub fn prompt(text: impl Into<String>) -> Self {
        Self::Prompt { text: text.into(), images: Vec::new() }
    }
}

/// What we tell the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// A prompt.
    Prompt {
        /// The text.
        text: String,
        /// Pictures that belong to it.
        images: Vec<String>,
        /// True where it may have reached the agent already.
        doubt: bool,
    },
    /// Keys for its own screen.
    Keys {
        /// Text to type first.
        text: Option<String>,
        /// Then these keys.
        keys: Vec<String>,
    },
    /// Another size for its window.
    Fit {
        /// Width in columns.
        columns: u16,
        /// Height in rows.
        rows: u16,
    },
    /// The size that its window had before.
    GiveBack,
    /// An answer.
    Answer {
        /// The id of the question.
        question_id: String,
        /// The id of the choice.
        choice: String,
        /// The reason that is sent with the answer.
        reason: Option<String>,
    },
    /// Cancels the current turn.
    Interrupt,
    /// Changes the mode.
    Mode(Mode),
    /// Changes the model.
    Model(String),
    /// End.
    Stop,
}

impl Order {
    /// A prompt of words.
    pub fn prompt(text: impl Into<String>) -> Self {
        Self::Prompt { text: text.into(), images: Vec::new(), doubt: false }
    }
}

/// What the rules want done, in this order.
#[derive(Debug, Clone)]
pub enum Effect {
    /// Something for the agent.
    Order(Order),
    /// A fact for the log.
    Record(Box<Event<'static>>),
}

/// The reply to a command, and what is to be done about it.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// What the sender is told.
    pub reply: Reply,
    /// What is to be done.
    pub effects: Vec<Effect>,
}

/// The reply to a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Pollux accepted the command.
    Done(Done),
    /// Pollux's rules rejected the command.
    Refused(Refusal),
}

/// What an accepted command did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, utoipa::ToSchema))]
#[serde(tag = "done", rename_all = "snake_case")]
pub enum Done {
    /// It was sent to the agent.
    Sent,
    /// It is queued until the agent is idle.
    Queued {
        /// The id for editing or cancelling it.
        id: String,
        /// The number of prompts queued before it.
        before: usize,
    },
    /// The question has an answer.
    Answered {
        /// The outcome of the question.
        #[serde(flatten)]
        outcome: Outcome,
        /// True if this command gave the answer; false if another client was faster.
        yours: bool,
    },
    /// The text of a queued prompt was changed.
    Edited,
    /// A queued prompt was cancelled.
    Cancelled,
}

/// The outcome of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, utoipa::ToSchema))]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// One of its options was chosen.
    Chosen {
        /// The id of the choice.
        choice: String,
        /// The name of the client that chose it, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", ts(optional))]
        by: Option<String>,
    },
    /// The question was withdrawn without an answer.
    Cancelled,
    /// It was answered in the agent's own terminal.
    Elsewhere,
}

/// A command that Pollux's rules rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, utoipa::ToSchema))]
pub struct Refusal {
    /// A machine-readable code, such as `unknown_choice`.
    pub code: String,
    /// A human-readable reason.
    pub message: String,
    /// A suggested fix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub hint: Option<String>,
}

/// A refusal with a hint.
pub fn refused(code: &str, message: impl Into<String>, hint: &str) -> Reply {
    let hint = (!hint.is_empty()).then(|| hint.to_owned());
    Reply::Refused(Refusal { code: code.into(), message: message.into(), hint })
}

impl Verdict {
    pub(super) fn done(done: Done, effects: Vec<Effect>) -> Self {
        Self { reply: Reply::Done(done), effects }
    }

    pub(super) fn refused(code: &str, message: impl Into<String>, hint: &str) -> Self {
        Self { reply: refused(code, message, hint), effects: Vec::new() }
    }
}
