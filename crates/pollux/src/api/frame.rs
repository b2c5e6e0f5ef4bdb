//! Frames of the WebSocket. Server-sent events carry the same ones.

use super::session::{Live, Summary};
use super::{FEATURES, HEARTBEAT_SECONDS, VERSION, http::Problem};
use jiff::Timestamp;
use pollux_agent::session::{Command, Reply};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use ts_rs::TS;

/// A frame from the client to the daemon.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
#[ts(optional_fields)]
pub enum ClientFrame {
    /// Subscribe to a session. `after` and `epoch` identify the last event that the client has handled.
    Subscribe {
        /// ID of the session.
        session_id: String,
        /// Sequence number of the last event that the client has handled.
        #[serde(default)]
        after: Option<u64>,
        /// Epoch of that event.
        #[serde(default)]
        epoch: Option<u64>,
    },
    /// Unsubscribe from a session.
    Unsubscribe {
        /// ID of the session.
        session_id: String,
    },
    /// Watch all sessions: the daemon sends the list, then each session that changes.
    Watch,
    /// Send a command to a session. The daemon answers with a `result` or `error` frame with the same ID.
    Command {
        /// Chosen by the client. A command with a known ID is not run again.
        id: String,
        /// ID of the session.
        session_id: String,
        /// The command.
        command: Command,
    },
    /// Start or stop streaming the agent's screen. Only for terminal sessions.
    Screen {
        /// ID of the session.
        session_id: String,
        /// True to start, false to stop.
        on: bool,
    },
    /// Whether the client is visible. A visible device receives no push notifications.
    Visible {
        /// True while the client is visible on a screen.
        visible: bool,
    },
    /// Request a heartbeat.
    Ping,
    /// A frame type that this daemon does not know. The daemon answers with an `error` and keeps the connection open.
    #[serde(other)]
    #[ts(skip)]
    Unknown,
}

/// A frame from the daemon to the client. Clients must ignore unknown frame types.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
#[ts(optional_fields)]
pub enum ServerFrame {
    /// The first frame.
    Hello(Hello),
    /// All sessions, in answer to `watch`.
    Sessions {
        /// Newest first.
        sessions: Vec<Summary>,
    },
    /// A session has changed. Sent to clients that watch all sessions or subscribe to this one.
    Session {
        /// The new summary. Ignore it unless its `version` is greater than the client's.
        session: Box<Summary>,
    },
    /// The subscription resumes: the missing events follow, without gaps or duplicates.
    Resumed {
        /// ID of the session.
        session_id: String,
        /// Events after this sequence number follow.
        after: u64,
        /// Epoch of the events.
        epoch: u64,
    },
    /// The complete state of a session, which replaces what the client has. Events after `seq` follow.
    Snapshot(Box<Snapshot>),
    /// Events in order, without gaps.
    Events {
        /// ID of the session.
        session_id: String,
        /// The events.
        events: Vec<Numbered>,
        /// False if more events follow immediately.
        caught_up: bool,
    },
    /// Teams, jobs or messages have changed. Sent to clients that watch; fetch the details over HTTP.
    Team,
    /// The agent's screen, after a `screen` request.
    Screen(Box<Picture>),
    /// A sign that the connection is alive.
    Heartbeat {
        /// Time of the daemon.
        #[ts(type = "string")]
        at: Timestamp,
    },
    /// The result of a command.
    Result {
        /// ID of the command.
        id: String,
        /// The result.
        reply: Reply,
    },
    /// A request of the client failed.
    Error {
        /// ID of the command, or of the session that the client subscribed to.
        id: Option<String>,
        /// The error.
        error: Problem,
    },
}

/// The agent's screen. The first frame has all rows; later frames have only the changed rows.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(optional_fields)]
pub struct Picture {
    /// ID of the session.
    pub session_id: String,
    /// True if the frame has all rows and replaces the previous screen.
    pub whole: bool,
    /// Width in columns. This is the size of the desktop window until a client requests another size.
    pub columns: u16,
    /// Height in rows.
    pub rows: u16,
    /// True while a client has resized the window and not restored it.
    pub fitted: bool,
    /// Row and column of the cursor, from 0; absent if it is hidden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<(u16, u16)>,
    /// Window title.
    pub title: String,
    /// The rows.
    pub lines: Vec<Line>,
}

/// One row of a screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub struct Line {
    /// Row number, from 0 at the top.
    pub row: u16,
    /// Runs of text, each with one style.
    pub runs: Vec<pollux_agent::terminal::Run>,
}

/// What the daemon tells a client when it connects.
#[derive(Debug, Clone, Serialize, TS)]
pub struct Hello {
    /// Version of Pollux.
    pub pollux: String,
    /// Version of the API.
    pub api: u32,
    /// Optional features of the daemon.
    pub features: Vec<String>,
    /// Seconds between heartbeats.
    pub heartbeat_seconds: u64,
    /// Name of this device.
    pub device: String,
    /// Scopes of this device.
    pub scopes: Vec<super::Scope>,
}

impl Hello {
    /// The hello for a device.
    pub fn to(device: &str, scopes: &[super::Scope]) -> Self {
        Self {
            pollux: env!("CARGO_PKG_VERSION").to_owned(),
            api: VERSION,
            features: FEATURES.iter().map(|feature| (*feature).to_owned()).collect(),
            heartbeat_seconds: HEARTBEAT_SECONDS,
            device: device.to_owned(),
            scopes: scopes.to_vec(),
        }
    }
}

/// The complete state of a session, for a client that has no events of it.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(optional_fields)]
pub struct Snapshot {
    /// ID of the session.
    pub session_id: String,
    /// Why the daemon sent a snapshot instead of the missing events.
    pub why: Why,
    /// Sequence number of the last event in the snapshot.
    pub seq: u64,
    /// Epoch of that event.
    pub epoch: u64,
    /// Summary of the session.
    pub session: Summary,
    /// The last page of messages, oldest first.
    pub messages: Vec<Recorded>,
    /// Position to request older messages with; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Events between these messages that are not messages: tool calls, ends of turns, notices. The oldest may be missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<Numbered>>")]
    pub facts: Vec<Numbered>,
    /// Output that is not part of a message yet.
    pub live: Live,
}

/// Why a client receives a snapshot instead of the missing events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The client did not say which events it has.
    Fresh,
    /// The history has been rewritten.
    Epoch,
    /// The missing events are no longer stored, or never were.
    Gone,
    /// So many events are missing that a snapshot is shorter.
    Far,
}

/// A message and its position in the session.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct Recorded {
    /// Position among the messages of the session. It increases, with gaps where messages were removed.
    pub position: u64,
    /// Sequence number of the event that recorded it.
    pub seq: u64,
    /// The message, without `_original`.
    #[ts(as = "pollux_agent::model::Message<'static>")]
    pub message: Box<RawValue>,
    /// Truncated texts: the JSON pointer of each, and its full length in bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<(String, u64)>>")]
    pub cut: Vec<(String, u64)>,
}

/// An event with its sequence number.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct Numbered {
    /// Sequence number: one more than that of the previous event.
    pub seq: u64,
    /// Number of times that the history has been rewritten since the session started.
    pub epoch: u64,
    /// When Pollux recorded the event.
    #[ts(type = "string")]
    pub recorded_at: Timestamp,
    /// The event. Clients should show events of unknown types in raw form.
    #[ts(as = "pollux_agent::model::Event<'static>")]
    pub event: Box<RawValue>,
    /// Truncated texts: the JSON pointer of each, and its full length in bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<(String, u64)>>")]
    pub cut: Vec<(String, u64)>,
}
