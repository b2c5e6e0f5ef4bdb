//! Starts Gemini CLI as an ACP agent and opens a session, safely.

use super::dialect::Quirks;
use super::live::Live;
use crate::acp::{Agent, Budgets, Config, Listener, McpServer, Open, Policy};
use crate::gemini::cli::{self, Cli, Search};
use crate::gemini::hooks::KEY;
use crate::gemini::settings::{self, Machine};
use crate::gemini::transcript::resume::{Guard, Resume};
use crate::model::{Event, EventKind, Failure, Level, Mode, Phase, Source};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// Gemini CLI as an ACP agent: every field with its default.
///
/// | field | default | |
/// |---|---|---|
/// | `cli` | found | the program and its version |
/// | `home` | `GEMINI_CLI_HOME`, else the user's | the home that holds `.gemini` |
/// | `cwd` | of this process | where the agent works |
/// | `mode` | the CLI's own | `--approval-mode` |
/// | `model` | the CLI's own | `--model` |
/// | `policy` | ask | who answers its questions |
/// | `budgets` | see [`Budgets`] | start 60 s, not 15: cold starts of 12 s were seen on a quiet machine |
/// | `thoughts` | on | whether thoughts are told |
/// | `include` | none | more directories to work in |
/// | `max_turns` | none | how often the model may be asked for one prompt, where the CLI itself can be told (before 0.60) |
/// | `sandbox`, `sandbox_profile` | off | `--sandbox`, `SEATBELT_PROFILE`; refused unless forced |
/// | `file_reads`, `file_writes` | off | whether files go through us |
/// | `mcp` | none | MCP servers |
///
/// ```
/// use pollux_agent::acp::{Policy, Prompt};
/// use pollux_agent::gemini::acp::Gemini;
/// use pollux_agent::gemini::cli::{Cli, Version};
/// use pollux_agent::model::{Effect, EventKind};
/// # use std::os::unix::fs::PermissionsExt;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), pollux_agent::model::Failure> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("gemini");
/// # let script = r#"#!/bin/sh
/// # update() { echo '{"method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":'"$1"'}}}'; }
/// # while read -r line; do case "$line" in
/// # *initialize\"*) echo '{"id":1,"result":{"protocolVersion":1}}';;
/// # *session/new*) echo '{"id":2,"result":{"sessionId":"s1"}}';;
/// # *session/prompt*) echo '{"id":0,"method":"session/request_permission","params":{"sessionId":"s1","options":[{"optionId":"a","name":"Always","kind":"allow_always"},{"optionId":"o","name":"Once","kind":"allow_once"}],"toolCall":{"toolCallId":"run_shell_command-1","kind":"execute","title":"ls"}}}';;
/// # *optionId*) update '"agent_message_chunk","content":{"type":"text","text":"Hi there."}'
/// # echo '{"id":3,"result":{"stopReason":"end_turn"}}';;
/// # esac; done
/// # "#.trim_start();
/// # std::fs::write(&path, script).unwrap();
/// # std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
/// # let home = directory.path();
/// // `Gemini` finds the CLI by itself; here it is told where it is.
/// let cli = Cli { path, version: Some(Version::new(0, 61, 0)) };
/// let mut live = Gemini::new().cli(cli).home(home).cwd(home).policy(Policy::Ask).start().await?;
/// let control = live.control();
/// control.prompt(Prompt::text("what is here?")).await?;
/// while let Some(event) = live.next().await {
///     match &event.kind {
///         EventKind::Asked(question) => {
///             let once = question.options.iter().find(|option| option.effect == Effect::AllowOnce);
///             let once = once.map(|option| option.id.to_string()).unwrap_or_default();
///             control.answer(question.id.to_string(), once, None).await?;
///         }
///         EventKind::TurnEnded { .. } => break,
///         _ => {}
///     }
/// }
/// assert_eq!(live.outcome().unwrap().text, "Hi there.");
/// live.close().await.unwrap();
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Gemini {
    cli: Option<Cli>,
    home: Option<PathBuf>,
    cwd: PathBuf,
    mode: Option<Mode>,
    model: Option<String>,
    max_turns: Option<u64>,
    include: Vec<PathBuf>,
    sandbox: Option<Sandbox>,
    extra: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    open: Option<Resume>,
    mcp: Vec<McpServer>,
    config: Config,
}

#[derive(Debug, Clone)]
struct Sandbox {
    profile: Option<String>,
    forced: bool,
}

impl Default for Gemini {
    fn default() -> Self {
        Self {
            cli: None,
            home: None,
            cwd: PathBuf::from("."),
            mode: None,
            model: None,
            max_turns: None,
            include: Vec::new(),
            sandbox: None,
            extra: Vec::new(),
            env: Vec::new(),
            open: None,
            mcp: Vec::new(),
            config: Config::new("gemini"),
        }
    }
}

impl std::fmt::Debug for Gemini {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Gemini");
        shown.field("cli", &self.cli).field("cwd", &self.cwd).field("mode", &self.mode);
        shown.field("model", &self.model).field("open", &self.open).finish_non_exhaustive()
    }
}

impl Gemini {
    /// The CLI as it is found, in the directory of this process.
    pub fn new() -> Self {
        Self::default()
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

    /// Where the agent works.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = cwd.into();
        self
    }

    /// What the agent may do without asking.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// The model, in the CLI's words.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// How often the CLI may ask the model for one prompt. For all versions there is [`crate::acp::Prompt::max_turns`].
    #[must_use]
    pub fn max_turns(mut self, turns: u64) -> Self {
        self.max_turns = Some(turns);
        self
    }

    /// Who answers its questions.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.config.policy = policy;
        self
    }

    /// How long things may take.
    #[must_use]
    pub fn budgets(mut self, budgets: Budgets) -> Self {
        self.config.budgets = budgets;
        self
    }

    /// Whether thoughts are told.
    #[must_use]
    pub fn thoughts(mut self, told: bool) -> Self {
        self.config.thoughts = told;
        self
    }

    /// One more directory that the agent may work in.
    #[must_use]
    pub fn include(mut self, directory: impl Into<PathBuf>) -> Self {
        self.include.push(directory.into());
        self
    }

    /// Runs the CLI in its sandbox, with a profile of macOS where one is named. Refused unless `forced`: the handshake
    /// never came through a sandbox in any version that was tried.
    #[must_use]
    pub fn sandbox(mut self, profile: Option<String>, forced: bool) -> Self {
        self.sandbox = Some(Sandbox { profile, forced });
        self
    }

    /// Lets the agent read files through us, within its directory.
    #[must_use]
    pub fn file_reads(mut self) -> Self {
        self.config.file_reads = true;
        self
    }

    /// Lets the agent write files through us, within its directory.
    #[must_use]
    pub fn file_writes(mut self) -> Self {
        self.config.file_writes = true;
        self
    }

    /// An MCP server that the agent shall use.
    #[must_use]
    pub fn mcp(mut self, server: McpServer) -> Self {
        self.mcp.push(server);
        self
    }

    /// Goes on with a session instead of beginning a new one.
    #[must_use]
    pub fn resume(mut self, resume: Resume) -> Self {
        self.open = Some(resume);
        self
    }

    /// One more argument for the CLI, passed on as it is.
    #[must_use]
    pub fn extra_arg(mut self, arg: impl Into<OsString>) -> Self {
        self.extra.push(arg.into());
        self
    }

    /// One more variable for the CLI.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// The variables that it is given.
    pub(super) fn variables(&self) -> &[(OsString, OsString)] {
        &self.env
    }

    /// Hears every line in both directions.
    #[must_use]
    pub fn listener(mut self, listener: Listener) -> Self {
        self.config.listener = Some(listener);
        self
    }

    fn arguments(&self) -> Result<Vec<OsString>, Failure> {
        let mut args: Vec<OsString> = vec!["--acp".into()];
        args.extend(self.model.iter().map(|model| format!("--model={model}").into()));
        // Also the default one: settings, those of a repository among them, name another for those who say nothing.
        args.extend(self.mode.map(|mode| format!("--approval-mode={}", mode.upstream()).into()));
        let boxed = |arg: &OsString| arg == "--sandbox" || arg == "-s" || arg == "--sandbox=true";
        let forced = self.sandbox.as_ref().is_some_and(|sandbox| sandbox.forced);
        match &self.sandbox {
            _ if !forced && (self.sandbox.is_some() || self.extra.iter().any(boxed)) => {
                let message =
                    "with a sandbox, Gemini CLI restarts itself and loses its ACP connection";
                return Err(Failure::new(Phase::Start, "sandbox", message)
                    .hint("use `--via headless`, or restrict the agent with a mode and rules"));
            }
            Some(_) => args.push("--sandbox".into()),
            None => {}
        }
        cli::without_commas(self.include.iter().map(PathBuf::as_path))?;
        for directory in &self.include {
            let mut arg = OsString::from("--include-directories=");
            arg.push(directory);
            args.push(arg);
        }
        args.extend(self.extra.iter().cloned());
        Ok(args)
    }

    /// Starts the CLI, without a session.
    pub async fn spawn(self) -> Result<Agent, Failure> {
        let search = Search::of_process();
        let cli = Cli::to_drive(self.cli.clone(), &search).await?;
        self.agent(&cli, &search).await.map(|(agent, _)| agent)
    }

    async fn agent(&self, cli: &Cli, search: &Search) -> Result<(Agent, Option<String>), Failure> {
        let args = self.arguments()?;
        let cwd = self.cwd.clone();
        let home =
            self.home.clone().or_else(|| search.home_of(&self.env)).unwrap_or_else(|| cwd.clone());
        let mut config = self.config.clone();
        config.program.clone_from(&cli.path);
        config.args = args;
        config.cwd = cwd;
        // One process instead of two, of which the first would ignore our signals.
        config = config.env("GEMINI_CLI_NO_RELAUNCH", "true");
        // Its hooks are its own, also where an agent in a terminal has started us.
        config = config.env(KEY, "");
        if let Some(profile) = self.sandbox.as_ref().and_then(|sandbox| sandbox.profile.as_ref()) {
            config = config.env("SEATBELT_PROFILE", profile);
        }
        config.env.extend(self.env.iter().cloned());
        let note = self.own_settings(cli, search, &mut config);
        config.dialect = Arc::new(Quirks {
            gemini: Some(home.join(".gemini")),
            resumed: self.open.as_ref().map(|resume| (resume.id.clone(), resume.file.clone())),
        });
        Ok((Agent::spawn(config).await?, note))
    }

    /// Passes temporary settings to the process, if its version supports them. Returns a note if that
    /// failed.
    fn own_settings(&self, cli: &Cli, search: &Search, config: &mut Config) -> Option<String> {
        if !settings::are_taken(cli) {
            return None;
        }
        let mut ours = settings::safe();
        ours.extend(self.max_turns.map(settings::turns));
        let machine = Machine::of(&self.env, search);
        let place = machine.settings.display().to_string();
        Some(match machine.with(&ours) {
            Ok(Some(own)) => {
                let variables = own.variables().map(|(name, path)| (name.into(), path.into()));
                config.env.extend(variables);
                config.keep = Some(Arc::new(own));
                return None;
            }
            Ok(None) => format!(
                "{place} is not valid JSON, so Pollux left it alone; command output comes from the session file"
            ),
            Err(error) => format!(
                "could not write temporary settings ({error}); command output comes from the session file"
            ),
        })
    }

    /// Starts the CLI and opens a session.
    ///
    /// A session that is gone on with is copied first; its minute is waited for; it is compared message by message when
    /// it was loaded, and put back as it was if anything is missing.
    pub async fn start(mut self) -> Result<Live, Failure> {
        let found = self.cwd.canonicalize();
        let cwd = found.map_err(|error| cli::no_directory(&self.cwd, &error))?;
        self.cwd.clone_from(&cwd);
        let search = Search::of_process();
        let cli = Cli::to_drive(self.cli.clone(), &search).await?;
        let guard = match &self.open {
            Some(resume) => Some(resume.prepare(&cli).await?),
            None => None,
        };
        let (agent, note) = self.agent(&cli, &search).await?;
        let mut open = Open::new(&cwd);
        open.load = self.open.as_ref().map(|resume| resume.id.clone());
        open.mcp = std::mem::take(&mut self.mcp);
        let opened = agent.open(open).await;
        // Loaded or not, its file must be as it was.
        if let Some(guard) = &guard
            && let Err(missing) = checked(guard)
        {
            let cause = opened.err();
            // It writes no more into what is put back.
            agent.close().await;
            return Err(damaged(guard, &missing, cause));
        }
        let session = opened?;
        let mut live = Live { session, agent, guard, early: VecDeque::new() };
        live.early.extend(note.map(|text| {
            Event::new(Source::Pollux, EventKind::Notice { level: Level::Warning, text })
        }));
        Ok(live)
    }
}

/// Looks that every message is in the file of a session that was loaded, or was not.
fn checked(guard: &Guard) -> Result<(), String> {
    // A stub that cannot be moved now is moved at the end.
    let _moved = guard.move_stubs();
    guard.check()
}

/// Puts the file back, when nobody writes it any more.
fn damaged(guard: &Guard, missing: &str, cause: Option<Failure>) -> Failure {
    let _moved = guard.move_stubs();
    let what = match guard.put_back() {
        Ok(()) => "Pollux restored the file".to_owned(),
        Err(error) => format!("Pollux could not restore the file: {error}"),
    };
    let message = format!("loading damaged the session ({missing}); {what}");
    let mut failure = Failure::new(Phase::Request, "resume_damaged", message)
        .hint(format!("a copy is at {}", guard.copy().display()))
        .retryable();
    if let Some(cause) = cause {
        failure.stderr = cause.stderr;
        failure.upstream = cause.upstream;
        failure.rpc_code = cause.rpc_code;
    }
    failure
}
