//! An agent that lives: events come out of it, orders go into it, whichever driver it has.

use super::headless;
use crate::api::{Begin, Driver};
use futures::future::BoxFuture;
use pollux_agent::gemini::cli::Search;
use pollux_agent::model::{Event, Failure, Mode};
use pollux_agent::session::Order;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Events of an agent, in order. Dropping it ends the agent where the driver says so.
pub trait Events: Send {
    /// The next one; none when the agent is gone.
    fn next(&mut self) -> BoxFuture<'_, Option<Event<'static>>>;
}

/// Takes orders. Not to be waited for without hearing events at the same time: an agent may have to say something first.
pub trait Orders: Send + Sync {
    /// Hands an order to the agent.
    fn order(&self, order: Order) -> BoxFuture<'static, Result<(), Failure>>;
}

/// Both ends of an agent.
pub struct Agent {
    /// What it says.
    pub events: Box<dyn Events>,
    /// What it is told.
    pub orders: Arc<dyn Orders>,
    /// True where it waits for a prompt from the start and does not say so.
    pub ready: bool,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("ready", &self.ready).finish_non_exhaustive()
    }
}

/// How a session was asked for. Kept in the log, so that it can be gone on with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Wanted {
    /// Its id in Pollux.
    pub id: String,
    /// The driver.
    pub driver: Driver,
    /// Where the agent works.
    pub cwd: PathBuf,
    /// The mode to begin with.
    pub mode: Mode,
    /// The model.
    pub model: Option<String>,
    /// The agent's own id of the session that is gone on with.
    pub agent_id: Option<String>,
    /// The file of the session that is gone on with.
    pub file: Option<PathBuf>,
}

impl Wanted {
    /// As a client asked for it.
    pub fn new(begin: &Begin, agent_id: Option<String>) -> Self {
        Self {
            id: uuid::Uuid::new_v4().to_string(),
            driver: begin.driver.unwrap_or(Driver::Headless),
            cwd: begin.cwd.clone(),
            mode: begin.mode.unwrap_or_default(),
            model: begin.model.clone(),
            agent_id,
            file: None,
        }
    }
}

/// Starts an agent. Tests have their own.
pub type Start =
    Arc<dyn Fn(Wanted) -> BoxFuture<'static, Result<Agent, Failure>> + Send + Sync + 'static>;

/// The ways to start agents.
#[derive(Clone)]
pub struct Agents {
    start: Start,
    home: Option<PathBuf>,
    /// The drivers that there are.
    pub drivers: Vec<Driver>,
}

impl fmt::Debug for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agents").field("drivers", &self.drivers).finish_non_exhaustive()
    }
}

impl Agents {
    /// Gemini CLI, as it is found on this machine.
    pub fn gemini(search: Search, home: PathBuf) -> Self {
        let at = home.clone();
        let start = move |wanted: Wanted| -> BoxFuture<'static, Result<Agent, Failure>> {
            let (search, home) = (search.clone(), home.clone());
            Box::pin(async move { headless::start(wanted, search, home).await })
        };
        Self { start: Arc::new(start), home: Some(at), drivers: vec![Driver::Headless] }
    }

    /// Agents of one's own.
    pub fn of(start: Start, drivers: Vec<Driver>) -> Self {
        Self { start, home: None, drivers }
    }

    /// The file of a session, by the agent's own id.
    pub fn file_of(&self, id: &str) -> Option<PathBuf> {
        headless::file_of(self.home.as_ref()?, id)
    }

    /// Starts one.
    pub async fn start(&self, wanted: Wanted) -> Result<Agent, Failure> {
        (self.start)(wanted).await
    }
}
