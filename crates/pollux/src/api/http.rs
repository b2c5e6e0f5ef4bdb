//! Bodies of requests and answers under `/api/v1`.

use super::frame::{Numbered, Recorded};
use super::session::{Driver, Summary};
use jiff::Timestamp;
use pollux_agent::model::Mode;
use pollux_agent::session::{Command, Reply};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use ts_rs::TS;
use utoipa::ToSchema;

/// What is wrong, in the shape of every border.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Problem {
    /// One word for programs, such as `unknown_session`.
    pub code: String,
    /// What failed, and why.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What a device may do.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    TS,
    ToSchema,
    clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Read.
    View,
    /// Send prompts, start and stop sessions.
    Prompt,
    /// Answer questions, change the mode.
    Approve,
    /// Pair and revoke devices, read the audit log, press keys, run commands of the CLI, make links. Directories are allowed,
    /// and the daemon is ended, on the machine itself.
    Admin,
}

/// The daemon is there. The one thing that is told to those who are not let in.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Health {
    /// Always true.
    pub ok: bool,
    /// The version of the API.
    pub api: u32,
}

/// Who I am.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Me {
    /// The name of this device.
    pub device: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
}

/// All sessions.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Sessions {
    /// The newest first.
    pub sessions: Vec<Summary>,
}

/// A session to begin.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct Begin {
    /// Chosen by the client. The same id once more gives the same session once more.
    #[serde(default)]
    pub client_id: Option<String>,
    /// Where the agent shall work.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub cwd: PathBuf,
    /// How it is driven.
    #[serde(default)]
    pub driver: Option<Driver>,
    /// What it may do without asking.
    #[serde(default)]
    pub mode: Option<Mode>,
    /// The model.
    #[serde(default)]
    pub model: Option<String>,
    /// Go on with a session: its id, of Pollux or of the agent.
    #[serde(default)]
    pub resume: Option<String>,
    /// The first prompt.
    #[serde(default)]
    pub prompt: Option<String>,
}

/// An agent that somebody runs already, in tmux.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct Adopt {
    /// tmux's name of its pane, such as `%3`; needed where there are several.
    #[serde(default)]
    pub pane: Option<String>,
    /// The tmux server: a name or a path. Without this the one that the user's own `tmux` talks to. Only the user of this
    /// machine may name one.
    #[serde(default)]
    pub socket: Option<String>,
}

/// A command for a session.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct CommandBody {
    /// Chosen by the client. The same id once more is not run once more.
    pub id: String,
    /// What to do.
    pub command: Command,
}

/// What came of a command.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Accepted {
    /// The id of the command.
    pub id: String,
    /// What came of it.
    pub reply: Reply,
}

/// A page of messages, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Messages {
    /// The messages.
    #[schema(value_type = Vec<Object>)]
    pub messages: Vec<Recorded>,
    /// Ask for those before this place; none where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// What happened between them that is no message: calls, ends of turns, notices. The oldest of it may be missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<Numbered>>")]
    #[schema(value_type = Vec<Object>)]
    pub facts: Vec<Numbered>,
    /// The epoch: with another one the places mean something else.
    pub epoch: u64,
}

/// A page of events, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Events {
    /// The events.
    #[schema(value_type = Vec<Object>)]
    pub events: Vec<Numbered>,
    /// The number of the last event that there is.
    pub seq: u64,
    /// Events up to this one are no longer kept.
    pub floor: u64,
    /// The epoch.
    pub epoch: u64,
}

/// What was found.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Search {
    /// The newest first.
    pub found: Vec<Found>,
}

/// A place in a session.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Found {
    /// The session.
    pub session_id: String,
    /// The event.
    pub seq: u64,
    /// Its kind.
    pub kind: String,
    /// The words around it.
    pub snippet: String,
    /// When it was recorded.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub recorded_at: Timestamp,
}

/// Directories in which sessions may be started.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Projects {
    /// Their real paths.
    #[ts(type = "string[]")]
    #[schema(value_type = Vec<String>)]
    pub projects: Vec<PathBuf>,
}

/// A directory to allow.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    /// Its path.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub path: PathBuf,
}

/// Files of a project that fit what somebody has begun to write.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Files {
    /// Their paths from the project's directory; directories end with `/`.
    pub files: Vec<String>,
}

/// Directories in a directory.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Browsed {
    /// The real path of the directory.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub path: PathBuf,
    /// The names of the directories in it.
    pub directories: Vec<String>,
}

/// Commands of the agent itself, which a prompt may begin with.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct SlashCommands {
    /// In the order of their names.
    pub commands: Vec<Slash>,
}

/// A command of the agent itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
pub struct Slash {
    /// Its name, with the slash.
    pub name: String,
    /// What it does.
    pub description: String,
}

/// Models that can be asked for.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Models {
    /// The models.
    pub models: Vec<Model>,
}

/// A model.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Model {
    /// What it is asked for by.
    pub id: String,
    /// What it is, for people.
    pub label: String,
    /// How many tokens it can hold, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
}

/// A picture that will belong to a prompt.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// Its kind, such as `image/png`.
    pub media_type: String,
    /// Its bytes, in Base64.
    pub data: String,
}

/// A picture that is kept.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Kept {
    /// The name by which a prompt names it.
    pub name: String,
}

/// Tokens by model.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct UsageBody {
    /// The most first.
    pub models: Vec<Counted>,
}

/// The tokens of one model.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Counted {
    /// The model.
    pub model: String,
    /// In how many messages.
    pub messages: u64,
    /// All tokens.
    pub tokens: u64,
}

/// What the daemon can do.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Capabilities {
    /// The version of Pollux.
    pub pollux: String,
    /// The version of the API.
    pub api: u32,
    /// What it can do beyond that.
    pub features: Vec<String>,
    /// How agents can be driven.
    pub drivers: Vec<Driver>,
}

/// Asks for a code that lets a new device in.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct Pairing {
    /// What the device will be called.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// How long the code is good for, at most 60; 2 where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u8>,
}

/// A code that lets one device in, once, for two minutes or as long as was asked for.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Pair {
    /// The code.
    pub code: String,
    /// Where the device goes. The code is behind the `#`, which no server sees.
    pub urls: Vec<String>,
    /// The fingerprint of the certificate, where it is our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// When the code ends.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub expires_at: Timestamp,
}

/// A code, from the device that wants in.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct Paired {
    /// The code.
    pub code: String,
    /// What the device calls itself, where it knows better than whoever made the code.
    #[serde(default)]
    pub name: Option<String>,
}

/// All devices.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Devices {
    /// The newest first.
    pub devices: Vec<Device>,
}

/// A device that was let in.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Device {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// When it was let in.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub created_at: Timestamp,
    /// When it was here last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<String>")]
    #[schema(value_type = Option<String>)]
    pub seen_at: Option<Timestamp>,
}

/// Who did what.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct AuditEntry {
    /// Rises.
    pub id: u64,
    /// When.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub at: Timestamp,
    /// Who: the name of the device.
    pub device: String,
    /// What, in one word, such as `answer`.
    pub action: String,
    /// To which session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The rest: the choice, the hash of what was shown, what came of it.
    #[schema(value_type = Object)]
    #[ts(type = "Record<string, unknown>")]
    pub detail: serde_json::Value,
}
