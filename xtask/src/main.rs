//! `cargo xtask …`: what people and CI run on this repository.
//!
//! Everything that a command needs and that is not in the clone is fetched by the command itself, into
//! `target/`, so that a fresh machine needs nothing done by hand.

mod bench;
mod check;
mod docs;
mod fuzz;
mod home;
mod licences;
mod lines;
mod matrix;
mod measure;
mod node;
mod package;
mod record;
mod release;
mod requirements;
mod shell;
mod soak;
mod sources;
mod test;
mod test_rules;
mod types;
mod web;
mod wording;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "Development tasks for this repository")]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Check formatting, lints, documentation and licences
    Check {
        /// Run one part only
        part: Option<check::Part>,
    },
    /// Run benchmarks against comparable programs
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Fuzz every parser, one target after the other
    Fuzz {
        /// Seconds to run each target
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// Build the targets without running them
        #[arg(long)]
        build: bool,
    },
    /// Run a program and print its resource usage (used by `bench`)
    #[command(hide = true)]
    Measure {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
    /// Run `pollux` on the recorded sessions, e.g. `cargo xtask try sessions list`
    Try {
        /// Arguments for `pollux`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// Run the test suite with every supported version of Gemini CLI
    Matrix {
        /// Versions to test instead of the pinned ones
        versions: Vec<String>,
        /// Also write `docs/compatibility.md`
        #[arg(long)]
        write: bool,
    },
    /// Record the output and files of Gemini CLI versions
    Record(record::Record),
    /// Resume one session repeatedly while other CLIs start, with every version
    Soak {
        /// Run another soak test: `daemon` kills the daemon at random during real sessions, `teams` kills workers and the
        /// daemon while messages are sent, `editor` lists, loads and forks sessions over ACP
        #[arg(value_enum)]
        what: Option<soak::What>,
        /// Number of cycles [default: 100; 200 kills for `daemon`, 200 messages for `teams`]
        #[arg(long)]
        cycles: Option<usize>,
    },
    /// Build a release archive with manual pages and completions in `target/package`
    Package {
        /// Build for this target, e.g. x86_64-unknown-linux-musl
        #[arg(long)]
        target: Option<String>,
    },
    /// Count lines of source and tests by crate
    Lines,
    /// Generate `docs/events.md` and `docs/api-reference.md` from the code
    Docs,
    /// Generate `web/src/api/types.ts` from the Rust types
    Types,
    /// Check and test the web app (included in `check` and `test`)
    Web {
        /// Run one part only
        part: Option<web::Part>,
    },
    /// Download the files that the tests need (`test` does this automatically)
    Fetch,
    /// Run all tests of every crate
    Test(test::TestArgs),
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
        Task::Lines => lines::run(),
        Task::Docs => docs::run(),
        Task::Types => types::run(),
        Task::Web { part } => web::run(part),
        Task::Fetch => test::fetch(true),
        Task::Test(args) => test::run(&args),
    }
}
