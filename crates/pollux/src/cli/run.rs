//! `pollux run`: a prompt for the agent, over ACP or headless.

mod acp;
mod ask;
mod claude;
mod denials;
mod live;
mod output;
pub(super) mod prompt;
pub(super) mod resume;

use crate::cli::complete::ids;
use crate::config::Config;
use crate::ends::Ends;
use crate::report;
use crate::trouble::{Kind, Trouble};
use anyhow::Context;
use clap::ValueEnum;
use clap_complete::ArgValueCompleter;
use live::Live;
use output::Output;
use pollux_agent::gemini::cli::Cli;
use pollux_agent::gemini::stream::{Outcome, Run as Order, Running};
use pollux_agent::model::{Failure, Mode, Phase, StopReason};
pub(super) use prompt::{duration, seconds, span};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// Run one prompt and wait until the agent is done
///
/// The prompt is the argument, stdin, or both. With both, stdin comes first.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The agent asks before it changes anything. `--permission` decides who answers \
    (default: you on a terminal, otherwise `deny`). With `--via headless` the agent cannot ask, and in mode `default` it only reads.\n\n\
    Examples:\n  pollux run \"what does this project do?\"\n  \
    git diff | pollux run \"review this\" -o json | jq -r .text\n  \
    pollux run --mode auto-edit --resume latest \"now the tests\"\n  \
    pollux run --interactive \"let us fix the tests\"\n  \
    pollux run --mode yolo -o events \"run the tests\" | jq .type"
)]
pub(crate) struct Run {
    /// Prompt; `-` reads stdin
    prompt: Option<String>,
    /// What the agent may do without asking: default, auto-edit, yolo or plan
    #[arg(long, default_value = "default", value_parser = mode, hide_default_value = true,
        long_help = modes_help("What the agent may do without asking"))]
    mode: Mode,
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
    /// File to attach to the prompt, such as an image
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    /// Time limit for a turn, e.g. 90s, 10m or 1h
    #[arg(long, value_parser = prompt::duration)]
    timeout: Option<Duration>,
    /// Maximum number of model requests
    #[arg(long, value_name = "N", value_parser = prompt::at_least_one)]
    max_turns: Option<u64>,
    /// Environment variable for the agent
    #[arg(long, value_name = "NAME=VALUE", value_parser = prompt::variable)]
    env: Vec<(String, String)>,
    /// Tool that the agent may use without asking, e.g. `run_shell_command(git)`
    #[arg(long, value_name = "TOOL")]
    allow_tool: Vec<String>,
    /// Argument to pass to the agent unchanged
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    extra_arg: Vec<OsString>,
    /// Path to the agent's executable
    #[arg(long, value_name = "FILE")]
    agent_path: Option<PathBuf>,
    /// Run another agent: a command that speaks the Agent Client Protocol (ACP) on stdio
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["agent_path", "session_id", "include", "allow_tool", "extra_arg"])]
    agent_command: Option<String>,
    /// How Pollux runs the agent (default: acp; headless with `--session-id`)
    #[arg(long, value_enum)]
    via: Option<Via>,
    /// Who answers the agent's questions (ACP only)
    #[arg(long, value_enum)]
    permission: Option<acp::Permission>,
    /// Rules file for `--permission rules`
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Keep the session open and read more prompts, one per line
    #[arg(long, short)]
    interactive: bool,
    /// Output format
    #[arg(long, short, value_enum, default_value_t = Format::Text, hide_default_value = true)]
    output: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Via {
    /// A new process for each prompt; the agent cannot ask questions
    Headless,
    /// One process for the session (Agent Client Protocol); the agent can ask questions
    Acp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Answer as it arrives; tool calls and thoughts on stderr
    Text,
    /// One JSON object at the end
    Json,
    /// Every event as it happens, one JSON object per line
    Events,
    /// Output of `claude -p --output-format stream-json --verbose`
    Claude,
}

pub(super) fn mode(name: &str) -> Result<Mode, String> {
    let names = "default, auto-edit, yolo, plan, acceptEdits, bypassPermissions";
    Mode::named(name).ok_or_else(|| format!("expected one of {names}"))
}

/// The help of a flag that takes a mode: a summary, and what each mode means.
pub(super) fn modes_help(summary: &str) -> String {
    format!(
        "{summary}\n\nPossible values:\n\
        - default:   Read files; ask before edits and commands\n\
        - auto-edit: Also edit files; ask before commands (alias acceptEdits)\n\
        - yolo:      Do everything without asking (alias bypassPermissions)\n\
        - plan:      Read files and write a plan; change nothing else\n\n\
        A headless agent (one process per prompt) cannot ask, so anything that needs approval is denied."
    )
}

pub(super) fn run(args: Run, config: &Config) -> anyhow::Result<ExitCode> {
    let runtime = super::session::runtime().context("could not start the async runtime")?;
    let ended = runtime.block_on(drive(args, config));
    // Somebody who still reads from stdin does not hold up the end.
    runtime.shutdown_background();
    ended
}

async fn drive(args: Run, config: &Config) -> anyhow::Result<ExitCode> {
    acp::check(&args)?;
    let cwd = args.cwd.as_ref().map_or_else(|| config.cwd.clone(), |cwd| config.cwd.join(cwd));
    let here = Here { args: &args, cwd: &cwd, config };
    let mut output = Output::new(args.output, &cwd, args.mode);
    let prompt = first_prompt(&args)?;
    let outcome = match agent(&args, config).await? {
        // Each of its turns is told to its end.
        Ok((Via::Acp, cli)) => acp::drive(here, prompt, cli, &mut output).await?,
        Ok((Via::Headless, cli)) => {
            let prompt = prompt.unwrap_or_default();
            told(headless(here, prompt, cli, &mut output).await?, &mut output)?
        }
        Err(failure) => told(not_started(failure), &mut output)?,
    };
    Ok(exit(&outcome))
}

/// Tells how a run ended.
fn told(outcome: Outcome, output: &mut Output) -> anyhow::Result<Outcome> {
    output.end(&outcome)?;
    Ok(outcome)
}

/// What is asked for, where, and in which environment.
#[derive(Clone, Copy)]
struct Here<'a> {
    args: &'a Run,
    cwd: &'a Path,
    config: &'a Config,
}

/// The first prompt; none where it is the first line of a session that is kept.
fn first_prompt(args: &Run) -> anyhow::Result<Option<String>> {
    if args.interactive {
        return Ok(args.prompt.clone().filter(|prompt| prompt != "-"));
    }
    let prompt = prompt::read(args.prompt.as_deref())?;
    if prompt.trim().is_empty() && args.attach.is_empty() {
        return Err(prompt::none());
    }
    Ok(Some(prompt))
}

/// The agent, and how to talk to it: over ACP where it can, unless something is wanted that only headless has.
async fn agent(args: &Run, config: &Config) -> anyhow::Result<Result<(Via, Option<Cli>), Failure>> {
    acp::are_rules_used(args)?;
    if args.agent_command.is_some() {
        return match args.via {
            Some(Via::Headless) => {
                let message = "`--agent-command` cannot be used with `--via headless`".to_owned();
                Err(refused("only_acp", message, "remove `--via headless`"))
            }
            _ => Ok(Ok((Via::Acp, None))),
        };
    }
    let cli = match config.cli(args.agent_path.as_ref()).await {
        Ok(cli) => cli,
        Err(failure) => return Ok(Err(failure)),
    };
    let acp_only = args.interactive || args.permission.is_some() || args.rules.is_some();
    let has_acp = cli.version.is_some() && args.session_id.is_none();
    let via = match args.via {
        Some(via) => via,
        None if acp_only || has_acp => Via::Acp,
        None => Via::Headless,
    };
    match via {
        Via::Acp if args.session_id.is_some() => {
            let message =
                "`--session-id` cannot be used with ACP: the agent chooses the ID".to_owned();
            Err(refused("only_headless", message, "use `--via headless`, or remove `--session-id`"))
        }
        Via::Headless if acp_only => {
            let message =
                "a headless agent cannot ask questions and takes only one prompt".to_owned();
            let hint = "`--interactive`, `--permission` and `--rules` need `--via acp`";
            Err(refused("only_acp", message, hint))
        }
        via => Ok(Ok((via, Some(cli)))),
    }
}

async fn headless(
    here: Here<'_>,
    prompt: String,
    cli: Option<Cli>,
    output: &mut Output,
) -> anyhow::Result<Outcome> {
    let Here { args, cwd, config } = here;
    let Some(cli) = cli else { return Ok(Outcome::default()) };
    let (mut running, kept) = match start(args, prompt, cwd, config, cli).await? {
        Ok(started) => started,
        Err(failure) => return Ok(not_started(failure)),
    };
    if args.mode == Mode::Default && args.output == Format::Text {
        report::quiet(
            "mode default: the agent can only read; use `--mode auto-edit` or `--mode yolo` to allow changes",
        );
    }
    let outcome = match tell(&mut running, output).await {
        Ok(()) => Ok(running.outcome().await),
        // Nobody reads any more, perhaps: the session must not be left at risk for that.
        Err(error) => {
            running.stop().kill();
            drop(running.outcome().await);
            Err(error)
        }
    };
    let Some(kept) = kept else { return outcome };
    let resumed = kept.resume.id.clone();
    kept.settle();
    // One that was stopped before it has said what it is goes on with what it was told to.
    outcome.map(|outcome| Outcome { session_id: outcome.session_id.or(Some(resumed)), ..outcome })
}

/// Passes the events on until there are no more. Ctrl-C once asks the agent to stop, twice ends it; a terminal that is closed
/// asks too, because nobody is left who could.
async fn tell(running: &mut Running, output: &mut Output) -> anyhow::Result<()> {
    let stop = running.stop();
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut ends = Ends::new()?;
    let mut asked = false;
    let mut live = Live::new(output.is_for_people());
    loop {
        tokio::select! {
            event = running.next() => match event {
                Some(event) => {
                    live.hide();
                    output.event(&event)?;
                    live.show(&event);
                }
                None => return Ok(()),
            },
            () = live.tick() => {}
            _ = interrupted.recv() => {
                if asked {
                    stop.kill();
                } else {
                    live.hide();
                    output.remark("stopping; press Ctrl-C again to kill the agent")?;
                    stop.cancel();
                }
                asked = true;
            }
            () = ends.told() => stop.cancel(),
        }
    }
}

/// Starts the agent. What the rules turn down is an error; what fails is told like any other failure.
async fn start(
    args: &Run,
    prompt: String,
    cwd: &Path,
    config: &Config,
    cli: Cli,
) -> anyhow::Result<Result<(Running, Option<resume::Kept>), Failure>> {
    let mut config = config.clone();
    let mut order = Order::new(prompt).mode(args.mode).cwd(cwd);
    for (name, value) in &args.env {
        order = order.env(name, value);
    }
    config.at_home_of(&args.env);
    let home = config.gemini.parent().unwrap_or(&config.gemini);
    order = order.home(home).cli(cli.clone());
    for directory in &args.include {
        order = order.include(config.cwd.join(directory));
    }
    for file in &args.attach {
        order = order.attach(prompt::attached(&config.cwd.join(file))?);
    }
    if let Some(model) = &args.model {
        order = order.model(model);
    }
    if let Some(id) = &args.session_id {
        order = order.session_id(id);
    }
    if let Some(timeout) = args.timeout {
        order = order.timeout(timeout);
    }
    if let Some(turns) = args.max_turns {
        order = order.max_turns(turns);
    }
    order = args.allow_tool.iter().fold(order, Order::allow_tool);
    order = args.extra_arg.iter().fold(order, Order::extra_arg);
    let kept = match &args.resume {
        Some(wanted) => Some(resume::Kept::new(wanted, cwd, &config, &cli).await?),
        None => None,
    };
    if let Some(kept) = &kept {
        order = order.resume(&kept.resume.id, &kept.resume.file);
    }
    Ok(order.start().await.map(|running| (running, kept)))
}

/// A run that was ended at once: in the middle of a turn of this session, or before there was one.
fn cancelled(session: Option<&str>) -> Outcome {
    let failure = Failure::new(Phase::Cancelled, "cancelled", "the run was cancelled");
    let session_id = session.map(str::to_owned);
    let stop_reason = Some(StopReason::Cancelled);
    Outcome { session_id, stop_reason, error: Some(failure), ..Outcome::default() }
}

fn not_started(failure: Failure) -> Outcome {
    Outcome { stop_reason: Some(StopReason::Error), error: Some(failure), ..Outcome::default() }
}

fn exit(outcome: &Outcome) -> ExitCode {
    match &outcome.error {
        None => ExitCode::SUCCESS,
        Some(error) if error.phase == Phase::Cancelled => ExitCode::from(130),
        Some(error) => match Trouble::from(error.clone()).kind {
            Kind::Refused => ExitCode::from(1),
            Kind::Failed => ExitCode::from(2),
        },
    }
}

fn refused(code: &'static str, message: String, hint: &str) -> anyhow::Error {
    Trouble::refused(code, message).hint(hint).into()
}
