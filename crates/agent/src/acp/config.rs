//! How an agent is started and talked to: every field with its default.

use super::dialect::{Dialect, Plain};
use super::policy::Policy;
use serde::Serialize;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long things may take. The error says which of them ran out.
#[derive(Debug, Clone, Copy)]
pub struct Budgets {
    /// From the start of the process to its answer to `initialize`. 60 seconds: cold starts of 12 seconds were seen, and
    /// a loaded machine takes longer; a shorter budget gives up on agents that would have come.
    pub start: Duration,
    /// For each call that no model is behind: opening a session, its mode, its model. 30 seconds.
    pub control: Duration,
    /// For one turn. None by default: a turn may work for hours.
    pub turn: Option<Duration>,
    /// For the end of a turn that was cancelled. 5 seconds; then it is over for us, whatever the agent does.
    pub cancel: Duration,
    /// How long it must be quiet behind the answer to a prompt before the turn is over: what comes late still belongs to
    /// it. 200 milliseconds.
    pub quiet: Duration,
    /// How long that may go on. 2 seconds.
    pub quiet_cap: Duration,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            start: Duration::from_mins(1),
            control: Duration::from_secs(30),
            turn: None,
            cancel: Duration::from_secs(5),
            quiet: Duration::from_millis(200),
            quiet_cap: Duration::from_secs(2),
        }
    }
}

/// What a budget is spent on, and what a failure happened in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// `initialize`.
    Handshake,
    /// `authenticate`.
    Auth,
    /// `session/new`.
    New,
    /// `session/load`.
    Load,
    /// `session/prompt`.
    Prompt,
    /// `session/set_mode`, `session/set_model`.
    Control,
}

/// An MCP server that the agent shall use.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum McpServer {
    /// A program that talks over its stdin and stdout.
    Stdio {
        /// What the server is called.
        name: String,
        /// The program.
        command: PathBuf,
        /// Its arguments.
        args: Vec<String>,
        /// Its variables.
        env: Vec<Variable>,
    },
    /// A server at an address.
    Remote {
        /// `http` or `sse`.
        #[serde(rename = "type")]
        transport: Transport,
        /// What the server is called.
        name: String,
        /// Where it is.
        url: String,
        /// What is sent with each request.
        headers: Vec<Variable>,
    },
}

impl McpServer {
    /// What the server is called.
    pub fn name(&self) -> &str {
        match self {
            Self::Stdio { name, .. } | Self::Remote { name, .. } => name,
        }
    }
}

/// How an MCP server at an address is talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Streamable HTTP.
    Http,
    /// Server-sent events.
    Sse,
}

/// A name with a value: a variable, or a header.
#[derive(Debug, Clone, Serialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Which way a message went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// To the agent.
    Out,
    /// From the agent.
    In,
}

/// Hears every line in both directions, as it was.
pub type Listener = Arc<dyn Fn(Direction, &str) + Send + Sync>;

/// How an agent is started and talked to.
#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Config {
    /// The program.
    pub program: PathBuf,
    /// Its arguments. None by default.
    pub args: Vec<OsString>,
    /// Variables besides those of this process. None by default.
    pub env: Vec<(OsString, OsString)>,
    /// Where it works. The directory of this process by default.
    pub cwd: PathBuf,
    /// How long things may take.
    pub budgets: Budgets,
    /// Who answers its questions. [`Policy::Ask`] by default: whoever holds the session.
    pub policy: Policy,
    /// Whether thoughts are told. They are by default.
    pub thoughts: bool,
    /// Whether the agent may read files through us, where a session works. It may not by default: it reads them by itself.
    pub file_reads: bool,
    /// Whether the agent may write files through us. It may not by default.
    pub file_writes: bool,
    /// Whether the agent may have commands run by us, where a session works. It may not by default: it runs them by itself,
    /// and what it has us run is not asked about.
    pub terminals: bool,
    /// Whether `initialized` is sent behind the answer to `initialize`. It is by default; an agent that does not know it
    /// is to ignore it.
    pub initialized: bool,
    /// What the agent does differently. Nothing by default.
    pub dialect: Arc<dyn Dialect>,
    /// Hears every line, as it was. Nobody by default.
    pub listener: Option<Listener>,
    /// What must live as long as the agent does, such as a file of settings.
    pub(crate) keep: Option<Arc<dyn std::any::Any + Send + Sync>>,
}

impl Config {
    /// An agent of which nothing is known but its command.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: PathBuf::from("."),
            budgets: Budgets::default(),
            policy: Policy::Ask,
            thoughts: true,
            file_reads: false,
            file_writes: false,
            terminals: false,
            initialized: true,
            dialect: Arc::new(Plain),
            listener: None,
            keep: None,
        }
    }

    /// The same with arguments.
    #[must_use]
    pub fn args<S: Into<OsString>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// The same with a variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// The same in another directory.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = cwd.into();
        self
    }

    /// The same with another policy.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// The same with other budgets.
    #[must_use]
    pub fn budgets(mut self, budgets: Budgets) -> Self {
        self.budgets = budgets;
        self
    }

    /// The same with somebody who hears every line.
    #[must_use]
    pub fn listener(mut self, listener: Listener) -> Self {
        self.listener = Some(listener);
        self
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Variables may be secret.
        f.debug_struct("Config")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("cwd", &self.cwd)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
