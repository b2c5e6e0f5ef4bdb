//! The arguments. One file for each command is in `cli/`.

mod rehearse;

use crate::config::Config;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Full two-way control of Gemini CLI sessions
#[derive(Debug, Parser)]
#[command(name = "pollux", version, disable_help_subcommand = true)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Rehearse(rehearse::Rehearse),
}

/// Runs the command that the arguments name.
pub fn run(args: &Args, _config: &Config) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Rehearse(rehearse) => rehearse.run(),
    }
}
