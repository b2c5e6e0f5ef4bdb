//! A question: the agent waits for somebody. An answer is one of the options that it offered.

use super::{Meaning, Text};
use serde::{Deserialize, Serialize};

/// The agent asks a question and waits for the answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema), ts(optional_fields))]
pub struct Question<'a> {
    /// The id, used to answer it. Unique within one process of the agent.
    pub id: Text<'a>,
    /// The kind of question.
    pub kind: QuestionKind,
    /// The id of the tool call that waits for the answer, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<Text<'a>>,
    /// The agent's name of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Text<'a>>,
    /// The text of the question.
    pub text: Text<'a>,
    /// What the tool call would do: the command, or the change as a diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meaning: Option<Box<Meaning>>,
    /// The arguments of the call, in the agent's words, as far as they can be known. Not part of the event: they are
    /// concluded from what the agent shows, and `meaning` says the same with its sources.
    #[serde(skip)]
    pub input: Option<Box<serde_json::Value>>,
    /// The request that asks it, as the agent made it: for who asks it on. Not part of the event, and none where the agent
    /// makes no requests.
    #[serde(skip)]
    pub request: Option<Box<serde_json::Value>>,
    /// The choices, in the agent's order.
    pub options: Vec<Choice<'a>>,
}

/// The kind of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// Asks to run a command.
    Command,
    /// Asks to change a file.
    Edit,
    /// Asks to fetch a URL.
    Fetch,
    /// Asks to call an MCP tool.
    Mcp,
    /// Asks to approve a plan.
    Plan,
    /// A question from the model.
    Choice,
    /// Asks if the folder is trusted.
    Trust,
    /// Asks to sign in.
    SignIn,
    /// Asks what to do about a used-up quota or an unavailable model.
    Quota,
    /// Asks if it should continue despite a possible loop.
    Loop,
    /// Asks if it should quit.
    Quit,
    /// Anything else.
    Other,
}

/// A choice of a question.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
pub struct Choice<'a> {
    /// The id of the choice, from the agent if it has one.
    pub id: Text<'a>,
    /// The label to display.
    pub label: Text<'a>,
    /// The effect of the choice.
    pub effect: Effect,
}

/// The effect of a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Allow once.
    AllowOnce,
    /// Allow and do not ask again.
    AllowAlways,
    /// Reject once.
    RejectOnce,
    /// Reject and do not ask again.
    RejectAlways,
    /// A free-text answer, which is sent as the reason and is required.
    Words,
    /// Anything else, such as one item of a list.
    Other,
}

/// The outcome of a question.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema), ts(optional_fields))]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Answer<'a> {
    /// One of its options was chosen.
    Chosen {
        /// The id of the choice.
        choice: Text<'a>,
        /// The reason that was sent with the answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Text<'a>>,
    },
    /// No answer was given: the turn was cancelled, or the agent exited.
    Cancelled,
    /// It was answered elsewhere, such as in the agent's terminal; the choice is unknown.
    Elsewhere,
}

impl Question<'_> {
    /// The same question, owned.
    pub fn into_owned(self) -> Question<'static> {
        Question {
            id: self.id.into_owned(),
            kind: self.kind,
            tool_id: self.tool_id.map(Text::into_owned),
            tool: self.tool.map(Text::into_owned),
            text: self.text.into_owned(),
            meaning: self.meaning,
            input: self.input,
            request: self.request,
            options: self.options.into_iter().map(Choice::into_owned).collect(),
        }
    }
}

impl Choice<'_> {
    /// The same choice, owned.
    pub fn into_owned(self) -> Choice<'static> {
        Choice { id: self.id.into_owned(), label: self.label.into_owned(), effect: self.effect }
    }
}

impl Answer<'_> {
    /// The same answer, owned.
    pub fn into_owned(self) -> Answer<'static> {
        match self {
            Self::Chosen { choice, reason } => {
                Answer::Chosen { choice: choice.into_owned(), reason: reason.map(Text::into_owned) }
            }
            Self::Cancelled => Answer::Cancelled,
            Self::Elsewhere => Answer::Elsewhere,
        }
    }
}
