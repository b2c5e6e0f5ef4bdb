//! A session, as a client sees it.

use jiff::Timestamp;
use pollux_agent::model::{Mode, SessionStatus};
use pollux_agent::session::{Outcome, Queued};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::path::PathBuf;
use ts_rs::TS;
use utoipa::ToSchema;

/// How the agent is driven.
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
    /// One process for each prompt. It can ask nobody.
    Headless,
    /// The Agent Client Protocol: questions, modes and models while it lives.
    #[default]
    Acp,
    /// The agent's own screen in tmux, beside a person.
    Terminal,
}

/// What is to be known of a session without reading it.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Summary {
    /// Its id in Pollux, which never changes.
    pub id: String,
    /// Rises with each change of this summary: an older one never replaces a newer one.
    pub version: u64,
    /// The agent's own id of it, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// How it is driven; none where Pollux only reads what the agent writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Driver>,
    /// Where the agent works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<String>")]
    #[schema(value_type = Option<String>)]
    pub cwd: Option<PathBuf>,
    /// The git branch there, as it was when something was said last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the agent does.
    pub status: SessionStatus,
    /// What the agent may do without asking.
    pub mode: Mode,
    /// When that ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<String>")]
    #[schema(value_type = Option<String>)]
    pub mode_until: Option<Timestamp>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Since when nothing was heard of an agent that works, where that is too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<String>")]
    #[schema(value_type = Option<String>)]
    pub stalled_since: Option<Timestamp>,
    /// Since when nothing of it can be written down, because the disk is full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<String>")]
    #[schema(value_type = Option<String>)]
    pub unwritten_since: Option<Timestamp>,
    /// The questions that are open.
    pub questions: Vec<OpenQuestion>,
    /// The prompts that wait.
    pub queue: Vec<Queued>,
    /// True where they wait until somebody says `continue`.
    pub held: bool,
    /// The prompt that was handed to the agent, until the agent says that it works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sending: Option<Queued>,
    /// The number of its last event.
    pub seq: u64,
    /// How often its history was rewritten, counted from where it began.
    pub epoch: u64,
    /// How many messages it has.
    pub messages: u64,
    /// All tokens that were counted.
    pub tokens: u64,
    /// How much the model has in mind, where that was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// What happened last, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    /// When it began.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub created_at: Timestamp,
    /// When something happened last.
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

/// How much a model has in mind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Context {
    /// The tokens of the last answer, with all that was said before it.
    pub tokens: u64,
    /// How many the model can hold, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// A question that is open.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct OpenQuestion {
    /// The question, whole.
    #[ts(as = "pollux_agent::model::Question<'static>")]
    #[schema(value_type = Object)]
    pub question: Box<RawValue>,
    /// The hash of it. An answer that names it can release nothing else.
    pub shown: String,
    /// The answer that is on its way, where one is: the agent has not confirmed it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Outcome>,
}

/// What has not become a message yet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS, ToSchema)]
pub struct Live {
    /// In the order in which it came.
    pub parts: Vec<LivePart>,
}

/// A part of a message that is being made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[ts(optional_fields)]
pub enum LivePart {
    /// The prompt of this turn.
    Prompt {
        /// The prompt.
        text: String,
    },
    /// What the model says.
    Text {
        /// So far.
        text: String,
    },
    /// What the model thinks.
    Thinking {
        /// So far.
        text: String,
    },
    /// A call.
    Tool {
        /// Its id.
        id: String,
        /// The agent's own name of the tool.
        name: String,
        /// The arguments.
        #[schema(value_type = Object)]
        #[ts(type = "unknown")]
        input: serde_json::Value,
        /// What it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Object>)]
        #[ts(as = "Option<pollux_agent::model::Meaning>")]
        meaning: Option<serde_json::Value>,
        /// How it ended, if it has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<String>)]
        #[ts(as = "Option<pollux_agent::model::Status>")]
        status: Option<String>,
        /// What it gave back, at most the end of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
    },
}
