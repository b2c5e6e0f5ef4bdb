//! Commands for live sessions, over the daemon. Those that an agent in a terminal takes too are in `live`.

pub(super) mod answer;
pub(super) mod change;
mod changed;
pub(super) mod ended;
mod listing;
mod look;
pub(super) mod people;
pub(super) mod waiting;

use crate::config::Config;
use clap::Subcommand;
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub(super) enum Session {
    Ls(listing::Ls),
    Show(look::Show),
    Queue(change::Queue),
    Wait(waiting::Wait),
    Logs(look::Logs),
    Search(look::Search),
    Pair(people::Pair),
    Devices(people::Devices),
    Audit(people::Audit),
}

pub(super) fn run(command: Session, config: &Config) -> anyhow::Result<ExitCode> {
    runtime()?.block_on(async {
        match command {
            Session::Ls(command) => listing::run(command, config).await,
            Session::Show(command) => look::show(command, config).await,
            Session::Queue(command) => change::queue(command, config).await,
            Session::Wait(command) => waiting::run(command, config).await,
            Session::Logs(command) => look::logs(command, config).await,
            Session::Search(command) => look::search(command, config).await,
            Session::Pair(command) => people::pair(command, config).await,
            Session::Devices(command) => people::devices(command, config).await,
            Session::Audit(command) => people::audit(command, config).await,
        }
    })
}

/// A runtime for one command.
pub(super) fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
