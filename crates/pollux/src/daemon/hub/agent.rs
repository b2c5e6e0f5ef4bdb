//! An agent that lives: events come out of it, orders go into it, whichever driver it has.

use super::brought::Brought;
use super::terminal::{self, Tmux};
use super::{acp, headless};
use crate::api::{Begin, Driver};
use crate::daemon::team::badge::Badges;
use crate::team::given::Given;
use futures::future::BoxFuture;
use pollux_agent::gemini::cli::{Cli, Search};
use pollux_agent::gemini::terminal::{Found, Words};
use pollux_agent::gemini::transcript::follow::Follow;
use pollux_agent::gemini::transcript::resume::is_stub;
use pollux_agent::model::{Event, Failure, Mode};
use pollux_agent::session::Order;
use pollux_agent::terminal::Pane;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;

/// Events of an agent, in order. Dropping it ends the agent where the driver says so.
pub trait Events: Send {
    /// The next one; none when the agent is gone.
    fn next(&mut self) -> BoxFuture<'_, Option<Event<'static>>>;
}

/// Takes orders. Not to be waited for without hearing events at the same time: an agent may have to say something first.
pub trait Orders: Send + Sync {
    /// Hands an order to the agent.
    fn order(&self, order: Order) -> BoxFuture<'static, Result<(), Failure>>;

    /// Passes on what a hook of the agent was told, where the driver has a use for it.
    fn hook(&self, _line: String) -> Option<BoxFuture<'static, Result<(), Failure>>> {
        None
    }

    /// The terminal that the agent is in, if it is in one.
    fn pane(&self) -> Option<Pane> {
        None
    }
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
    /// The terminal in which the agent is already. A daemon that comes later finds it anew.
    #[serde(skip)]
    pub found: Option<Found>,
    /// How far the file was read of an agent that is there already.
    #[serde(skip)]
    pub place: Arc<Mutex<Option<Follow>>>,
    /// What its process is given, and no other.
    #[serde(default)]
    pub given: Option<Given>,
    /// Its agent, where that lives in another process.
    #[serde(skip)]
    pub brought: Option<Brought>,
}

impl Wanted {
    /// As a client asked for it.
    pub fn new(begin: &Begin, agent_id: Option<String>) -> Self {
        Self {
            id: uuid::Uuid::new_v4().to_string(),
            driver: begin.driver.unwrap_or_default(),
            cwd: begin.cwd.clone(),
            mode: begin.mode.unwrap_or_default(),
            model: begin.model.clone(),
            agent_id,
            file: None,
            found: None,
            place: Arc::default(),
            given: None,
            brought: None,
        }
    }

    /// Nobody can go on with a session in which nothing was said before its agent was gone: it is begun anew.
    async fn unless_empty(mut self, home: &Path) -> Self {
        let Some(id) = self.agent_id.clone().filter(|_| self.found.is_none()) else { return self };
        let (file, home) = (self.file.clone(), home.to_path_buf());
        let empty = tokio::task::spawn_blocking(move || {
            let file = file.or_else(|| headless::file_of(&home, &id, None));
            file.is_some_and(|file| is_stub(&file))
        });
        if empty.await.unwrap_or_default() {
            (self.agent_id, self.file) = (None, None);
        }
        self
    }

    /// An agent that is there already, in a terminal.
    pub fn in_terminal(found: Found, id: String) -> Self {
        let key = found.key.clone().filter(|key| !key.starts_with("new-"));
        Self {
            id,
            driver: Driver::Terminal,
            cwd: found.cwd.clone(),
            mode: Mode::default(),
            model: None,
            agent_id: key,
            file: None,
            found: Some(found),
            place: Arc::default(),
            given: None,
            brought: None,
        }
    }
}

/// Whether the CLI takes this for a command, which it runs without asking anybody: one of its own, however it is driven; in
/// a terminal also one for the shell.
pub fn is_command(driver: Driver, text: &str) -> bool {
    match Words::typed(text) {
        Words::Command(_) => true,
        Words::Shell(_) => driver == Driver::Terminal,
        // Over ACP they may begin so as well. Names of variables are mostly written in capitals.
        Words::Prompt(text) => {
            let rest = text.strip_prefix('$').filter(|_| driver == Driver::Acp);
            let name = rest.map(|rest| rest.trim_start_matches(|c: char| !c.is_ascii_graphic()));
            name.is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
        }
    }
}

/// Where Gemini CLI is, and what it is given.
#[derive(Debug, Clone)]
pub struct Gemini {
    /// The CLI; where there is none it is looked for.
    pub cli: Option<Cli>,
    /// Where it is looked for.
    pub search: Search,
    /// The home that holds its directory `.gemini`.
    pub home: PathBuf,
    /// Where copies of sessions are kept that are gone on with.
    pub aside: PathBuf,
    /// More variables for it.
    pub env: Vec<(OsString, OsString)>,
    /// Where its terminals are.
    pub tmux: Tmux,
    /// Where agents of teams get what they are lent.
    pub badges: Arc<Badges>,
}

impl Gemini {
    /// The CLI, which is looked for if it is not known. Fails if it is too old.
    pub(super) async fn cli(&self) -> Result<Cli, Failure> {
        Cli::to_drive(self.cli.clone(), &self.search).await
    }
}

/// Starts an agent. Tests have their own.
pub type Start =
    Arc<dyn Fn(Wanted) -> BoxFuture<'static, Result<Agent, Failure>> + Send + Sync + 'static>;

/// How many agents may start at once. Fifty that start together on two cores take longer, each of them, than an agent may take.
/// More than the cores have room for, so that a few that hang do not hold up the others.
fn starts() -> usize {
    std::thread::available_parallelism().map_or(4, |cores| cores.get().max(2) * 2)
}

/// The ways to start agents.
#[derive(Clone)]
pub struct Agents {
    start: Start,
    home: Option<PathBuf>,
    /// Where terminals are.
    pub(super) tmux: Option<Tmux>,
    badges: Arc<Badges>,
    /// The drivers that there are.
    pub drivers: Vec<Driver>,
}

impl fmt::Debug for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agents").field("drivers", &self.drivers).finish_non_exhaustive()
    }
}

impl Agents {
    /// Gemini CLI.
    pub fn gemini(gemini: Gemini) -> Self {
        let (home, tmux) = (Some(gemini.home.clone()), Some(gemini.tmux.clone()));
        let badges = Arc::clone(&gemini.badges);
        let room = Arc::new(Semaphore::new(starts()));
        let start = move |wanted: Wanted| -> BoxFuture<'static, Result<Agent, Failure>> {
            let (gemini, room) = (gemini.clone(), Arc::clone(&room));
            Box::pin(async move {
                // The semaphore is never closed.
                let _turn = room.acquire().await;
                let wanted = wanted.unless_empty(&gemini.home).await;
                match wanted.driver {
                    Driver::Headless => headless::start(wanted, gemini).await,
                    Driver::Acp => acp::start(wanted, gemini).await,
                    Driver::Terminal => terminal::start(wanted, gemini).await,
                }
            })
        };
        let drivers = vec![Driver::Acp, Driver::Headless, Driver::Terminal];
        Self { start: Arc::new(start), home, tmux, badges, drivers }
    }

    /// Agents of one's own.
    pub fn of(start: Start, drivers: Vec<Driver>) -> Self {
        Self { start, home: None, tmux: None, badges: Arc::default(), drivers }
    }

    /// Who holds which credential.
    pub fn badges(&self) -> Arc<Badges> {
        Arc::clone(&self.badges)
    }

    /// The file of a session, by the agent's own id. An agent that was adopted may have a home of its own, of which the
    /// index knows nothing.
    pub fn file_of(
        &self,
        id: &str,
        found: Option<&Found>,
        index: Option<&Path>,
    ) -> Option<PathBuf> {
        let own = found.and_then(|found| found.gemini.as_deref()?.parent());
        let own = own.filter(|own| Some(*own) != self.home.as_deref());
        headless::file_of(own.or(self.home.as_deref())?, id, index.filter(|_| own.is_none()))
    }

    /// The home that holds the agent's directory.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Starts one.
    pub async fn start(&self, wanted: Wanted) -> Result<Agent, Failure> {
        match &wanted.brought {
            Some(brought) => brought.take(),
            None => (self.start)(wanted).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_command;
    use crate::api::Driver;

    #[test]
    fn what_the_cli_would_run_is_a_command_and_what_only_looks_like_one_is_not() {
        let drivers = [Driver::Acp, Driver::Headless, Driver::Terminal];
        let hidden = ["\u{feff}/\u{feff}restore", "\u{200b}/quit", "\u{1}/quit"];
        for text in ["/extensions install x", " / memory add x"].into_iter().chain(hidden) {
            assert!(drivers.into_iter().all(|driver| is_command(driver, text)), "{text:?}");
        }
        for text in ["/etc/hosts: what is it?", "// a comment", "$HOME is what?", "$5 a month", ""]
        {
            assert!(!drivers.into_iter().any(|driver| is_command(driver, text)), "{text:?}");
        }
        assert!(is_command(Driver::Terminal, "!ls") && !is_command(Driver::Acp, "!ls"));
        for text in ["$extensions link x", "$ \u{feff}memory"] {
            assert!(
                is_command(Driver::Acp, text) && !is_command(Driver::Terminal, text),
                "{text:?}"
            );
        }
    }
}
