//! `pollux interrupt`, `pollux mode`, `pollux model`: short orders for an agent.

use super::{daemon, done, join, order};
use crate::cli::complete::ids;
use crate::cli::run;
use crate::cli::session::change::{self, Tell};
use crate::client::{Client, turn_ends};
use crate::config::Config;
use crate::report;
use crate::trouble::Trouble;
use clap_complete::ArgValueCompleter;
use pollux_agent::model::{self, Event, EventKind, SessionStatus};
use pollux_agent::session::{Command, Done, Reply};
use std::process::ExitCode;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// Stop what an agent does; done when its turn has ended
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 the turn has ended, 12 it was told to, and has not yet, 1 refused, 2 failed."
)]
pub(crate) struct Interrupt {
    /// The session: its id, the beginning of it, or `latest`
    #[arg(add = ArgValueCompleter::new(ids))]
    id: String,
    /// Drop what is queued; the CLI would send it at once
    #[arg(long)]
    drop_queued: bool,
    /// One object
    #[arg(long)]
    json: bool,
}

impl Interrupt {
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let only = [("--drop-queued", self.drop_queued)];
        if let Some(client) = daemon(&self.id, &only, config).await? {
            return self.over_daemon(&client).await;
        }
        let mut live = join(&self.id, config).await?;
        let orders = live.orders();
        let mut ended = false;
        let interrupt = orders.interrupt(self.drop_queued);
        order(&mut live, interrupt, |event| ended |= is_end(&event)).await?;
        let until = Instant::now() + ENDS;
        while !ended {
            let Ok(event) = timeout_at(until, live.next()).await else { break };
            // One that is gone does nothing more.
            ended = event.is_none_or(|event| is_end(&event));
        }
        self.told(&Reply::Done(Done::Sent), ended, NOT_YET)
    }

    async fn over_daemon(&self, client: &Client) -> anyhow::Result<ExitCode> {
        let before = client.session(&self.id).await?;
        let reply = client.command(&before.id, Command::Interrupt).await?;
        let ends = turn_ends(client, &before.id, (before.seq, before.epoch));
        match timeout(ENDS, ends).await {
            Ok(Ok(true)) => self.told(&reply, true, NOT_YET),
            Ok(Ok(false)) => Err(client.gone().into()),
            Ok(Err(error)) => Err(error),
            Err(_late) => {
                let unwritten = client.session(&before.id).await?.unwritten_since.is_some();
                self.told(&reply, false, if unwritten { UNSEEN } else { NOT_YET })
            }
        }
    }

    fn told(&self, reply: &Reply, ended: bool, why: &str) -> anyhow::Result<ExitCode> {
        if self.json {
            let mut told = serde_json::to_value(reply)?;
            if let Some(told) = told.as_object_mut() {
                told.insert("ended".to_owned(), ended.into());
            }
            report::json(&told)?;
        } else if !ended {
            report::warn(why);
        }
        Ok(if ended { ExitCode::SUCCESS } else { ExitCode::from(12) })
    }
}

/// So long may a turn take to end after it was told to.
const ENDS: Duration = Duration::from_secs(5);

const NOT_YET: &str = "the turn was told to end, and has not yet: `pollux wait` waits for it";
const UNSEEN: &str =
    "the turn was told to end; the disk is full, and so its end is not seen before there is room";

/// Whether the turn that went on has ended. Where another one begins it has.
fn is_end(event: &Event<'_>) -> bool {
    match &event.kind {
        EventKind::TurnEnded { .. }
        | EventKind::TurnStarted { .. }
        | EventKind::SessionEnded { .. } => true,
        EventKind::SessionChanged(change) => matches!(
            change.status,
            Some(SessionStatus::Idle | SessionStatus::Error | SessionStatus::Exited)
        ),
        _ => false,
    }
}

/// Change what an agent may do without asking
#[derive(Debug, clap::Args)]
pub(crate) struct Mode {
    /// The session: its id, the beginning of it, or `latest`
    #[arg(add = ArgValueCompleter::new(ids))]
    id: String,
    /// default, auto-edit, yolo or plan; Claude's acceptEdits and bypassPermissions too
    #[arg(value_name = "MODE", value_parser = run::mode)]
    to: model::Mode,
    /// Only for so many minutes; then the mode before comes back
    #[arg(long, value_name = "N")]
    minutes: Option<u32>,
    /// One object
    #[arg(long)]
    json: bool,
}

impl Mode {
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        if let Some(client) = daemon(&self.id, &[], config).await? {
            let seconds = self.minutes.map(|minutes| minutes.saturating_mul(60));
            let command = Command::Mode { mode: self.to, seconds };
            return change::order(&client, &self.id, command, Tell::now(self.json)).await;
        }
        if self.minutes.is_some() {
            let message = "`--minutes` needs the daemon: nobody else is there when they are over";
            let hint = "start it with `pollux serve --detach`, or leave the flag out";
            return Err(Trouble::refused("needs_daemon", message).hint(hint).into());
        }
        let mut live = join(&self.id, config).await?;
        let orders = live.orders();
        order(&mut live, orders.mode(self.to), drop).await?;
        done(self.json)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Change the model of an agent
#[derive(Debug, clap::Args)]
pub(crate) struct Model {
    /// The session: its id, the beginning of it, or `latest`
    #[arg(add = ArgValueCompleter::new(ids))]
    id: String,
    /// The model, in the CLI's words
    #[arg(value_name = "MODEL")]
    to: String,
    /// One object
    #[arg(long)]
    json: bool,
}

impl Model {
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        if let Some(client) = daemon(&self.id, &[], config).await? {
            let command = Command::Model { model: self.to };
            return change::order(&client, &self.id, command, Tell::now(self.json)).await;
        }
        let mut live = join(&self.id, config).await?;
        let orders = live.orders();
        order(&mut live, orders.model(self.to), drop).await?;
        done(self.json)?;
        Ok(ExitCode::SUCCESS)
    }
}
