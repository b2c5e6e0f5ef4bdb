//! Commands for teams: everything that an agent can do, a person can.

pub(super) mod jobs;
mod letters;
pub(super) mod mcp;
mod profiles;
mod schedule;
mod start;
mod tree;

use crate::config::Config;
use clap::Subcommand;
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub(super) enum Team {
    Launch(start::Launch),
    Handoff(start::Handoff),
    Assign(start::Assign),
    Message(letters::Message),
    Inbox(letters::Inbox),
    Jobs(jobs::Jobs),
    #[command(name = "team")]
    Tree(tree::Tree),
    Shutdown(tree::Shutdown),
    Mcp(mcp::Mcp),
    /// Manage agent profiles
    #[command(subcommand)]
    Profiles(profiles::Profiles),
    /// Manage scheduled jobs
    #[command(subcommand)]
    Schedule(schedule::Schedule),
}

pub(super) fn run(command: Team, config: &Config) -> anyhow::Result<ExitCode> {
    super::session::runtime()?.block_on(async {
        match command {
            Team::Launch(command) => command.run(config).await,
            Team::Handoff(command) => command.run(config).await,
            Team::Assign(command) => command.run(config).await,
            Team::Message(command) => command.run(config).await,
            Team::Inbox(command) => command.run(config).await,
            Team::Jobs(command) => command.run(config).await,
            Team::Tree(command) => command.run(config).await,
            Team::Shutdown(command) => command.run(config).await,
            Team::Mcp(mcp::Mcp {}) => mcp::run(config).await,
            Team::Profiles(command) => profiles::run(command, config),
            Team::Schedule(command) => schedule::run(command, config).await,
        }
    })
}
