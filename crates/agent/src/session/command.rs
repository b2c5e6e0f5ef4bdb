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

/// What a person or a program asks of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Command {
    /// A prompt. While the agent works it waits in the queue.
    Prompt {
        /// The text.
        text: String,
        /// Pictures that belong to it, by the names that they were given when they were sent.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", ts(as = "Option<Vec<String>>", optional))]
        images: Vec<String>,
    },
    /// An answer to a question.
    Answer {
        /// Which question.
        question_id: String,
        /// The id of the choice.
        choice: String,
        /// What is said with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", ts(optional))]
        reason: Option<String>,
        /// The hash of the question as it was shown. Without it nothing is checked but the id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", ts(optional))]
        shown: Option<String>,
    },
    /// Stop the turn.
    Interrupt,
    /// Another mode.
    Mode {
        /// Which one.
        mode: Mode,
        /// For how many seconds; then the mode before comes back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", ts(optional))]
        seconds: Option<u32>,
    },
    /// Another model.
    Model {
        /// Which one, in the agent's words.
        model: String,
    },
    /// Another text for a prompt that waits.
    Edit {
        /// The id of the command that brought it.
        queued: String,
        /// The new text.
        text: String,
    },
    /// Take back a prompt that waits.
    Cancel {
        /// The id of the command that brought it.
        queued: String,
    },
    /// Keys for the agent's own screen, as a person presses them. Whoever may press keys may do everything.
    Keys {
        /// A text to type first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", ts(optional))]
        text: Option<String>,
        /// Then these keys: `Enter`, `Escape`, `Up`, `C-c` and so on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", ts(as = "Option<Vec<String>>", optional))]
        keys: Vec<String>,
    },
    /// Another size for the window of the agent's own screen, until it is given back.
    Fit {
        /// How wide.
        columns: u16,
        /// How high.
        rows: u16,
    },
    /// The size that the window had before; it follows the terminal at the desk again.
    GiveBack,
    /// Go on with the queue, which waits after a turn that was stopped or failed.
    Continue,
    /// End the agent.
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
        /// A text to type first.
        text: Option<String>,
        /// Then these keys.
        keys: Vec<String>,
    },
    /// Another size for its window.
    Fit {
        /// How wide.
        columns: u16,
        /// How high.
        rows: u16,
    },
    /// The size that its window had before.
    GiveBack,
    /// An answer.
    Answer {
        /// Which question.
        question_id: String,
        /// The id of the choice.
        choice: String,
        /// What is said with it.
        reason: Option<String>,
    },
    /// Stop the turn.
    Interrupt,
    /// Another mode.
    Mode(Mode),
    /// Another model.
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

/// What the sender of a command is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It is done, or on its way to the agent.
    Done(Done),
    /// The rules turn it down.
    Refused(Refusal),
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, utoipa::ToSchema))]
#[serde(tag = "done", rename_all = "snake_case")]
pub enum Done {
    /// It was handed to the agent.
    Sent,
    /// It waits until the agent has time.
    Queued {
        /// The id by which it can be edited and taken back.
        id: String,
        /// How many wait before it.
        before: usize,
    },
    /// The question has an answer.
    Answered {
        /// What became of it.
        #[serde(flatten)]
        outcome: Outcome,
        /// True where it is the answer of this command; false where somebody was faster.
        yours: bool,
    },
    /// A prompt that waits has another text.
    Edited,
    /// A prompt that waited does so no more.
    Cancelled,
}

/// What became of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, utoipa::ToSchema))]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// One of its options was chosen.
    Chosen {
        /// The id of the choice.
        choice: String,
        /// Who chose it, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", ts(optional))]
        by: Option<String>,
    },
    /// Nobody answered it in time.
    Cancelled,
    /// It was answered in the agent's own terminal.
    Elsewhere,
}

/// A command that the rules turn down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, utoipa::ToSchema))]
pub struct Refusal {
    /// One word for programs, such as `unknown_choice`.
    pub code: String,
    /// Why, for people.
    pub message: String,
    /// What to do instead.
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
