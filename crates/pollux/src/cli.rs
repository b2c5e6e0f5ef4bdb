//! The arguments. One file for each command is in `cli/`.

mod acp;
mod capabilities;
pub(crate) mod claude;
mod complete;
mod demo;
mod doctor;
pub(crate) mod hook;
mod hooks;
mod live;
mod man;
mod question;
mod rehearse;
mod run;
mod serve;
mod session;
mod sessions;
mod team;
mod translate;

use crate::config::Config;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// The version, with the commit where that is known.
const VERSION: &str = env!("POLLUX_VERSION");

/// Run, steer and search Gemini CLI sessions
///
/// A session is one conversation with an agent (Gemini CLI). Team agents are sessions started from a profile (a
/// file that describes an agent's role) with `launch`, `handoff`, `assign` or a schedule.
#[derive(Debug, Parser)]
#[command(name = "pollux", version = VERSION, disable_help_subcommand = true)]
#[command(after_help = "Examples:\n  \
    pollux demo                                try it without an API key\n  \
    pollux run \"fix the failing test\"          run one prompt, ask before changes\n  \
    pollux new --driver acp \"…\"; pollux pair   start a session, steer it by phone\n  \
    pollux sessions search \"race condition\"    search all Gemini CLI sessions\n  \
    pollux handoff reviewer \"the last commit\"  give an agent a job and wait\n\n\
    Exit codes, unless a command's help says otherwise: 0 success, 1 rejected\n\
    (unknown ID, invalid argument), 2 failed, 130 cancelled.\n\n\
    Environment: GEMINI_CLI_HOME sets the parent directory of `.gemini` (default:\n\
    your home directory). NO_COLOR turns colour off.\n\n\
    Shell completion, including session IDs: `source <(COMPLETE=bash pollux)`, or\n\
    `COMPLETE=zsh`. For fish: `COMPLETE=fish pollux | source`. For other shells, set\n\
    `COMPLETE=elvish` or `COMPLETE=powershell`.\n\n\
    Run `pollux <command> --help` for details.")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Run),
    Demo(demo::Demo),
    Doctor(doctor::Doctor),
    Serve(serve::Serve),
    #[command(flatten)]
    Session(session::Session),
    Claude(claude::Claude),
    Acp(acp::Acp),
    #[command(flatten)]
    Team(team::Team),
    New(live::new::New),
    Attach(live::attach::Attach),
    Screen(live::screen::Screen),
    Send(live::send::Send),
    Answer(live::answer::Answer),
    Interrupt(live::orders::Interrupt),
    Mode(live::orders::Mode),
    Model(live::orders::Model),
    Stop(live::stop::Stop),
    Adopt(live::adopt::Adopt),
    /// Work with Gemini CLI's own session files: list, show, search, export, ...
    #[command(subcommand)]
    Sessions(sessions::Sessions),
    /// Convert recorded agent output to Pollux events (for tests and bug reports)
    ///
    /// Prints one JSON object per line.
    Translate(translate::Translate),
    Rehearse(rehearse::Rehearse),
    /// Manage the Gemini CLI hooks that report sessions, turns and tool calls to Pollux
    #[command(subcommand)]
    Hooks(hooks::Hooks),
    Hook(hook::Hook),
    Man(man::Man),
    ClaudeMcp(claude::bridge::Mcp),
    /// Show what Pollux and the installed agent support
    Capabilities(capabilities::Capabilities),
}

/// The quick way for `pollux mcp`; none where it is another command.
pub(crate) fn quickly(
    arguments: impl Iterator<Item = std::ffi::OsString>,
) -> Option<anyhow::Result<ExitCode>> {
    team::mcp::quickly(arguments)
}

/// Runs the command that the arguments name.
pub fn run(args: Args, config: &Config) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Run(command) => run::run(command, config),
        Command::Demo(command) => live::run(demo::run(command, config)),
        Command::Doctor(command) => live::run(doctor::run(command, config)),
        Command::Serve(command) => serve::run(command, config),
        Command::Session(command) => session::run(command, config),
        Command::Claude(claude) => claude.run(config),
        Command::Acp(acp) => acp.run(config),
        Command::Team(command) => team::run(command, config),
        Command::New(command) => live::run(command.run(config)),
        Command::Attach(command) => live::run(command.run(config)),
        Command::Screen(command) => live::run(command.run(config)),
        Command::Send(command) => live::run(command.run(config)),
        Command::Answer(command) => live::run(command.run(config)),
        Command::Interrupt(command) => live::run(command.run(config)),
        Command::Mode(command) => live::run(command.run(config)),
        Command::Model(command) => live::run(command.run(config)),
        Command::Stop(command) => live::run(command.run(config)),
        Command::Adopt(command) => live::run(command.run(config)),
        Command::Sessions(command) => sessions::run(command, config),
        Command::Translate(command) => translate::run(&command),
        Command::Rehearse(rehearse) => rehearse.run(),
        Command::Hooks(command) => hooks::run(command, config),
        Command::Hook(hook) => Ok(hook.run()),
        Command::Man(man) => man.run(),
        Command::ClaudeMcp(bridge) => bridge.run(),
        Command::Capabilities(command) => capabilities::run(&command, config),
    }
}
