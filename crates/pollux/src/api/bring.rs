//! A session that lives in another process of the user's: it brings it to the daemon, tells what happens, and does what it
//! is told. Frames of a WebSocket of its own.

use pollux_agent::model::{Failure, Mode};
use pollux_agent::session::Order;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::path::PathBuf;

/// The first frame: what is brought.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Bring {
    /// The agent's own id of the session.
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
    /// The session is known under this id.
    Session(String),
    /// The session is not taken in: why.
    Refused(String),
    /// Something for the agent.
    Order {
        /// Under this number.
        id: u64,
        /// What.
        order: Order,
    },
}
