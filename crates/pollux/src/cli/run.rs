//! `pollux run`: one prompt for the agent, headless.

mod claude;
mod live;
mod output;
pub(super) mod prompt;
pub(super) mod resume;

use crate::config::Config;
use crate::report;
use crate::trouble::Trouble;
use anyhow::Context;
use clap::ValueEnum;
use live::Live;
use output::Output;
use pollux_agent::gemini::cli::Cli;
use pollux_agent::gemini::stream::{Outcome, Run as Order, Running};
use pollux_agent::model::{Failure, Mode, Phase, StopReason};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// Run one prompt: the agent works until it is done
///
/// The prompt is the argument, or stdin, or both: then stdin comes first.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Headless, the agent can ask nobody. So in the mode `default` the tools that change something are \
    not there: it only reads.\n\nExamples:\n  pollux run \"what does this project do?\"\n  \
    git diff | pollux run \"review this\" -o json | jq -r .text\n  \
    pollux run --mode auto-edit --resume latest \"now the tests\"\n  \
    pollux run --mode yolo -o events \"run the tests\" | jq 'select(.type == \"tool_ended\")'"
)]
pub(crate) struct Run {
    /// The prompt; `-` stands for stdin
    prompt: Option<String>,
    /// What the agent may do: default (only read), auto-edit, yolo, plan; Claude's acceptEdits and bypassPermissions too
    #[arg(long, default_value = "default", value_parser = mode, hide_default_value = true)]
    mode: Mode,
    /// The model
    #[arg(long, short)]
    model: Option<String>,
    /// Where the agent works
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// One more directory that the agent may work in
    #[arg(long, value_name = "DIR")]
    include: Vec<PathBuf>,
    /// Go on with a session: its id, the beginning of it, or `latest` of this project
    #[arg(long, value_name = "ID|latest", conflicts_with = "session_id")]
    resume: Option<String>,
    /// The id that the new session shall have
    #[arg(long, value_name = "ID")]
    session_id: Option<String>,
    /// A file that belongs to the prompt, such as a picture
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    /// How long it may take, such as 90s, 10m or 1h
    #[arg(long, value_parser = prompt::duration)]
    timeout: Option<Duration>,
    /// How often the model may be asked
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_turns: Option<u64>,
    /// A variable for the agent
    #[arg(long, value_name = "NAME=VALUE", value_parser = prompt::variable)]
    env: Vec<(String, String)>,
    /// A tool that the agent may use without asking, such as `run_shell_command(git)`
    #[arg(long, value_name = "TOOL")]
    allow_tool: Vec<String>,
    /// An argument that is passed on to the agent as it is
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    extra_arg: Vec<OsString>,
    /// The agent's program
    #[arg(long, value_name = "FILE")]
    agent_path: Option<PathBuf>,
    /// How to talk to the agent
    #[arg(long, value_enum, default_value_t = Via::Headless, hide_default_value = true)]
    via: Via,
    /// What to print
    #[arg(long, short, value_enum, default_value_t = Format::Text, hide_default_value = true)]
    output: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Via {
    /// One process for one prompt
    Headless,
    /// The Agent Client Protocol
    Acp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The answer as it comes; tools and thoughts on stderr
    Text,
    /// One object at the end
    Json,
    /// Every event as it comes, one object on each line
    Events,
    /// What `claude -p --output-format stream-json --verbose` would print
    Claude,
}

pub(super) fn mode(name: &str) -> Result<Mode, String> {
    let names = "default, auto-edit, yolo, plan, acceptEdits, bypassPermissions";
    Mode::named(name).ok_or_else(|| format!("there is no such mode; there are {names}"))
}

pub(super) fn run(args: Run, config: &Config) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("could not start")?.block_on(drive(args, config))
}

async fn drive(args: Run, config: &Config) -> anyhow::Result<ExitCode> {
    if args.via == Via::Acp {
        report::note("note: `--via acp` is not there yet: the run is headless");
    }
    let cwd = args.cwd.as_ref().map_or_else(|| config.cwd.clone(), |cwd| config.cwd.join(cwd));
    let mut output = Output::new(args.output, &cwd, args.mode);
    let prompt = prompt::read(args.prompt.as_deref())?;
    if prompt.trim().is_empty() && args.attach.is_empty() {
        return Err(prompt::none());
    }
    let started = start(&args, prompt, &cwd, config).await?;
    let (outcome, kept) = match started {
        Ok((mut running, kept)) => {
            if args.mode == Mode::Default && args.output == Format::Text {
                report::quiet(
                    "mode default: the agent can only read; `--mode auto-edit` or `yolo` lets it act",
                );
            }
            tell(&mut running, &mut output).await?;
            (running.outcome().await, kept)
        }
        Err(failure) => (not_started(failure), None),
    };
    if let Some(kept) = kept {
        kept.settle(config);
    }
    output.end(&outcome)?;
    Ok(exit(&outcome))
}

/// Passes the events on until there are no more. Ctrl-C once asks the agent to stop, twice ends it.
async fn tell(running: &mut Running, output: &mut Output) -> anyhow::Result<()> {
    let stop = running.stop();
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
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
                    report::quiet("stopping; Ctrl-C once more ends it at once");
                    stop.cancel();
                }
                asked = true;
            }
            _ = terminated.recv() => stop.cancel(),
        }
    }
}

/// Finds the agent and starts it. What the rules turn down is an error; what fails is told like any other failure.
async fn start(
    args: &Run,
    prompt: String,
    cwd: &Path,
    config: &Config,
) -> anyhow::Result<Result<(Running, Option<resume::Kept>), Failure>> {
    let mut search = config.search.clone();
    search.named = args.agent_path.as_ref().map(|path| config.cwd.join(path)).or(search.named);
    let cache = config.cache.join("agents.json");
    let cli = match Cli::find(&search, Some(&cache)).await {
        Ok(cli) => cli,
        Err(failure) => return Ok(Err(failure)),
    };
    let mut config = config.clone();
    let mut order = Order::new(prompt).mode(args.mode).cwd(cwd);
    for (name, value) in &args.env {
        order = order.env(name, value);
        // The home of the agent is where its sessions are.
        if name == "GEMINI_CLI_HOME" {
            config.gemini = Path::new(value).join(".gemini");
        }
    }
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
        order = order.resume(&kept.id, &kept.file);
    }
    Ok(order.start().await.map(|running| (running, kept)))
}

fn not_started(failure: Failure) -> Outcome {
    Outcome { stop_reason: Some(StopReason::Error), error: Some(failure), ..Outcome::default() }
}

/// What turns a run down before anything was started.
const REFUSED: [&str; 3] = ["no_prompt", "not_in_this_version", "no_directory"];

fn exit(outcome: &Outcome) -> ExitCode {
    match &outcome.error {
        None => ExitCode::SUCCESS,
        Some(error) if error.phase == Phase::Cancelled => ExitCode::from(130),
        Some(error) if REFUSED.contains(&error.code) => ExitCode::from(1),
        Some(_) => ExitCode::from(2),
    }
}

fn refused(code: &'static str, message: String, hint: &str) -> anyhow::Error {
    Trouble::refused(code, message).hint(hint).into()
}
