//! A session, as a client sees it.

use jiff::Timestamp;
use pollux_agent::model::{Mode, SessionStatus};
use pollux_agent::session::{Outcome, Queued};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::path::PathBuf;
use ts_rs::TS;
use utoipa::ToSchema;

/// How Pollux drives the agent.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    TS,
    ToSchema,
    clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Driver {
    /// A new process for each prompt; the agent cannot ask questions
    Headless,
    /// One process per session (Agent Client Protocol); can ask questions and change mode or model
    #[default]
    Acp,
    /// The agent's own terminal UI, in tmux; you can attach and type too
    Terminal,
}

/// A summary of a session.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Summary {
    /// ID in Pollux, which never changes.
    pub id: String,
    /// Increases with each change of this summary. Ignore a summary with a lower version than the one you have.
    pub version: u64,
    /// The agent's ID of the session, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// How Pollux drives the agent; absent if the session runs outside Pollux and is read-only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Driver>,
    /// Working directory of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<String>")]
    #[schema(value_type = Option<String>)]
    pub cwd: Option<PathBuf>,
    /// Git branch at the time of the last message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Title of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Status of the agent.
    pub status: SessionStatus,
    /// Permission mode.
    pub mode: Mode,
    /// When the mode expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<String>")]
    #[schema(value_type = Option<String>)]
    pub mode_until: Option<Timestamp>,
    /// Name of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Time of the last output, if a working agent has been silent for too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<String>")]
    #[schema(value_type = Option<String>)]
    pub stalled_since: Option<Timestamp>,
    /// Since when the session cannot be recorded because the disk is full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<String>")]
    #[schema(value_type = Option<String>)]
    pub unwritten_since: Option<Timestamp>,
    /// Pending questions.
    pub questions: Vec<OpenQuestion>,
    /// Queued prompts.
    pub queue: Vec<Queued>,
    /// True if the queue is paused until a client sends `continue`.
    pub held: bool,
    /// The prompt that was sent to the agent, until the agent confirms it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sending: Option<Queued>,
    /// Sequence number of the last event.
    pub seq: u64,
    /// Number of times that the history has been rewritten since the session started.
    pub epoch: u64,
    /// Number of messages.
    pub messages: u64,
    /// Total number of tokens.
    pub tokens: u64,
    /// Context window usage, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// The latest activity, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    /// When the session started.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub created_at: Timestamp,
    /// When the session last changed.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub updated_at: Timestamp,
}

impl Summary {
    /// A session of which nothing is known yet.
    pub fn empty(now: Timestamp) -> Self {
        Self {
            id: String::new(),
            version: 1,
            agent_id: None,
            driver: None,
            cwd: None,
            branch: None,
            title: None,
            status: SessionStatus::Starting,
            mode: Mode::Default,
            mode_until: None,
            model: None,
            stalled_since: None,
            unwritten_since: None,
            questions: Vec::new(),
            queue: Vec::new(),
            held: false,
            sending: None,
            seq: 0,
            epoch: 0,
            messages: 0,
            tokens: 0,
            context: None,
            activity: None,
            created_at: now,
            updated_at: now,
        }
    }
}

/// Context window usage of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Context {
    /// Tokens of the last answer and everything before it.
    pub tokens: u64,
    /// Size of the context window in tokens, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// A pending question.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct OpenQuestion {
    /// The complete question.
    #[ts(as = "pollux_agent::model::Question<'static>")]
    #[schema(value_type = Object)]
    pub question: Box<RawValue>,
    /// Hash of the question as displayed. An answer with this hash is valid for this question only.
    pub shown: String,
    /// The answer that was sent but that the agent has not confirmed yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Outcome>,
}

/// Output that is not part of a message yet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS, ToSchema)]
pub struct Live {
    /// Parts in order of arrival.
    pub parts: Vec<LivePart>,
}

/// A part of a message in progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[ts(optional_fields)]
pub enum LivePart {
    /// The prompt of this turn.
    Prompt {
        /// Text of the prompt.
        text: String,
    },
    /// Text of the answer.
    Text {
        /// The text so far.
        text: String,
    },
    /// Thoughts of the model.
    Thinking {
        /// The text so far.
        text: String,
    },
    /// A tool call.
    Tool {
        /// ID of the call.
        id: String,
        /// The agent's name of the tool.
        name: String,
        /// The arguments.
        #[schema(value_type = Object)]
        #[ts(type = "unknown")]
        input: serde_json::Value,
        /// What the call does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>)]
        #[ts(as = "Option<pollux_agent::model::Meaning>")]
        meaning: Option<serde_json::Value>,
        /// Final status, once the call has ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<String>)]
        #[ts(as = "Option<pollux_agent::model::Status>")]
        status: Option<String>,
        /// Output of the call; only the end of long output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
    },
}
