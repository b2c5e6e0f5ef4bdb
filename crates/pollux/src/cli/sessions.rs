//! `pollux sessions …`: what Gemini has written on this machine.

pub(super) mod catalog;
pub(super) mod export;
mod follow;
mod list;
mod rescue;
mod restore;
mod search;
mod show;
mod stats;

pub(super) use catalog::index_path;

use crate::config::Config;
use clap::Subcommand;
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
pub(super) enum Sessions {
    /// All sessions, newest first
    List(list::List),
    /// One session: the whole conversation
    Show(show::Show),
    /// Full text over all sessions
    Search(search::Search),
    /// Tokens, messages and tool calls, added up
    Stats(stats::Stats),
    /// Sessions as files: HTML pages, markdown, JSON, or where Claude's readers look
    Export(export::Export),
    /// New and changed messages while they are written
    Follow(follow::Follow),
    /// Save sessions that the CLI itself is about to delete
    Rescue(rescue::Rescue),
    /// Write the file of a session back that the CLI has deleted, from what the daemon has seen
    Restore(restore::Restore),
}

pub(super) fn run(command: Sessions, config: &Config) -> anyhow::Result<ExitCode> {
    match command {
        Sessions::List(args) => list::run(&args, config),
        Sessions::Show(args) => show::run(&args, config),
        Sessions::Search(args) => search::run(&args, config),
        Sessions::Stats(args) => stats::run(&args, config),
        Sessions::Export(args) => export::run(&args, config),
        Sessions::Follow(args) => follow::run(&args, config),
        Sessions::Rescue(args) => rescue::run(&args, config),
        Sessions::Restore(args) => restore::run(&args, config),
    }
}
