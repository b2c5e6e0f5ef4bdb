//! Schedules: work that is given again and again.

use super::session::Driver;
use crate::team::schedule::Missed;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use ts_rs::TS;
use utoipa::ToSchema;

/// A recurring job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct Schedule {
    /// Name of the schedule.
    pub name: String,
    /// Cron expression in local time: five fields, or six with seconds first.
    pub cron: String,
    /// Profile of the agent.
    pub profile: String,
    /// Prompt, with the placeholders `{{date}}`, `{{time}}`, `{{name}}` and `{{output}}`.
    pub prompt: String,
    /// Working directory of the agent and the condition.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub cwd: PathBuf,
    /// A command to run first. The job starts only if the command exits 0. Its output is `{{output}}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<String>>")]
    pub condition: Vec<String>,
    /// What to do about missed runs.
    #[serde(default)]
    #[ts(as = "Option<Missed>")]
    pub missed: Missed,
    /// Overrides the profile's driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Driver>,
    /// Next run; set by the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<String>")]
    #[schema(value_type = Option<String>)]
    pub next_at: Option<Timestamp>,
}

/// The outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
#[serde(rename_all = "snake_case")]
#[ts(rename = "ScheduleOutcome")]
#[schema(as = ScheduleOutcome)]
pub enum Outcome {
    /// The run has begun, and its outcome is not known yet.
    Begun,
    /// The job was started.
    Given,
    /// The condition was not met, or the previous run is still in progress.
    Skipped,
    /// No daemon was running when the run was due.
    Missed,
    /// The job could not be started.
    Failed,
}

/// One run of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
#[ts(rename = "ScheduleRun", optional_fields)]
#[schema(as = ScheduleRun)]
pub struct Run {
    /// Increases with each run.
    pub id: i64,
    /// Name of the schedule.
    pub schedule: String,
    /// When the run was due.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub due_at: Timestamp,
    /// When the run happened.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub at: Timestamp,
    /// The outcome.
    pub outcome: Outcome,
    /// ID of the job that was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Why no job was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// All schedules.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Schedules {
    /// Sorted by name.
    pub schedules: Vec<Schedule>,
}

/// Runs of schedules.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(rename = "ScheduleRuns")]
#[schema(as = ScheduleRuns)]
pub struct Runs {
    /// Newest first.
    pub runs: Vec<Run>,
}
