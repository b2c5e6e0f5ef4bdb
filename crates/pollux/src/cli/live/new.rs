//! `pollux new`: an agent, in a terminal of its own unless another driver is wanted.

use super::send::{begins, come_to_rest, or_leave, rested, told};
use super::tell::{Awaits, Format, Teller};
use super::{attach, only_in_terminals, order, tell, trouble};
use crate::api::{Begin, Driver};
use crate::cli::complete::ids;
use crate::cli::run::{self, prompt, resume};
use crate::cli::session::change::{self, Tell};
use crate::client::Client;
use crate::config::Config;
use crate::report;
use crate::trouble::Trouble;
use clap_complete::ArgValueCompleter;
use pollux_agent::gemini::terminal::{Live, Start, Words, all, is_id_taken};
use pollux_agent::model::{Event, EventKind, Mode, SessionStatus};
use pollux_agent::terminal::Size;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// How many sessions of the daemon are looked through.
const MOST: usize = 1000;

/// So many rows above the screen are looked at for why an agent has ended.
const LAST_WORDS: usize = 50;

/// How long a window may take to open.
const OPENS: Duration = Duration::from_secs(2);

/// How long an agent that is ready may take to begin with its first prompt.
const BEGINS: Duration = Duration::from_secs(20);

/// How long the agent may take to start.
const START: Duration = Duration::from_mins(1);

/// Start or resume a session and print its ID
///
/// The agent runs in a tmux window that stays open after this command exits. With `--driver acp` or `--driver headless`, the
/// daemon runs the agent without a window.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  id=$(pollux new --mode auto-edit)\n  pollux send $id \"now the tests\" --wait\n  \
    pollux attach $id\n  pollux new --driver acp \"fix the tests\" --wait\n\n\
    Exit codes: 0 started (with --wait: turn finished), 1 rejected, 2 failed. \
    With --wait also: 10 question, 11 session ended, 130 turn stopped."
)]
pub(crate) struct New {
    /// First prompt
    prompt: Option<String>,
    /// How Pollux runs the agent (default: terminal)
    #[arg(long)]
    driver: Option<Driver>,
    /// What the agent may do without asking: default, auto-edit, yolo or plan
    #[arg(long, value_parser = run::mode, long_help = run::modes_help("What the agent may do without asking"))]
    mode: Option<Mode>,
    /// Model to use
    #[arg(long, short)]
    model: Option<String>,
    /// Working directory of the agent (default: the current directory)
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Additional directory that the agent may use
    #[arg(long, value_name = "DIR")]
    include: Vec<PathBuf>,
    /// Resume a session: ID, unique prefix, or `latest` (the most recently active session of this project)
    #[arg(long, value_name = "ID|latest", conflicts_with = "session_id", add = ArgValueCompleter::new(ids))]
    resume: Option<String>,
    /// Use this ID for the new session
    #[arg(long, value_name = "ID")]
    session_id: Option<String>,
    /// Environment variable for the agent
    #[arg(long, value_name = "NAME=VALUE", value_parser = prompt::variable)]
    env: Vec<(String, String)>,
    /// Argument to pass to the agent unchanged
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    extra_arg: Vec<String>,
    /// Path to the agent's executable
    #[arg(long, value_name = "FILE")]
    agent_path: Option<PathBuf>,
    /// Terminal size while detached, e.g. 120x40
    #[arg(long, value_name = "WxH", value_parser = size)]
    size: Option<Size>,
    /// Start the agent from a login shell, if it needs variables from your shell profile
    #[arg(long)]
    login_shell: bool,
    /// Attach to the terminal immediately
    #[arg(long)]
    attach: bool,
    /// Stream events until the session ends
    #[arg(long, short, value_enum)]
    output: Option<Format>,
    #[command(flatten)]
    tell: Tell,
}

/// A size as people write it, for clap.
pub(in crate::cli) fn size(text: &str) -> Result<Size, String> {
    let wrong = || "expected COLUMNSxROWS, e.g. 120x40".to_owned();
    Size::parse(text).ok_or_else(wrong)
}

impl New {
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        if let Some(driver @ (Driver::Acp | Driver::Headless)) = self.driver {
            return self.over_daemon(driver, config).await;
        }
        let mut config = config.clone();
        config.at_home_of(&self.env);
        let Some(mut live) = self.start_or_leave(&config).await? else {
            return Ok(ExitCode::from(130));
        };
        let waits = self.tell.wait && self.prompt.is_some() && !self.attach;
        let mut teller = Teller::waiting(self.output, waits && self.tell.json);
        let called = name(&live, &config).await?;
        let begun_at = ready(&mut live, &mut teller, self.output.is_some());
        let Some(works) = or_leave(&called, begun_at).await? else {
            return Ok(ExitCode::from(130));
        };
        let key = name(&live, &config).await?;
        let Some(mut early) = or_leave(&key, self.is_safe(&mut live)).await? else {
            return Ok(ExitCode::from(130));
        };
        if !works && self.leaves_a_turn() {
            let begins = async { anyhow::Ok(begins(&mut live, &mut early, BEGINS).await) };
            match or_leave(&key, begins).await? {
                Some(true) => {}
                Some(false) => report::warn(&format!(
                    "the agent has not started on the prompt yet; check with `pollux screen {key}`"
                )),
                None => return Ok(ExitCode::from(130)),
            }
        }
        if let Some(client) = Client::running(&config).await? {
            tell(&client, &super::find(&key, &config).await?).await?;
        }
        if let Some(format) = self.output {
            if format == Format::Text {
                report::note(&format!("session {key}"));
            }
            told(&early, &mut teller)?;
            let left = or_leave(&key, until_gone(&mut live, &mut teller)).await?.is_none();
            return Ok(if left { ExitCode::from(130) } else { ExitCode::SUCCESS });
        }
        if !(waits && self.tell.json) {
            begun(&key, self.tell.json)?;
        }
        if self.attach {
            return attach::to(&super::find(&key, &config).await?);
        }
        if waits {
            return self.rests(&mut live, &early, &mut teller, &key).await;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Whether a turn goes on when this command has ended. Whoever comes next must not take the agent for idle.
    fn leaves_a_turn(&self) -> bool {
        let prompt = self.prompt.as_deref().map(Words::typed);
        let left = !self.tell.wait && !self.attach && self.output.is_none();
        left && matches!(prompt, Some(Words::Prompt(_)))
    }

    /// Waits until the next start of the CLI, whosever it is, finds nothing for which it would delete a session that is gone on
    /// with. Gives what happened meanwhile.
    async fn is_safe(&self, live: &mut Live) -> anyhow::Result<Vec<Event<'static>>> {
        let mut early = Vec::new();
        if self.resume.is_some() {
            let safe = live.orders();
            order(live, safe.is_whole(), |event| early.push(event)).await?;
        }
        Ok(early)
    }

    /// Waits for the end of the turn that the first prompt begins.
    async fn rests(
        &self,
        live: &mut Live,
        early: &[Event<'static>],
        teller: &mut Teller,
        key: &str,
    ) -> anyhow::Result<ExitCode> {
        teller.awaits(Awaits::Turn);
        let rest = told(early, teller)?;
        let rest = or_leave(key, come_to_rest(live, rest, teller)).await?;
        rested(rest, &serde_json::json!({ "id": key }), teller, self.tell.json)
    }

    async fn over_daemon(self, driver: Driver, config: &Config) -> anyhow::Result<ExitCode> {
        only_in_terminals(&[
            ("--include", !self.include.is_empty()),
            ("--session-id", self.session_id.is_some()),
            ("--env", !self.env.is_empty()),
            ("--extra-arg", !self.extra_arg.is_empty()),
            ("--agent-path", self.agent_path.is_some()),
            ("--size", self.size.is_some()),
            ("--login-shell", self.login_shell),
            ("--attach", self.attach),
            ("--output", self.output.is_some()),
        ])?;
        let client = Client::connect(config).await?;
        let cwd = self.cwd.map_or_else(|| config.cwd.clone(), |cwd| config.cwd.join(cwd));
        let resume = match self.resume.as_deref() {
            Some("latest") => Some(latest(&client, &cwd).await?),
            Some(id) => Some(client.session(id).await?.id),
            None => None,
        };
        let begin = Begin {
            client_id: Some(uuid::Uuid::new_v4().to_string()),
            cwd,
            driver: Some(driver),
            mode: self.mode,
            model: self.model,
            resume,
            prompt: self.prompt,
        };
        change::begin(&client, &begin, self.tell).await
    }

    /// Starts the agent, unless somebody presses Ctrl-C before it has a window: then none is left behind.
    async fn start_or_leave(&self, config: &Config) -> anyhow::Result<Option<Live>> {
        let start = self.start(config);
        tokio::pin!(start);
        tokio::select! {
            live = &mut start => return live.map(Some),
            _ = tokio::signal::ctrl_c() => {}
        }
        // A window that is being opened can be taken away when it is there.
        if let Ok(Ok(live)) = tokio::time::timeout(OPENS, start).await {
            drop(live.pane().kill().await);
        }
        report::note("cancelled; no session was started");
        Ok(None)
    }

    async fn start(&self, config: &Config) -> anyhow::Result<Live> {
        let cwd = self.cwd.as_ref().map_or_else(|| config.cwd.clone(), |cwd| config.cwd.join(cwd));
        let cli = config.cli(self.agent_path.as_ref()).await.map_err(trouble)?;
        let home = config.gemini.parent().unwrap_or(&config.gemini);
        let mut start = Start::new()
            .socket(config.tmux.clone())
            .home(home)
            .cwd(&cwd)
            .mode(self.mode.unwrap_or_default());
        for (name, value) in &self.env {
            start = start.env(name, value);
        }
        for directory in &self.include {
            start = start.include(config.cwd.join(directory));
        }
        if let Some(wanted) = &self.resume {
            let wanted = resume::free(wanted, &cwd, config, None).await?;
            start = start.resume(resume::find(&wanted, &cwd, config, &cli)?);
        }
        start = self.model.iter().fold(start, Start::model);
        start = self.session_id.iter().fold(start, Start::session_id);
        start = self.prompt.iter().fold(start, Start::prompt);
        start = self.extra_arg.iter().fold(start, Start::extra_arg);
        if let Some(size) = self.size {
            start = start.size(size);
        }
        if self.login_shell {
            start = start.in_shell(&config.shell);
        }
        start.cli(cli).start().await.map_err(trouble)
    }
}

/// Tells what happens until the agent is gone.
async fn until_gone(live: &mut Live, teller: &mut Teller) -> anyhow::Result<()> {
    while let Some(event) = live.next().await {
        teller.event(&event)?;
    }
    Ok(())
}

/// Tells the id of a session that has a terminal now.
pub(super) fn begun(id: &str, json: bool) -> anyhow::Result<()> {
    if json {
        report::json(&serde_json::json!({ "id": id }))
    } else {
        report::text(&format!("{id}\n"))
    }
}

/// The latest session of a project, of those that the daemon knows.
async fn latest(client: &Client, cwd: &Path) -> anyhow::Result<String> {
    let real = cwd.canonicalize().unwrap_or_else(|_| cwd.to_path_buf());
    let all = client.sessions(MOST).await?.into_iter();
    let mut of_project =
        all.filter(|session| session.cwd.as_ref().is_some_and(|own| *own == real || own == cwd));
    of_project.next().map(|session| session.id).ok_or_else(|| {
        let message = format!("no sessions found for project {}", cwd.display());
        let trouble = Trouble::refused("no_sessions", message);
        trouble.hint("`pollux ls --all` lists the sessions of all projects").into()
    })
}

/// The session's id, or what it is called until it has one.
async fn name(live: &Live, config: &Config) -> anyhow::Result<String> {
    let all = all(&config.tmux).await.map_err(trouble)?;
    let found = all.into_iter().find(|found| found.pane == live.pane().id());
    Ok(found.and_then(|found| found.key).unwrap_or_default())
}

/// Waits until the agent is ready, and says whether it works, or asks, already.
async fn ready(live: &mut Live, teller: &mut Teller, tell: bool) -> anyhow::Result<bool> {
    let (mut asked, mut works) = (None, false);
    let begun = tokio::time::timeout(START, async {
        while let Some(event) = live.next().await {
            if tell {
                teller.event(&event)?;
            }
            match event.kind {
                EventKind::TurnStarted { .. } => works = true,
                EventKind::SessionChanged(change) => match change.status {
                    Some(SessionStatus::Idle) => return Ok(true),
                    Some(SessionStatus::Working) => {
                        works = true;
                        return Ok(true);
                    }
                    Some(SessionStatus::Exited) => return Ok(false),
                    _ => {}
                },
                EventKind::Asked(question) => {
                    asked = Some(question);
                    return Ok(true);
                }
                _ => {}
            }
        }
        anyhow::Ok(false)
    })
    .await;
    match begun {
        Ok(Ok(true)) => {}
        Ok(Ok(false)) => return Err(screen_of_the_dead(live).await),
        Ok(Err(error)) => return Err(error),
        Err(_) => report::warn("the agent is not ready after 60 s; check with `pollux screen ID`"),
    }
    works |= asked.is_some();
    if let Some(question) = asked.filter(|_| !tell) {
        tell::question(&question);
    }
    Ok(works)
}

/// The agent has ended before it began: its last words say why.
async fn screen_of_the_dead(live: &Live) -> anyhow::Error {
    // Most of it may have gone over the upper edge.
    let mut words = live.pane().history(LAST_WORDS).await.unwrap_or_default();
    words.extend(live.pane().rows().await.unwrap_or_default());
    // The last row is tmux's own.
    words.retain(|row| !row.trim().is_empty() && !row.starts_with("Pane is dead"));
    // What is dead needs no window.
    drop(live.pane().kill().await);
    let message = "the agent exited before it was ready".to_owned();
    let trouble = Trouble::failed("not_started", message);
    let trouble = trouble.hint_of(if is_id_taken(&words) {
        Some("choose another ID, or resume that session with `pollux new --resume ID`")
    } else if words.is_empty() {
        Some("`pollux capabilities` shows what is missing")
    } else {
        None
    });
    if words.is_empty() {
        return trouble.into();
    }
    anyhow::anyhow!("gemini: {}", crate::render::clean(&words.join("\n"))).context(trouble)
}
