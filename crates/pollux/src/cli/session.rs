//! Commands for live sessions, over the daemon.

mod answer;
mod change;
mod listing;
mod look;
mod people;
mod waiting;

use crate::config::Config;
use clap::Subcommand;
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub(super) enum Session {
    New(change::New),
    Ls(listing::Ls),
    Show(look::Show),
    Send(change::Send),
    Answer(answer::Answer),
    Interrupt(change::Interrupt),
    Mode(change::Mode),
    Model(change::Model),
    Queue(change::Queue),
    Wait(waiting::Wait),
    Logs(look::Logs),
    Stop(change::Stop),
    Search(look::Search),
    Pair(people::Pair),
    Devices(people::Devices),
    Audit(people::Audit),
}

pub(super) fn run(command: Session, config: &Config) -> anyhow::Result<ExitCode> {
    runtime()?.block_on(async {
        match command {
            Session::New(command) => change::new(command, config).await,
            Session::Ls(command) => listing::run(command, config).await,
            Session::Show(command) => look::show(command, config).await,
            Session::Send(command) => change::send(command, config).await,
            Session::Answer(command) => answer::run(command, config).await,
            Session::Interrupt(command) => change::interrupt(command, config).await,
            Session::Mode(command) => change::mode(command, config).await,
            Session::Model(command) => change::model(command, config).await,
            Session::Queue(command) => change::queue(command, config).await,
            Session::Wait(command) => waiting::run(command, config).await,
            Session::Logs(command) => look::logs(command, config).await,
            Session::Stop(command) => change::stop(command, config).await,
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
