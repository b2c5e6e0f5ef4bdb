//! Teams: who works for whom, jobs, letters.

use super::session::Driver;
use crate::team::job::{Kind, State};
use crate::team::limits::Budget;
use crate::team::post::Letter;
use jiff::Timestamp;
use pollux_agent::model::{Mode, SessionStatus};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use ts_rs::TS;
use utoipa::ToSchema;

/// A task that was handed to an agent.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Job {
    /// ID of the job.
    pub id: String,
    /// Whether the caller waits for the job.
    pub kind: Kind,
    /// Session ID of the caller; absent for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// Session ID of the worker, once it exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Name of the worker.
    pub name: String,
    /// Profile of the worker.
    pub profile: String,
    /// The task.
    pub prompt: String,
    /// State of the job.
    pub state: State,
    /// Reason for the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Question that the worker waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Asked>,
    /// Result of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Done>,
    /// Budget of the job.
    #[serde(default)]
    #[ts(as = "Option<JobBudget>")]
    #[schema(value_type = Object)]
    pub budget: Budget,
    /// When the job was created.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub created_at: Timestamp,
    /// When the job ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<String>")]
    #[schema(value_type = Option<String>)]
    pub ended_at: Option<Timestamp>,
    /// What the daemon needs to go on with it.
    #[serde(default)]
    #[ts(skip)]
    #[schema(ignore)]
    pub inner: Inner,
}

/// The budget of a job.
#[derive(Debug, Clone, TS)]
#[ts(optional_fields)]
#[expect(dead_code, reason = "it is there for its TypeScript")]
pub struct JobBudget {
    tokens: Option<u64>,
    seconds: Option<u64>,
}

/// What the daemon needs to go on with a job.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Inner {
    /// The turn of the job is after this event of its worker.
    #[serde(default)]
    pub after: u64,
    /// Since when its worker has been at it, pauses apart.
    #[serde(default)]
    pub since: Option<Timestamp>,
    /// Since when it waits for a person, where it does.
    #[serde(default)]
    pub asked_at: Option<Timestamp>,
    /// How many tokens it was given last, where it was gone on with.
    #[serde(default)]
    pub granted: Option<u64>,
    /// When its caller no longer waits.
    #[serde(default)]
    pub deadline: Option<Timestamp>,
    /// How often its worker was prompted.
    #[serde(default)]
    pub prompts: u32,
    /// True where its worker stays when it is done.
    #[serde(default)]
    pub keep: bool,
    /// What becomes of its worktree.
    #[serde(default)]
    pub worktree: Option<Worktree>,
    /// Where its worker was to work.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// How its worker was to be driven.
    #[serde(default)]
    pub driver: Option<Driver>,
}

/// A question from a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
#[ts(rename = "JobQuestion")]
pub struct Asked {
    /// ID of the question.
    pub id: String,
    /// The question, in one line.
    pub about: String,
    /// Choices: ID and label.
    pub options: Vec<(String, String)>,
}

/// The result of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
#[ts(rename = "JobResult", optional_fields)]
pub struct Done {
    /// The worker's last answer, verbatim.
    pub text: String,
    /// Set if the text may not be verbatim: `screen` if it was read from the screen because the session file does not contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derived: Option<String>,
    /// Tokens used by the job.
    pub tokens: u64,
    /// Files changed by the job.
    pub changed: Vec<String>,
    /// What happened to the worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
}

impl Done {
    /// A warning for an answer that may not be verbatim.
    pub fn doubt(&self) -> Option<&'static str> {
        let doubt = "the answer was read from the screen because the session file does not contain it: it may not be exact";
        self.derived.is_some().then_some(doubt)
    }
}

/// What to do with a worker's git worktree.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Worktree {
    /// Keep the worktree and its branch
    Keep,
    /// Merge the branch into the caller's; if the merge fails, the branch is kept
    Merge,
}

/// A team agent.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Member {
    /// Session ID.
    pub session: String,
    /// Name of the agent.
    pub name: String,
    /// Profile of the agent.
    pub profile: String,
    /// Team: ID of the session that started it.
    pub team: String,
    /// Session ID of the agent that it works for; absent for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Level in the team: 0 for the first agent.
    pub depth: u32,
    /// Status of the agent.
    pub status: SessionStatus,
    /// Permission mode.
    pub mode: Mode,
    /// Working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<String>")]
    #[schema(value_type = Option<String>)]
    pub cwd: Option<PathBuf>,
    /// Tokens used by the agent.
    pub tokens: u64,
    /// ID of the job that it is working on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Number of messages that wait for delivery to the agent.
    pub letters: u64,
    /// True if the agent has ended and will not be restarted.
    pub gone: bool,
}

/// Starts a job.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct Give {
    /// Chosen by the client. A repeated request with the same ID returns the same job.
    #[serde(default)]
    pub client_id: Option<String>,
    /// Whether the caller waits for the job.
    pub kind: Kind,
    /// Profile of the new agent.
    pub profile: String,
    /// The task.
    pub message: String,
    /// Working directory; the caller's if absent.
    #[serde(default)]
    #[ts(as = "Option<String>")]
    #[schema(value_type = Option<String>)]
    pub cwd: Option<PathBuf>,
    /// How long the caller waits, in seconds.
    #[serde(default)]
    pub timeout: Option<u64>,
    /// Budget of the job.
    #[serde(default)]
    #[ts(as = "Option<JobBudget>")]
    #[schema(value_type = Object)]
    pub budget: Budget,
    /// Work in a new git worktree.
    #[serde(default)]
    pub worktree: Option<Worktree>,
    /// Keep the worker running when it is done.
    #[serde(default)]
    pub keep: Option<bool>,
    /// Overrides the profile's driver.
    #[serde(default)]
    pub driver: Option<Driver>,
}

/// Starts a team agent.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct Launch {
    /// Chosen by the client. A repeated request with the same ID returns the same agent.
    #[serde(default)]
    pub client_id: Option<String>,
    /// Profile of the agent.
    pub profile: String,
    /// First prompt.
    #[serde(default)]
    pub prompt: Option<String>,
    /// Working directory.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub cwd: PathBuf,
    /// Overrides the profile's mode.
    #[serde(default)]
    pub mode: Option<Mode>,
    /// Overrides the profile's model.
    #[serde(default)]
    pub model: Option<String>,
    /// Overrides the profile's driver.
    #[serde(default)]
    pub driver: Option<Driver>,
}

/// All jobs.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Jobs {
    /// Newest first.
    pub jobs: Vec<Job>,
}

/// All team agents.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Teams {
    /// Each agent follows the one that it works for.
    pub members: Vec<Member>,
    /// Number of unread messages for the user.
    #[serde(default)]
    pub unread: u64,
}

/// Available profiles.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Profiles {
    /// Valid profiles, sorted by name.
    pub profiles: Vec<Offered>,
}

/// A summary of a profile.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(rename = "OfferedProfile", optional_fields)]
pub struct Offered {
    /// Name of the profile.
    pub name: String,
    /// Description of the profile.
    pub description: String,
    /// Permission mode, if the profile sets one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

/// Sends a message to an agent.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// Receiver: an agent name or a session ID.
    pub to: String,
    /// Text of the message.
    pub text: String,
}

/// Messages between agents and people.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Letters {
    /// Oldest first.
    pub letters: Vec<Letter>,
}

/// Resumes a paused job with a larger budget.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct More {
    /// Additional tokens.
    #[serde(default)]
    pub tokens: Option<u64>,
    /// Additional seconds.
    #[serde(default)]
    pub seconds: Option<u64>,
}
