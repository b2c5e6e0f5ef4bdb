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

/// Full two-way control of Gemini CLI sessions
#[derive(Debug, Parser)]
#[command(name = "pollux", version = VERSION, disable_help_subcommand = true)]
#[command(after_help = "Examples:\n  \
    pollux demo                                   see it work, with no key and nothing left behind\n  \
    pollux run \"fix the failing test\"            one prompt; it asks before it changes something\n  \
    pollux new --driver acp \"…\" ; pollux pair     a session that goes on when you leave, and a phone that steers it\n  \
    pollux sessions search \"race condition\"      all that Gemini has ever written on this machine\n  \
    pollux handoff reviewer \"the last commit\"    one agent works for another\n\n\
    Exit codes: 0 done, 1 refused (unknown id, wrong argument), 2 failed, 130 cancelled.\n\
    GEMINI_CLI_HOME names another home for Gemini's files, NO_COLOR turns colour off.\n\
    Completion, of session ids too: `source <(COMPLETE=bash pollux)`, or zsh;\n\
    for fish `COMPLETE=fish pollux | source`. There are elvish and powershell too.")]
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
    /// What Gemini has written on this machine: list, show, search, count, export, follow, rescue
    #[command(subcommand)]
    Sessions(sessions::Sessions),
    /// One recorded file as events, one JSON object on each line: for tests and bug reports
    Translate(translate::Translate),
    Rehearse(rehearse::Rehearse),
    /// Have Gemini CLI tell Pollux when sessions, turns and tools begin and end
    #[command(subcommand)]
    Hooks(hooks::Hooks),
    Hook(hook::Hook),
    Man(man::Man),
    ClaudeMcp(claude::bridge::Mcp),
    /// What Pollux and the agent can do
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
