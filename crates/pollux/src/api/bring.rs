//! A session hosted by another local process: the process registers it with the daemon, reports its events and carries out the
//! daemon's orders. Frames of a separate WebSocket.

use pollux_agent::model::{Failure, Mode};
use pollux_agent::session::Order;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::path::PathBuf;

/// The first frame: what is brought.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Bring {
    /// The agent's own ID of the session.
    pub agent_id: String,
    /// Where the agent works.
    pub cwd: PathBuf,
    /// What it may do without asking.
    pub mode: Mode,
    /// The model.
    pub model: Option<String>,
    /// Who drives it, such as `pollux acp`.
    pub by: String,
    /// False where prompts come from there only.
    pub prompts: bool,
}

/// What the process says after that.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// An event of the session.
    Event(Box<RawValue>),
    /// An order was handed to the agent, or could not be.
    Done {
        /// Which one.
        order: u64,
        /// Why not.
        failure: Option<Failure>,
    },
}

/// What the daemon says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// The daemon registered the session under this ID.
    Session(String),
    /// The daemon rejected the session, with the reason.
    Refused(String),
    /// Something for the agent.
    Order {
        /// Under this number.
        id: u64,
        /// What.
        order: Order,
    },
}
