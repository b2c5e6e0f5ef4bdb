//! Schedules: work that is given again and again.

use super::session::Driver;
use crate::team::schedule::Missed;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use ts_rs::TS;
use utoipa::ToSchema;

/// Work that is given again and again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct Schedule {
    /// What it is called.
    pub name: String,
    /// When: five fields, or six with seconds first, by the clock of the machine.
    pub cron: String,
    /// To an agent of this profile.
    pub profile: String,
    /// What is to be done: `{{date}}`, `{{time}}`, `{{name}}` and `{{output}}` are filled in.
    pub prompt: String,
    /// Where.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub cwd: PathBuf,
    /// A program and its arguments, run first: only where it ends well is the work given. What it prints is `{{output}}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<String>>")]
    pub condition: Vec<String>,
    /// What becomes of a run that was missed.
    #[serde(default)]
    #[ts(as = "Option<Missed>")]
    pub missed: Missed,
    /// Another driver than the profile's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Driver>,
    /// When it is due next; said by the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<String>")]
    #[schema(value_type = Option<String>)]
    pub next_at: Option<Timestamp>,
}

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
#[serde(rename_all = "snake_case")]
#[ts(rename = "ScheduleOutcome")]
#[schema(as = ScheduleOutcome)]
pub enum Outcome {
    /// It has begun, and what becomes of it is not known yet.
    Begun,
    /// The work was given.
    Given,
    /// The condition was not met, or the run before still goes on.
    Skipped,
    /// No daemon ran when it was due.
    Missed,
    /// It could not be given.
    Failed,
}

/// One run of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
#[ts(rename = "ScheduleRun", optional_fields)]
#[schema(as = ScheduleRun)]
pub struct Run {
    /// Rises with each run.
    pub id: i64,
    /// Of which schedule.
    pub schedule: String,
    /// When it was due.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub due_at: Timestamp,
    /// When it was run.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub at: Timestamp,
    /// What became of it.
    pub outcome: Outcome,
    /// The job that was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Why none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// All schedules.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Schedules {
    /// By name.
    pub schedules: Vec<Schedule>,
}

/// Runs of schedules.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(rename = "ScheduleRuns")]
#[schema(as = ScheduleRuns)]
pub struct Runs {
    /// The newest first.
    pub runs: Vec<Run>,
}
