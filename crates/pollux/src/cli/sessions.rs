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
    /// List the sessions in Gemini CLI's files, newest first
    List(list::List),
    /// Show a session's conversation
    Show(show::Show),
    /// Search all Gemini CLI session files
    Search(search::Search),
    /// Show totals of tokens, messages and tool calls
    Stats(stats::Stats),
    /// Export sessions as HTML, Markdown, JSON or Claude Code transcripts
    Export(export::Export),
    /// Print new and changed messages as they are written
    Follow(follow::Follow),
    /// Back up sessions that Gemini CLI is about to delete
    Rescue(rescue::Rescue),
    /// Restore a session file that Gemini CLI deleted, from the daemon's log
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
