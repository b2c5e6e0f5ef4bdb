//! `pollux interrupt`, `pollux mode`, `pollux model`: short orders for an agent in a terminal.

use super::{join, order};
use crate::cli::run;
use crate::config::Config;
use pollux_agent::model;
use std::process::ExitCode;

/// Stop what an agent does
#[derive(Debug, clap::Args)]
pub(crate) struct Interrupt {
    /// The session's id, or the beginning of it
    id: String,
    /// Drop what is queued; the CLI would send it at once
    #[arg(long)]
    drop_queued: bool,
}

impl Interrupt {
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let mut live = join(&self.id, config).await?;
        let orders = live.orders();
        order(&mut live, orders.interrupt(self.drop_queued), drop).await?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Change what an agent may do without asking
#[derive(Debug, clap::Args)]
pub(crate) struct Mode {
    /// The session's id, or the beginning of it
    id: String,
    /// default, auto-edit, yolo or plan; Claude's acceptEdits and bypassPermissions too
    #[arg(value_parser = run::mode)]
    mode: model::Mode,
}

impl Mode {
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let mut live = join(&self.id, config).await?;
        let orders = live.orders();
        order(&mut live, orders.mode(self.mode), drop).await?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Change the model of an agent
#[derive(Debug, clap::Args)]
pub(crate) struct Model {
    /// The session's id, or the beginning of it
    id: String,
    /// The model, in the CLI's words
    model: String,
}

impl Model {
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let mut live = join(&self.id, config).await?;
        let orders = live.orders();
        order(&mut live, orders.model(self.model), drop).await?;
        Ok(ExitCode::SUCCESS)
    }
}
