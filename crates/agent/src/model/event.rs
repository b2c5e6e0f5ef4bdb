//! An event: a fact, in the past tense, with the source that it came from.

use super::{At, Level, Message, Text};
use serde::Serialize;

/// A fact about a session.
#[derive(Debug, Clone, Serialize)]
pub struct Event<'a> {
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind<'a>,
    /// The boundary that said so.
    pub source: Source,
    /// Set where the fact was concluded and not read: from what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derived: Option<&'static str>,
}

/// The boundary that an event came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A session file of the agent.
    SessionFile,
}

/// What happened.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventKind<'a> {
    /// A session exists.
    SessionStarted {
        /// Its id.
        session_id: Text<'a>,
        /// SHA-256 of the project's path, as the agent wrote it.
        #[serde(skip_serializing_if = "Option::is_none")]
        project_hash: Option<Text<'a>>,
        /// When it began.
        #[serde(skip_serializing_if = "Option::is_none")]
        started_at: Option<At>,
        /// `main` or `subagent`.
        #[serde(skip_serializing_if = "Option::is_none")]
        kind: Option<Text<'a>>,
    },
    /// Something about the session as a whole is different now.
    SessionChanged {
        /// What it is about, in the agent's words.
        title: Text<'a>,
    },
    /// A message was finished, or a finished one was completed.
    MessageRecorded {
        /// True where a message with this id was recorded before, and this one takes its place.
        changed: bool,
        /// The message.
        message: Box<Message<'a>>,
    },
    /// Messages that were recorded are no longer part of the conversation.
    HistoryRewritten {
        /// How often that has happened to this session.
        epoch: u64,
        /// Why.
        reason: Rewrite,
        /// The ids that are gone.
        removed: Vec<Text<'a>>,
    },
    /// Something to know.
    Notice {
        /// How bad it is.
        level: Level,
        /// What it is.
        text: String,
    },
    /// A line that could not be read. The next one was.
    Unread {
        /// Where, counted from one; nothing where the source has no lines.
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<u64>,
        /// Why.
        reason: String,
        /// The text.
        text: String,
    },
    /// Nothing more will come.
    SessionEnded {
        /// Why.
        reason: String,
    },
}

/// Why a history was rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rewrite {
    /// Somebody went back to an earlier message.
    Rewind,
    /// The agent replaced the whole list: a resume, a compression, a failed prompt taken back.
    Checkpoint,
    /// The file was replaced, cut, or written anew.
    Replaced,
}
