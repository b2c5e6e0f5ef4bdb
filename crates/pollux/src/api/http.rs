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

/// An error, in the format that all interfaces use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Problem {
    /// Error code for programs, such as `unknown_session`.
    pub code: String,
    /// What failed, and why.
    pub message: String,
    /// How to fix it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A permission of a device.
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
    /// Read sessions
    View,
    /// Send prompts, start and stop sessions
    Prompt,
    /// Answer questions and change the mode
    Approve,
    /// Pair and revoke devices, read the audit log, press keys, run slash commands, create share links. Allowing directories
    /// and stopping the daemon is only possible on the machine itself
    Admin,
}

/// A sign that the daemon is running. This is the only answer that needs no authentication.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Health {
    /// Always true.
    pub ok: bool,
    /// Version of the API.
    pub api: u32,
}

/// The device that sent the request.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Me {
    /// Name of this device.
    pub device: String,
    /// Scopes of the device.
    pub scopes: Vec<Scope>,
}

/// All sessions.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Sessions {
    /// Newest first.
    pub sessions: Vec<Summary>,
}

/// Starts a session.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct Begin {
    /// Chosen by the client. A repeated request with the same ID returns the same session.
    #[serde(default)]
    pub client_id: Option<String>,
    /// Working directory of the agent.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub cwd: PathBuf,
    /// How Pollux drives the agent.
    #[serde(default)]
    pub driver: Option<Driver>,
    /// Permission mode.
    #[serde(default)]
    pub mode: Option<Mode>,
    /// The model.
    #[serde(default)]
    pub model: Option<String>,
    /// Resume this session: its Pollux ID or the agent's ID.
    #[serde(default)]
    pub resume: Option<String>,
    /// The first prompt.
    #[serde(default)]
    pub prompt: Option<String>,
}

/// Adopts an agent that is already running in tmux.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct Adopt {
    /// tmux pane ID, such as `%3`; required if there are several candidates.
    #[serde(default)]
    pub pane: Option<String>,
    /// Name or socket path of the tmux server; the user's default server if absent. Only clients on this machine may set
    /// it.
    #[serde(default)]
    pub socket: Option<String>,
}

/// A command for a session.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct CommandBody {
    /// Chosen by the client. A command with a known ID is not run again.
    pub id: String,
    /// The command.
    pub command: Command,
}

/// The result of a command.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Accepted {
    /// ID of the command.
    pub id: String,
    /// The result.
    pub reply: Reply,
}

/// A page of messages, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Messages {
    /// The messages.
    #[schema(value_type = Vec<Object>)]
    pub messages: Vec<Recorded>,
    /// Position to request older messages with; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Events between these messages that are not messages: tool calls, ends of turns, notices. The oldest may be missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<Numbered>>")]
    #[schema(value_type = Vec<Object>)]
    pub facts: Vec<Numbered>,
    /// Epoch of the positions. Positions from another epoch are not valid.
    pub epoch: u64,
}

/// A page of events, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Events {
    /// The events.
    #[schema(value_type = Vec<Object>)]
    pub events: Vec<Numbered>,
    /// Sequence number of the last event of the session.
    pub seq: u64,
    /// Events up to this sequence number are no longer stored.
    pub floor: u64,
    /// Current epoch of the session.
    pub epoch: u64,
}

/// Search results.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Search {
    /// Newest first.
    pub found: Vec<Found>,
}

/// A match in a session.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Found {
    /// ID of the session.
    pub session_id: String,
    /// Sequence number of the event.
    pub seq: u64,
    /// Type of the event.
    pub kind: String,
    /// The text around the match.
    pub snippet: String,
    /// When the event was recorded.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub recorded_at: Timestamp,
}

/// Directories in which devices may start sessions.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Projects {
    /// Absolute paths with symlinks resolved.
    #[ts(type = "string[]")]
    #[schema(value_type = Vec<String>)]
    pub projects: Vec<PathBuf>,
}

/// Allows a directory.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    /// Path of the directory.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub path: PathBuf,
}

/// Files of a project that match a prefix.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Files {
    /// Paths relative to the project directory; directories end with `/`.
    pub files: Vec<String>,
}

/// Directories in a directory.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Browsed {
    /// Absolute path with symlinks resolved.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub path: PathBuf,
    /// Names of the subdirectories.
    pub directories: Vec<String>,
}

/// Slash commands of the agent.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct SlashCommands {
    /// Sorted by name.
    pub commands: Vec<Slash>,
}

/// A slash command of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
pub struct Slash {
    /// Name, including the slash.
    pub name: String,
    /// What it does.
    pub description: String,
}

/// Available models.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Models {
    /// The models.
    pub models: Vec<Model>,
}

/// A model.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Model {
    /// ID to request the model with.
    pub id: String,
    /// Display name.
    pub label: String,
    /// Size of the context window in tokens, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<u64>,
}

/// Uploads an image for a prompt.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// Media type, such as `image/png`.
    pub media_type: String,
    /// Image data in Base64.
    pub data: String,
}

/// An uploaded image.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Kept {
    /// Name to refer to the image in a prompt.
    pub name: String,
}

/// Token usage by model.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct UsageBody {
    /// Highest usage first.
    pub models: Vec<Counted>,
}

/// Token usage of one model.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Counted {
    /// Name of the model.
    pub model: String,
    /// Number of messages.
    pub messages: u64,
    /// Total number of tokens.
    pub tokens: u64,
}

/// Capabilities of the daemon.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Capabilities {
    /// Version of Pollux.
    pub pollux: String,
    /// Version of the API.
    pub api: u32,
    /// Optional features of the daemon.
    pub features: Vec<String>,
    /// Supported drivers.
    pub drivers: Vec<Driver>,
}

/// Requests a pairing code for a new device.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct Pairing {
    /// Name of the device.
    pub name: String,
    /// Scopes of the device.
    pub scopes: Vec<Scope>,
    /// Lifetime of the code in minutes, at most 60 (default: 2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u8>,
}

/// A pairing code, valid for one device and one use.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Pair {
    /// The pairing code.
    pub code: String,
    /// Pairing URLs. The code follows the `#`, so browsers do not send it to a server.
    pub urls: Vec<String>,
    /// Fingerprint of the certificate, if it is self-signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// When the code expires.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub expires_at: Timestamp,
}

/// Pairs a device with a code.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct Paired {
    /// The pairing code.
    pub code: String,
    /// Name that the device chose; replaces the name from the pairing request.
    #[serde(default)]
    pub name: Option<String>,
}

/// All devices.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Devices {
    /// Newest first.
    pub devices: Vec<Device>,
}

/// A paired device.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Device {
    /// ID of the device.
    pub id: String,
    /// Name of the device.
    pub name: String,
    /// Scopes of the device.
    pub scopes: Vec<Scope>,
    /// When the device was paired.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub created_at: Timestamp,
    /// When the device last sent a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(as = "Option<String>")]
    #[schema(value_type = Option<String>)]
    pub seen_at: Option<Timestamp>,
}

/// An entry of the audit log.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct AuditEntry {
    /// Increases with each entry.
    pub id: u64,
    /// When the action happened.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub at: Timestamp,
    /// Name of the device.
    pub device: String,
    /// Name of the action, such as `answer`.
    pub action: String,
    /// ID of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Details: the choice, the hash of the question as displayed, the result.
    #[schema(value_type = Object)]
    #[ts(type = "Record<string, unknown>")]
    pub detail: serde_json::Value,
}
