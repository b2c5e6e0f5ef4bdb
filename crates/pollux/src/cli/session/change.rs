//! Orders for sessions of the daemon: new, send, interrupt, mode, model, stop; and the queue.

use super::changed::Change;
use super::waiting::{self, Object, Own};
use crate::api::Begin;
use crate::cli::complete::ids;
use crate::client::Client;
use crate::config::Config;
use crate::render::clean;
use crate::report;
use clap_complete::ArgValueCompleter;
use pollux_agent::session::{Command, Done, Outcome, Queued, Reply};
use std::process::ExitCode;

/// When a command is done, and how it says so.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Tell {
    /// Wait until the session is idle, has a question, or has ended
    #[arg(long, short)]
    pub wait: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl Tell {
    /// At once.
    pub(crate) fn now(json: bool) -> Self {
        Self { wait: false, json }
    }
}

/// Begins a session, and waits for its first rest where that is wanted.
pub(crate) async fn begin(client: &Client, begin: &Begin, tell: Tell) -> anyhow::Result<ExitCode> {
    let summary = client.begin(begin).await?;
    if !tell.json {
        report::text(&format!("{}\n", summary.id))?;
    }
    if tell.wait {
        let own = Own { prompt: begin.prompt.as_deref(), explained: false };
        return waiting::until_idle(client, &summary, own, tell.json.then_some(Object::Session))
            .await;
    }
    if tell.json {
        report::json(&summary)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Gives a session a command, and waits for its next rest where that is wanted.
pub(crate) async fn order(
    client: &Client,
    session: &str,
    command: Command,
    tell: Tell,
) -> anyhow::Result<ExitCode> {
    let summary = client.session(session).await?;
    let prompt = match &command {
        Command::Prompt { text, .. } => Some(text.clone()),
        _ => None,
    };
    let explained = matches!(&command, Command::Answer { reason: Some(_), .. });
    let change = Change::of(&command, &summary);
    let reply = client.command(&summary.id, command).await?;
    if let Some(change) = change {
        change.is_made(client, &summary).await?;
    }
    if !tell.wait {
        told(&reply, tell.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !tell.json {
        told(&reply, false)?;
    }
    let own = Own { prompt: prompt.as_deref(), explained };
    waiting::until_idle(client, &summary, own, tell.json.then_some(Object::Reply(&reply))).await
}

/// List, edit or cancel queued prompts
#[derive(Debug, clap::Args)]
pub(crate) struct Queue {
    /// Session ID, unique prefix, or `latest` (the most recently active session, preferably a running one)
    #[arg(add = ArgValueCompleter::new(ids))]
    session: String,
    /// Edit this queued prompt
    #[arg(long, value_name = "ID", requires = "text", conflicts_with_all = ["cancel", "go_on"])]
    edit: Option<String>,
    /// New text for the edited prompt
    #[arg(long, requires = "edit")]
    text: Option<String>,
    /// Cancel this queued prompt
    #[arg(long, value_name = "ID", conflicts_with = "go_on")]
    cancel: Option<String>,
    /// Resume the queue after a turn was stopped
    #[arg(long = "continue")]
    go_on: bool,
    /// Print JSON
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
    let client = Client::connect(config).await?;
    if let Some(command) = command {
        return order(&client, &args.session, command, Tell::now(args.json)).await;
    }
    let queue = client.session(&args.session).await?.queue;
    if args.json {
        report::json(&queue)?;
    } else {
        let line = |queued: &Queued| format!("{}  {}\n", clean(&queued.id), clean(&queued.text));
        report::text(&queue.iter().map(line).collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what came of a command, where that is not plain.
pub(crate) fn told(reply: &Reply, json: bool) -> anyhow::Result<()> {
    if json {
        return report::json(reply);
    }
    let Reply::Done(done) = reply else { return Ok(()) };
    match done {
        Done::Queued { before: 0, .. } => report::note("queued (next)"),
        Done::Queued { before, .. } => report::note(&format!("queued ({before} ahead of it)")),
        Done::Answered { outcome, yours: false } => report::note(&match outcome {
            Outcome::Chosen { choice, by: Some(by) } => {
                format!("{} already answered `{}`", clean(by), clean(choice))
            }
            Outcome::Chosen { choice, by: None } => {
                format!("already answered with `{}`", clean(choice))
            }
            Outcome::Cancelled => "the question was cancelled before it was answered".to_owned(),
            Outcome::Elsewhere => "already answered in the agent's own terminal".to_owned(),
        }),
        _ => {}
    }
    Ok(())
}
