//! A headless run: starts the CLI, reads what it prints and what it writes down, and ends it.

mod work;

use super::super::cli::{self, Cli, Search};
use super::super::hooks::KEY;
use super::super::settings::{self, Machine, Own};
use super::order::Order;
use super::place::Place;
pub use crate::model::Outcome;
use crate::model::{Event, Failure, Mode, Phase};
use crate::process::Program;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How many events may wait for a reader. When there are more, the CLI is read no further until there is room.
const WAITING: usize = 1024;
/// How long the CLI may take to stop when it is asked to.
const GRACE: Duration = Duration::from_secs(5);

/// One prompt for Gemini CLI, to be run headless.
///
/// ```
/// use pollux_agent::gemini::cli::{Cli, Version};
/// use pollux_agent::gemini::stream::Run;
/// use pollux_agent::model::Mode;
/// # use std::os::unix::fs::PermissionsExt;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), pollux_agent::model::Failure> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("gemini");
/// # let script = r#"#!/bin/sh
/// # echo '{"type":"init","session_id":"s1","model":"auto"}'
/// # echo '{"type":"message","role":"assistant","content":"Hi there.","delta":true}'
/// # echo '{"type":"result","status":"success"}'
/// # "#.trim_start();
/// # std::fs::write(&path, script).unwrap();
/// # std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
/// # let home = directory.path();
/// // `Run` finds the CLI by itself; here it is told where it is.
/// let cli = Cli { path, version: Some(Version::new(0, 61, 0)) };
/// let mut run = Run::new("hello").mode(Mode::Yolo).cli(cli).home(home).start().await?;
/// while let Some(event) = run.next().await {
///     println!("{}", serde_json::to_string(&event).unwrap());
/// }
/// let outcome = run.outcome().await;
/// assert_eq!(outcome.text, "Hi there.");
/// assert!(outcome.error.is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Run {
    pub(super) order: Order,
    cli: Option<Cli>,
    home: Option<PathBuf>,
    cwd: PathBuf,
    env: Vec<(OsString, OsString)>,
    resumed: Option<PathBuf>,
    timeout: Option<Duration>,
    max_turns: Option<u64>,
    grace: Duration,
}

impl Run {
    /// A run of one prompt, in the working directory of this process and in the mode that only reads.
    pub fn new(prompt: impl Into<String>) -> Self {
        Self {
            order: Order { prompt: prompt.into(), ..Order::default() },
            cli: None,
            home: None,
            cwd: PathBuf::from("."),
            env: Vec::new(),
            resumed: None,
            timeout: None,
            max_turns: None,
            grace: GRACE,
        }
    }

    /// What the agent may do.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.order.mode = mode;
        self
    }

    /// The model, in the CLI's words.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.order.model = Some(model.into());
        self
    }

    /// The CLI to run. Without this it is looked for.
    #[must_use]
    pub fn cli(mut self, cli: Cli) -> Self {
        self.cli = Some(cli);
        self
    }

    /// The home that holds the CLI's directory `.gemini`. Without this it is what `GEMINI_CLI_HOME` names, else the user's.
    #[must_use]
    pub fn home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// The directory that the agent works in.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = cwd.into();
        self
    }

    /// One more directory that the agent may work in.
    #[must_use]
    pub fn include(mut self, directory: impl Into<PathBuf>) -> Self {
        self.order.include.push(directory.into());
        self
    }

    /// A file that belongs to the prompt, such as a picture.
    #[must_use]
    pub fn attach(mut self, file: impl Into<PathBuf>) -> Self {
        self.order.attach.push(file.into());
        self
    }

    /// Goes on with a session, whose file is `file`.
    #[must_use]
    pub fn resume(mut self, id: impl Into<String>, file: impl Into<PathBuf>) -> Self {
        self.order.resume = Some(id.into());
        self.resumed = Some(file.into());
        self
    }

    /// The id that the new session shall have.
    #[must_use]
    pub fn session_id(mut self, id: impl Into<String>) -> Self {
        self.order.session_id = Some(id.into());
        self
    }

    /// A tool that the agent may use without asking.
    #[must_use]
    pub fn allow_tool(mut self, tool: impl Into<String>) -> Self {
        self.order.allow.push(tool.into());
        self
    }

    /// One more argument for the CLI, passed on as it is.
    #[must_use]
    pub fn extra_arg(mut self, arg: impl Into<OsString>) -> Self {
        self.order.extra.push(arg.into());
        self
    }

    /// One more variable for the CLI.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// How long it may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How often the model may be asked. The CLI keeps that itself where it can be told (before 0.60); where it cannot, it is
    /// asked to stop, and one more request may be on its way by then.
    #[must_use]
    pub fn max_turns(mut self, turns: u64) -> Self {
        self.max_turns = Some(turns);
        self
    }

    /// How long the CLI may take to stop when it is asked to.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Starts the CLI.
    pub async fn start(self) -> Result<Running, Failure> {
        let search = Search::of_process();
        let cli = Cli::to_drive(self.cli.clone(), &search).await?;
        let cwd = self.cwd.canonicalize().map_err(|error| cli::no_directory(&self.cwd, &error))?;
        let (args, input) = self.order.arguments(&cli, &cwd)?;
        let home =
            self.home.clone().or_else(|| search.home_of(&self.env)).unwrap_or_else(|| cwd.clone());
        let own = self.own_settings(&cli, &search);
        let mut program = Program::new(&cli.path, &cwd).args(args).input(input);
        // One process instead of two, of which the first would ignore our signals.
        program = program.env("GEMINI_CLI_NO_RELAUNCH", "true");
        // Its hooks are its own, also where an agent in a terminal has started us.
        program = program.env(KEY, "");
        for (name, value) in &self.env {
            program = program.env(name, value);
        }
        for (name, path) in own.iter().flat_map(Own::variables) {
            program = program.env(name, path);
        }
        // Looked at before the CLI touches it.
        let gemini = home.join(".gemini");
        let place = match &self.resumed {
            Some(file) => Place::resumed(gemini, file),
            None => Place::new(gemini),
        };
        let child = program.spawn().map_err(|error| not_started(&cli, &error))?;
        let (tell, events) = mpsc::channel(WAITING);
        let (cancel, kill) = (CancellationToken::new(), CancellationToken::new());
        let work = work::Work {
            child,
            place,
            tell,
            cancel: cancel.clone(),
            kill: kill.clone(),
            timeout: self.timeout,
            max_turns: self.max_turns,
            grace: self.grace,
            _settings: own,
        };
        let mut task = JoinSet::new();
        task.spawn(work.run());
        Ok(Running { events, task, stop: Stop { cancel, kill } })
    }

    /// Settings that make the CLI count its turns itself, where it takes them. Where not, we alone count.
    fn own_settings(&self, cli: &Cli, search: &Search) -> Option<Own> {
        let turns = self.max_turns.filter(|_| settings::are_taken(cli))?;
        Machine::of(&self.env, search).with(&[settings::turns(turns)]).ok().flatten()
    }
}

fn not_started(cli: &Cli, error: &io::Error) -> Failure {
    let message = format!("could not start {}: {error}", cli.path.display());
    Failure::new(Phase::Start, "not_started", message)
        .hint("check that Node.js is installed and on the PATH")
}

/// A run that is on its way. Dropping it ends the CLI, and all that it started, at once.
#[derive(Debug)]
pub struct Running {
    events: mpsc::Receiver<Event<'static>>,
    task: JoinSet<Outcome>,
    stop: Stop,
}

/// Stops a run, from anywhere.
#[derive(Debug, Clone)]
pub struct Stop {
    cancel: CancellationToken,
    kill: CancellationToken,
}

impl Stop {
    /// Asks the CLI to stop. What it did so far is told, and then the run ends.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Ends the CLI, and all that it started, at once.
    pub fn kill(&self) {
        self.kill.cancel();
    }
}

impl Running {
    /// The next event; none when the run is over.
    pub async fn next(&mut self) -> Option<Event<'static>> {
        self.events.recv().await
    }

    /// Something that can stop the run while somebody else reads its events.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Waits for the end. Events that were not read are read over.
    pub async fn outcome(mut self) -> Outcome {
        while self.events.recv().await.is_some() {}
        let broken = || {
            let failure =
                Failure::new(Phase::Response, "driver_broken", "the driver stopped unexpectedly");
            let failure = failure.hint("this is a bug in Pollux; try again");
            Outcome { error: Some(failure), ..Outcome::default() }
        };
        self.task.join_next().await.and_then(Result::ok).unwrap_or_else(broken)
    }
}
