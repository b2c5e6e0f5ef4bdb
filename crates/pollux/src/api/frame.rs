//! Frames of the WebSocket. Server-sent events carry the same ones.

use super::session::{Live, Summary};
use super::{FEATURES, HEARTBEAT_SECONDS, VERSION, http::Problem};
use jiff::Timestamp;
use pollux_agent::session::{Command, Reply};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use ts_rs::TS;

/// What a client says.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
#[ts(optional_fields)]
pub enum ClientFrame {
    /// Tell me of this session, from here on. `after` and `epoch` are those of the last event that was handled.
    Subscribe {
        /// Which session.
        session_id: String,
        /// The number of the last event that was handled.
        #[serde(default)]
        after: Option<u64>,
        /// Its epoch.
        #[serde(default)]
        epoch: Option<u64>,
    },
    /// Tell me no more of this session.
    Unsubscribe {
        /// Which session.
        session_id: String,
    },
    /// Tell me of all sessions: first the list, then each that changes.
    Watch,
    /// Do this. The answer is a `result` or an `error` with the same id.
    Command {
        /// Chosen by the client. The same id once more is not run once more.
        id: String,
        /// Which session.
        session_id: String,
        /// What to do.
        command: Command,
    },
    /// Show me the agent's own screen, or show it no more. Only where it is in a terminal.
    Screen {
        /// Which session.
        session_id: String,
        /// True to begin, false to end.
        on: bool,
    },
    /// Whether somebody looks at this client. A device that is looked at is not called.
    Visible {
        /// True where it is on a screen.
        visible: bool,
    },
    /// Are you there? The answer is a heartbeat.
    Ping,
    /// A kind that this daemon does not know. It is answered with an `error`, and the connection goes on.
    #[serde(other)]
    #[ts(skip)]
    Unknown,
}

/// What the daemon says. A client passes over kinds that it does not know.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
#[ts(optional_fields)]
pub enum ServerFrame {
    /// The first frame.
    Hello(Hello),
    /// All sessions, after `watch`.
    Sessions {
        /// The newest first.
        sessions: Vec<Summary>,
    },
    /// A session is different now: to those that watch, and to those that subscribed to it.
    Session {
        /// What it is now. It counts only where its `version` is greater than what the client has.
        session: Box<Summary>,
    },
    /// The exact tail follows: nothing is missing, nothing comes twice.
    Resumed {
        /// Which session.
        session_id: String,
        /// The number after which events follow.
        after: u64,
        /// The epoch.
        epoch: u64,
    },
    /// Forget what you have of this session: this is what there is. Events after `seq` follow.
    Snapshot(Box<Snapshot>),
    /// What happened, in order, without a gap.
    Events {
        /// Which session.
        session_id: String,
        /// The events.
        events: Vec<Numbered>,
        /// False where more are on their way at once.
        caught_up: bool,
    },
    /// Something is different about teams, their jobs or letters: to those that watch. What it is, is to be had over HTTP.
    Team,
    /// The agent's own screen, to those who asked for it.
    Screen(Box<Picture>),
    /// The daemon is there.
    Heartbeat {
        /// Its time.
        #[ts(type = "string")]
        at: Timestamp,
    },
    /// What came of a command.
    Result {
        /// Its id.
        id: String,
        /// What came of it.
        reply: Reply,
    },
    /// Something is wrong with what the client said.
    Error {
        /// The id of the command, or of the session that was subscribed to.
        id: Option<String>,
        /// What is wrong.
        error: Problem,
    },
}

/// What stands on the agent's own screen. The first one has all rows; those that follow have the rows that differ.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(optional_fields)]
pub struct Picture {
    /// Which session.
    pub session_id: String,
    /// True where all rows are in it: forget those of before.
    pub whole: bool,
    /// How wide the screen is. It is the size of the window at the desk, and stays that until somebody asks for another.
    pub columns: u16,
    /// How high the screen is.
    pub rows: u16,
    /// True where somebody has asked for this size, and nobody has given the window back yet.
    pub fitted: bool,
    /// Where the cursor is, where it is to be seen: row and column, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<(u16, u16)>,
    /// The title of the window.
    pub title: String,
    /// The rows, each with its number from 0.
    pub lines: Vec<Line>,
}

/// One row of a screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub struct Line {
    /// Its number, from 0 at the top.
    pub row: u16,
    /// Its pieces, each of which looks alike.
    pub runs: Vec<pollux_agent::terminal::Run>,
}

/// Who is there, and what it can do.
#[derive(Debug, Clone, Serialize, TS)]
pub struct Hello {
    /// The version of Pollux.
    pub pollux: String,
    /// The version of the API.
    pub api: u32,
    /// What it can do beyond that.
    pub features: Vec<String>,
    /// How often a heartbeat comes, in seconds.
    pub heartbeat_seconds: u64,
    /// The name of this device.
    pub device: String,
    /// What this device may do.
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

/// All that a client needs to show a session that it knows nothing of.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(optional_fields)]
pub struct Snapshot {
    /// Which session.
    pub session_id: String,
    /// Why it is not the tail.
    pub why: Why,
    /// The number of the last event that is in it.
    pub seq: u64,
    /// Its epoch.
    pub epoch: u64,
    /// The session.
    pub session: Summary,
    /// The last page of messages, oldest first.
    pub messages: Vec<Recorded>,
    /// Ask for messages before this place; none where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// What happened between them that is no message: calls, ends of turns, notices. The oldest of it may be missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<Numbered>>")]
    pub facts: Vec<Numbered>,
    /// What has not become a message yet.
    pub live: Live,
}

/// Why a client gets a snapshot and not the tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It did not ask for the tail.
    Fresh,
    /// The history was rewritten since.
    Epoch,
    /// The events that it misses are no longer kept, or never were.
    Gone,
    /// It misses so much that a snapshot is shorter.
    Far,
}

/// A message in its place.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct Recorded {
    /// Its place among the messages of the session. It rises, with gaps where messages were taken back.
    pub position: u64,
    /// The event that recorded it.
    pub seq: u64,
    /// The message, without `_original`.
    #[ts(as = "pollux_agent::model::Message<'static>")]
    pub message: Box<RawValue>,
    /// The texts in it that were cut: the place of each as a JSON pointer, and how many bytes the whole has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<(String, u64)>>")]
    pub cut: Vec<(String, u64)>,
}

/// An event with its number.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct Numbered {
    /// Its number: one more than that of the event before it.
    pub seq: u64,
    /// How often history has been rewritten, counted from where the session began.
    pub epoch: u64,
    /// When Pollux wrote it down.
    #[ts(type = "string")]
    pub recorded_at: Timestamp,
    /// The event. A client shows a kind that it does not know as what it is.
    #[ts(as = "pollux_agent::model::Event<'static>")]
    pub event: Box<RawValue>,
    /// The texts in it that were cut: the place of each as a JSON pointer, and how many bytes the whole has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(as = "Option<Vec<(String, u64)>>")]
    pub cut: Vec<(String, u64)>,
}
