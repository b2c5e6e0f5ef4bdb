//! A question: the agent waits for somebody. An answer is one of the options that it offered.

use super::{Meaning, Text};
use serde::{Deserialize, Serialize};

/// The agent waits for somebody.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema), ts(optional_fields))]
pub struct Question<'a> {
    /// Its id, which an answer names. Made by the driver, never the same twice while one process of the agent lives.
    pub id: Text<'a>,
    /// What it is about.
    pub kind: QuestionKind,
    /// The call that waits for the answer, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<Text<'a>>,
    /// The agent's own name of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Text<'a>>,
    /// The question, in the agent's words.
    pub text: Text<'a>,
    /// What would be done: the command, or the change as a diff.
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
    /// What can be answered, in the order in which it was offered.
    pub options: Vec<Choice<'a>>,
}

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// May it run this command?
    Command,
    /// May it make this change?
    Edit,
    /// May it fetch this address?
    Fetch,
    /// May it call this tool of an MCP server?
    Mcp,
    /// Is this plan right?
    Plan,
    /// Something that the model itself wants to know.
    Choice,
    /// Is this folder trusted?
    Trust,
    /// Who is there?
    SignIn,
    /// The quota is used up, or the model is not there: what now?
    Quota,
    /// It seems to go in circles: shall it go on?
    Loop,
    /// Shall it end?
    Quit,
    /// Anything else.
    Other,
}

/// One thing that can be answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
pub struct Choice<'a> {
    /// Its id, in the agent's words where it has one.
    pub id: Text<'a>,
    /// What a person reads.
    pub label: Text<'a>,
    /// What it does.
    pub effect: Effect,
}

/// What a choice does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Yes, this time.
    AllowOnce,
    /// Yes, and do not ask again.
    AllowAlways,
    /// No.
    RejectOnce,
    /// No, and do not ask again.
    RejectAlways,
    /// An answer in words of one's own: they are the reason that comes with it, and it wants one.
    Words,
    /// Neither: a choice among things.
    Other,
}

/// What became of a question.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema), ts(optional_fields))]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Answer<'a> {
    /// One of its options was chosen.
    Chosen {
        /// The id of the choice.
        choice: Text<'a>,
        /// What was said with it.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Text<'a>>,
    },
    /// Nobody answered it: the turn was stopped, or the agent went away.
    Cancelled,
    /// Somebody answered it where we do not see what was chosen, such as in the agent's own terminal.
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
