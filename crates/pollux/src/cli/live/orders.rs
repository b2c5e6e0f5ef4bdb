//! `pollux interrupt`, `pollux mode`, `pollux model`: short orders for an agent.

use super::{daemon, done, join, order};
use crate::cli::complete::ids;
use crate::cli::run;
use crate::cli::session::change::{self, Tell};
use crate::config::Config;
use crate::trouble::Trouble;
use clap_complete::ArgValueCompleter;
use pollux_agent::model;
use pollux_agent::session::Command;
use std::process::ExitCode;

/// Stop what an agent does
#[derive(Debug, clap::Args)]
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
            let command = Command::Interrupt;
            return change::order(&client, &self.id, command, Tell::now(self.json)).await;
        }
        let mut live = join(&self.id, config).await?;
        let orders = live.orders();
        order(&mut live, orders.interrupt(self.drop_queued), drop).await?;
        done(self.json)?;
        Ok(ExitCode::SUCCESS)
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
