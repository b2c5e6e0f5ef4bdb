//! Commands that change something: new, send, interrupt, mode, model, queue, stop.

use super::waiting;
use crate::api::{Begin, Driver};
use crate::cli::complete::ids;
use crate::cli::run::mode as parse_mode;
use crate::client::Client;
use crate::config::Config;
use crate::render::clean;
use crate::report;
use clap_complete::ArgValueCompleter;
use pollux_agent::model::Mode as AgentMode;
use pollux_agent::session::{Command, Done, Outcome, Queued, Reply};
use std::path::PathBuf;
use std::process::ExitCode;

/// Begin a session, or go on with one whose agent is gone
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  pollux new \"fix the tests\"\n  pollux new --driver acp --mode auto-edit --cwd ~/app\n  \
    pollux new --resume 1f3a \"and now the docs\""
)]
pub(crate) struct New {
    /// The first prompt
    prompt: Option<String>,
    /// How the agent is driven
    #[arg(long)]
    driver: Option<Driver>,
    /// What the agent may do without asking: default, auto-edit, yolo, plan
    #[arg(long, value_parser = parse_mode)]
    mode: Option<AgentMode>,
    /// The model
    #[arg(long, short)]
    model: Option<String>,
    /// Where the agent works
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Go on with this session
    #[arg(long, value_name = "ID")]
    resume: Option<String>,
    /// Wait until the agent has nothing more to do, or asks
    #[arg(long)]
    wait: bool,
    /// One object
    #[arg(long)]
    json: bool,
}

pub(super) async fn new(args: New, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config).await?;
    let cwd = args.cwd.map_or_else(|| config.cwd.clone(), |cwd| config.cwd.join(cwd));
    let resume = match args.resume {
        Some(id) => Some(client.session(&id).await?.id),
        None => None,
    };
    let begin = Begin {
        client_id: Some(uuid::Uuid::new_v4().to_string()),
        cwd,
        driver: args.driver,
        mode: args.mode,
        model: args.model,
        resume,
        prompt: args.prompt,
    };
    let summary = client.begin(&begin).await?;
    if args.json {
        report::json(&summary)?;
    } else {
        report::text(&format!("{}\n", summary.id))?;
    }
    if args.wait { waiting::until_idle(&client, &summary.id).await } else { Ok(ExitCode::SUCCESS) }
}

/// Send a prompt; while the agent works it waits its turn
#[derive(Debug, clap::Args)]
pub(crate) struct Send {
    /// The session: its id, the beginning of it, or `latest`
    #[arg(add = ArgValueCompleter::new(ids))]
    session: String,
    /// The prompt
    prompt: String,
    /// Wait until the agent has nothing more to do, or asks
    #[arg(long)]
    wait: bool,
    /// One object
    #[arg(long)]
    json: bool,
}

pub(super) async fn send(args: Send, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config).await?;
    let session = client.session(&args.session).await?.id;
    let reply = client.command(&session, Command::Prompt { text: args.prompt }).await?;
    told(&reply, args.json)?;
    if args.wait { waiting::until_idle(&client, &session).await } else { Ok(ExitCode::SUCCESS) }
}

/// Stop the turn
#[derive(Debug, clap::Args)]
pub(crate) struct Interrupt {
    /// The session: its id, the beginning of it, or `latest`
    #[arg(add = ArgValueCompleter::new(ids))]
    session: String,
    /// One object
    #[arg(long)]
    json: bool,
}

pub(super) async fn interrupt(args: Interrupt, config: &Config) -> anyhow::Result<ExitCode> {
    simple(&args.session, Command::Interrupt, args.json, config).await
}

/// Another mode
#[derive(Debug, clap::Args)]
pub(crate) struct Mode {
    /// The session: its id, the beginning of it, or `latest`
    #[arg(add = ArgValueCompleter::new(ids))]
    session: String,
    /// default, auto-edit, yolo, plan
    #[arg(value_name = "MODE", value_parser = parse_mode)]
    to: AgentMode,
    /// Only for so many minutes; then the mode before comes back
    #[arg(long, value_name = "N")]
    minutes: Option<u32>,
    /// One object
    #[arg(long)]
    json: bool,
}

pub(super) async fn mode(args: Mode, config: &Config) -> anyhow::Result<ExitCode> {
    let seconds = args.minutes.map(|minutes| minutes.saturating_mul(60));
    simple(&args.session, Command::Mode { mode: args.to, seconds }, args.json, config).await
}

/// Another model
#[derive(Debug, clap::Args)]
pub(crate) struct Model {
    /// The session: its id, the beginning of it, or `latest`
    #[arg(add = ArgValueCompleter::new(ids))]
    session: String,
    /// Which one
    #[arg(value_name = "MODEL")]
    to: String,
    /// One object
    #[arg(long)]
    json: bool,
}

pub(super) async fn model(args: Model, config: &Config) -> anyhow::Result<ExitCode> {
    simple(&args.session, Command::Model { model: args.to }, args.json, config).await
}

/// End the agent; what was said stays
#[derive(Debug, clap::Args)]
pub(crate) struct Stop {
    /// The session: its id, the beginning of it, or `latest`
    #[arg(add = ArgValueCompleter::new(ids))]
    session: String,
    /// One object
    #[arg(long)]
    json: bool,
}

pub(super) async fn stop(args: Stop, config: &Config) -> anyhow::Result<ExitCode> {
    simple(&args.session, Command::Stop, args.json, config).await
}

/// The prompts that wait: list them, change one, take one back, go on
#[derive(Debug, clap::Args)]
pub(crate) struct Queue {
    /// The session: its id, the beginning of it, or `latest`
    #[arg(add = ArgValueCompleter::new(ids))]
    session: String,
    /// Give the prompt with this id another text
    #[arg(long, value_name = "ID", requires = "text", conflicts_with_all = ["cancel", "go_on"])]
    edit: Option<String>,
    /// The other text
    #[arg(long)]
    text: Option<String>,
    /// Take back the prompt with this id
    #[arg(long, value_name = "ID", conflicts_with = "go_on")]
    cancel: Option<String>,
    /// Go on with what waits after a turn that was stopped
    #[arg(long = "continue")]
    go_on: bool,
    /// An array of objects
    #[arg(long)]
    json: bool,
}

pub(super) async fn queue(args: Queue, config: &Config) -> anyhow::Result<ExitCode> {
    let command = match (args.edit, args.text, args.cancel) {
        (Some(queued), Some(text), _) => Some(Command::Edit { queued, text }),
        (_, _, Some(queued)) => Some(Command::Cancel { queued }),
        _ if args.go_on => Some(Command::Continue),
        _ => None,
    };
    if let Some(command) = command {
        return simple(&args.session, command, args.json, config).await;
    }
    let queue = Client::connect(config).await?.session(&args.session).await?.queue;
    if args.json {
        report::json(&queue)?;
    } else {
        let line = |queued: &Queued| format!("{}  {}\n", queued.id, clean(&queued.text));
        report::text(&queue.iter().map(line).collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn simple(
    session: &str,
    command: Command,
    json: bool,
    config: &Config,
) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config).await?;
    let session = client.session(session).await?.id;
    told(&client.command(&session, command).await?, json)?;
    Ok(ExitCode::SUCCESS)
}

/// Says what came of a command, where that is not plain.
pub(super) fn told(reply: &Reply, json: bool) -> anyhow::Result<()> {
    if json {
        return report::json(reply);
    }
    let Reply::Done(done) = reply else { return Ok(()) };
    match done {
        Done::Queued { before, .. } => report::note(&format!("queued, {before} before it")),
        Done::Answered { outcome, yours: false } => report::note(&match outcome {
            Outcome::Chosen { choice, by } => {
                let by = by.as_deref().unwrap_or("somebody");
                format!("{} has answered `{}` before", clean(by), clean(choice))
            }
            Outcome::Cancelled => "nobody has answered it in time".to_owned(),
            Outcome::Elsewhere => "it was answered in the agent's own terminal".to_owned(),
        }),
        _ => {}
    }
    Ok(())
}
