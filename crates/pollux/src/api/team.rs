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

/// A piece of work that somebody gave to an agent.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Job {
    /// Its id.
    pub id: String,
    /// How it was given.
    pub kind: Kind,
    /// Who gave it: a session; none for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// Who works on it, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// What its worker is called.
    pub name: String,
    /// Its worker's profile.
    pub profile: String,
    /// What is to be done.
    pub prompt: String,
    /// Where it is.
    pub state: State,
    /// Why it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What its worker waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Asked>,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Done>,
    /// What it may take.
    #[serde(default)]
    #[ts(as = "Option<JobBudget>")]
    #[schema(value_type = Object)]
    pub budget: Budget,
    /// When it was given.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub created_at: Timestamp,
    /// When it ended.
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

/// What one job may take, as clients see it.
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

/// A question of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
#[ts(rename = "JobQuestion")]
pub struct Asked {
    /// Its id.
    pub id: String,
    /// What is asked, in one line.
    pub about: String,
    /// The choices: id and words.
    pub options: Vec<(String, String)>,
}

/// What came of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
#[ts(rename = "JobResult", optional_fields)]
pub struct Done {
    /// The worker's last answer, to the letter.
    pub text: String,
    /// Where the answer was read instead, without its letters being sure: `screen`, where the session file never had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derived: Option<String>,
    /// The tokens that it took.
    pub tokens: u64,
    /// The files that it changed.
    pub changed: Vec<String>,
    /// What became of its worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
}

impl Done {
    /// What is said of an answer that may not be to the letter.
    pub fn doubt(&self) -> Option<&'static str> {
        let doubt = "it was read off the screen, because the session file does not have it";
        self.derived.is_some().then_some(doubt)
    }
}

/// A tree of its own for a worker, and what becomes of it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Worktree {
    /// It is kept, with its branch.
    Keep,
    /// Its branch is merged into where the caller works; where that does not go, it is kept.
    Merge,
}

/// An agent of a team.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Member {
    /// Its session.
    pub session: String,
    /// What it is called.
    pub name: String,
    /// Its profile.
    pub profile: String,
    /// The team: the session that began it.
    pub team: String,
    /// For whom it works: a session; none for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// How many are above it.
    pub depth: u32,
    /// What it does.
    pub status: SessionStatus,
    /// What it may do without asking.
    pub mode: Mode,
    /// Where it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<String>")]
    #[schema(value_type = Option<String>)]
    pub cwd: Option<PathBuf>,
    /// The tokens that it took.
    pub tokens: u64,
    /// The job that it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// How many letters wait for it.
    pub letters: u64,
    /// True where it has ended for good.
    pub gone: bool,
}

/// A job to give.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct Give {
    /// Chosen by the client. The same id once more gives the same job once more.
    #[serde(default)]
    pub client_id: Option<String>,
    /// How.
    pub kind: Kind,
    /// To an agent of this profile.
    pub profile: String,
    /// What is to be done.
    pub message: String,
    /// Where; without it, where the caller works.
    #[serde(default)]
    #[ts(as = "Option<String>")]
    #[schema(value_type = Option<String>)]
    pub cwd: Option<PathBuf>,
    /// How long the caller waits, in seconds.
    #[serde(default)]
    pub timeout: Option<u64>,
    /// What it may take.
    #[serde(default)]
    #[ts(as = "Option<JobBudget>")]
    #[schema(value_type = Object)]
    pub budget: Budget,
    /// In a worktree of its own.
    #[serde(default)]
    pub worktree: Option<Worktree>,
    /// The worker stays when it is done.
    #[serde(default)]
    pub keep: Option<bool>,
    /// Another driver than the profile's.
    #[serde(default)]
    pub driver: Option<Driver>,
}

/// An agent to launch.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct Launch {
    /// Chosen by the client. The same id once more gives the same agent once more.
    #[serde(default)]
    pub client_id: Option<String>,
    /// Its profile.
    pub profile: String,
    /// A first prompt.
    #[serde(default)]
    pub prompt: Option<String>,
    /// Where it works.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub cwd: PathBuf,
    /// Another mode than the profile's.
    #[serde(default)]
    pub mode: Option<Mode>,
    /// Another model than the profile's.
    #[serde(default)]
    pub model: Option<String>,
    /// Another driver than the profile's.
    #[serde(default)]
    pub driver: Option<Driver>,
}

/// All jobs.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Jobs {
    /// The newest first.
    pub jobs: Vec<Job>,
}

/// All agents of teams.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Teams {
    /// Each after the one that it works for.
    pub members: Vec<Member>,
    /// How many letters wait for a person.
    #[serde(default)]
    pub unread: u64,
}

/// What agents can be launched as.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Profiles {
    /// Those that can be used, by name.
    pub profiles: Vec<Offered>,
}

/// A profile, in short.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(rename = "OfferedProfile", optional_fields)]
pub struct Offered {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What its agents may do without asking, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

/// A letter to write.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// To whom: a name or a session.
    pub to: String,
    /// What it says.
    pub text: String,
}

/// Letters.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Letters {
    /// The oldest first.
    pub letters: Vec<Letter>,
}

/// More for a job that has paused.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct More {
    /// So many tokens more.
    #[serde(default)]
    pub tokens: Option<u64>,
    /// So many seconds more.
    #[serde(default)]
    pub seconds: Option<u64>,
}
