//! `cargo xtask …`: what people and CI run on this repository.
//!
//! Everything that a command needs and that is not in the clone is fetched by the command itself, into
//! `target/`, so that a fresh machine needs nothing done by hand.

mod bench;
mod check;
mod docs;
mod fuzz;
mod home;
mod matrix;
mod measure;
mod node;
mod package;
mod record;
mod release;
mod shell;
mod soak;
mod test;
mod types;
mod web;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "What people and CI run on this repository")]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Formatting, lints, documentation, licences: all that is checked without running the code
    Check {
        /// One part of it
        part: Option<check::Part>,
    },
    /// Figures, each beside what it is compared with, measured in the same minute
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Bytes that nobody has thought of, for everything that reads, each target for a while
    Fuzz {
        /// How long each target runs
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// Only builds them
        #[arg(long)]
        build: bool,
    },
    /// Runs a program and prints what it cost (used by `bench`)
    #[command(hide = true)]
    Measure {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
    /// The program on the recorded sessions: `cargo xtask try sessions list`
    Try {
        /// The program's arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// The suite over all versions of the Gemini CLI: version by boundary
    Matrix {
        /// Versions instead of the pinned ones
        versions: Vec<String>,
        /// Into `docs/compatibility.md` too
        #[arg(long)]
        write: bool,
    },
    /// What versions of the Gemini CLI print and write, as files
    Record(record::Record),
    /// A session that is gone on with over and over, in every version, while other CLIs are started beside it
    Soak {
        /// Kill the daemon instead, at random moments of real sessions; or workers of a team and the daemon, amid letters; or
        /// have an editor list, load and fork sessions
        #[arg(value_enum)]
        what: Option<soak::What>,
        /// How often; 200 times for the daemon, 200 letters for teams
        #[arg(long)]
        cycles: Option<usize>,
    },
    /// The program as it is given to others, with manual pages and completions, in `target/package`
    Package {
        /// Another target than this machine, such as x86_64-unknown-linux-musl
        #[arg(long)]
        target: Option<String>,
    },
    /// The references that are made from the code: `docs/events.md`, `docs/api-reference.md`
    Docs,
    /// The types of the API in TypeScript, made from the Rust types: `web/src/api/types.ts`
    Types,
    /// The web app's checks and tests; `cargo xtask check` and `cargo xtask test` have them too
    Web {
        /// One part of them
        part: Option<web::Part>,
    },
    /// Fetches what the tests need and what is not in the clone; `cargo xtask test` does so by itself
    Fetch,
    /// All tests, in every crate
    Test {
        /// Passed on to the test runner, for instance a part of a test's name
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
}

fn main() -> ExitCode {
    match run(Args::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            shell::say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> anyhow::Result<()> {
    match task {
        Task::Check { part } => check::run(part),
        Task::Bench(bench) => bench::run(&bench),
        Task::Fuzz { build: true, .. } => fuzz::build().map(drop),
        Task::Fuzz { seconds, .. } => fuzz::run(seconds),
        Task::Measure { command } => measure::run(&command),
        Task::Try { rest } => home::run(&rest),
        Task::Matrix { versions, write } => matrix::run(&versions, write),
        Task::Record(record) => record::run(&record),
        Task::Soak { what: Some(soak::What::Daemon), cycles } => {
            soak::daemon(cycles.unwrap_or(200))
        }
        Task::Soak { what: Some(soak::What::Teams), cycles } => soak::teams(cycles.unwrap_or(200)),
        Task::Soak { what: Some(soak::What::Editor), cycles } => {
            soak::editor(cycles.unwrap_or(100))
        }
        Task::Soak { what: None, cycles } => soak::run(cycles.unwrap_or(100)),
        Task::Package { target } => package::run(target.as_deref()),
        Task::Docs => docs::run(),
        Task::Types => types::run(),
        Task::Web { part } => web::run(part),
        Task::Fetch => test::fetch(true),
        Task::Test { rest } => test::run(&rest),
    }
}
