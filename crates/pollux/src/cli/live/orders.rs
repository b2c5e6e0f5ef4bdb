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

/// Cancel the current turn
///
/// Returns when the turn has ended, or after 5 s.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 turn ended, 12 turn still running after 5 s, 1 rejected, 2 failed."
)]
pub(crate) struct Interrupt {
    /// Session ID, unique prefix, or `latest` (the most recently active session, preferably a running one)
    #[arg(add = ArgValueCompleter::new(ids))]
    id: String,
    /// Also drop prompts queued in Gemini CLI; otherwise it sends them as soon as the turn ends
    #[arg(long)]
    drop_queued: bool,
    /// Print JSON
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
            report::warn(&format!("{why}; wait for it with `pollux wait {}`", self.id));
        }
        Ok(if ended { ExitCode::SUCCESS } else { ExitCode::from(12) })
    }
}

/// So long may a turn take to end after it was told to.
const ENDS: Duration = Duration::from_secs(5);

const NOT_YET: &str = "the turn has not ended yet";
const UNSEEN: &str =
    "the disk is full, so Pollux cannot see the end of the turn until there is free space";

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
    /// Session ID, unique prefix, or `latest` (the most recently active session, preferably a running one)
    #[arg(add = ArgValueCompleter::new(ids))]
    id: String,
    /// New mode: default, auto-edit, yolo or plan
    #[arg(value_name = "MODE", value_parser = run::mode, long_help = run::modes_help("New mode"))]
    to: model::Mode,
    /// Return to the previous mode after N minutes (needs the daemon)
    #[arg(long, value_name = "N")]
    minutes: Option<u32>,
    /// Print JSON
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
            let message = "`--minutes` needs the daemon, which changes the mode back";
            let hint = "start it with `pollux serve --detach`, or remove `--minutes`";
            return Err(Trouble::refused("needs_daemon", message).hint(hint).into());
        }
        let mut live = join(&self.id, config).await?;
        let orders = live.orders();
        order(&mut live, orders.mode(self.to), drop).await?;
        done(self.json)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Change a session's model
#[derive(Debug, clap::Args)]
pub(crate) struct Model {
    /// Session ID, unique prefix, or `latest` (the most recently active session, preferably a running one)
    #[arg(add = ArgValueCompleter::new(ids))]
    id: String,
    /// Model name, as the agent's CLI accepts it
    #[arg(value_name = "MODEL")]
    to: String,
    /// Print JSON
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
