//! The program `pollux`, as modules: [`cli`] reads the arguments and has one file for each command, [`report`] is the
//! only code that prints, [`config`] the only code that reads the environment.

pub mod api;
pub mod cli;
pub mod client;
pub mod config;
pub mod daemon;
pub mod ends;
pub mod render;
pub mod report;
pub mod team;
pub mod trouble;

use clap::{CommandFactory, Parser};
use std::process::ExitCode;

/// Answers a hook, and ends the process. Does nothing for any other command.
///
/// It may run before `main`, where a pipe that nobody reads ends the process that writes to it: what a hook does must not write
/// to such a one.
#[inline]
#[expect(clippy::exit, reason = "there may be no `main` to come back to")]
pub fn first() {
    if let Some(event) = cli::hook::event(std::env::args_os().skip(1)) {
        cli::hook::answer(&event);
        std::process::exit(0);
    }
}

/// Runs the program with the arguments and the environment of this process.
pub fn main() -> ExitCode {
    first();
    if let Some(outcome) = cli::quickly(std::env::args_os().skip(1)) {
        return report::ended(outcome);
    }
    // A shell that asks for completions is answered, and nothing else is done.
    clap_complete::CompleteEnv::with_factory(cli::Args::command).complete();
    let args = cli::claude::by_name(std::env::args_os().collect());
    let args = match cli::Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => return report::usage(&error),
    };
    let outcome = config::Config::read().and_then(|config| cli::run(args, &config));
    report::ended(outcome)
}
