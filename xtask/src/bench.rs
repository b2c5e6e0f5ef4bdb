//! `cargo xtask bench …`: figures, each beside what it is compared with, measured in the same minute.

mod acp;
mod all;
mod cao;
mod compare;
mod daemon;
mod data;
mod dropin;
mod headless;
mod hook;
mod rehearsal;
mod spread;
mod table;
mod teams;
mod terminal;
mod transcripts;

use crate::release;
use clap::{Command, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Run all benchmarks and write `docs/figures.md` and `docs/figures.svg`
    All {
        /// Run only these; keep the other results
        only: Vec<String>,
    },
    /// Compare the figures of this tree with those of another commit
    Compare(compare::CompareArgs),
    /// ACP client: added latency, updates per second, memory
    Acp,
    /// Daemon: start, memory, latency, load, long sessions, 10,000 reconnects
    Daemon,
    /// `pollux claude` and `pollux acp`: latency per line, and first text compared with the bare CLI
    Dropin,
    /// Headless runs: `pollux run` compared with the bare CLI, the translator with `serde_json`
    Headless,
    /// Hooks: compared with a bridge of bash and curl, with and without a listener
    Hook,
    /// Scripted model: first byte, chunks per second, 100 streams, compared with a bare socket
    Rehearsal,
    /// Teams: handoff, message, MCP helper, 50 concurrent workers
    Teams {
        /// Number of concurrent workers with the real CLI
        #[arg(long, default_value_t = 50)]
        workers: usize,
    },
    /// Terminal sessions: status latency, cost of prompts, starts and idling
    Terminal,
    /// Session files: load, list and follow, compared with `JSON.parse` in Node.js
    Transcripts,
}

pub(crate) fn run(bench: &Bench) -> anyhow::Result<()> {
    if cfg!(debug_assertions) {
        return release::again();
    }
    match bench {
        Bench::All { only } => all::run(&names(), only),
        Bench::Compare(args) => compare::run(&names(), args),
        Bench::Acp => acp::run(),
        Bench::Daemon => daemon::run(),
        Bench::Dropin => dropin::run(),
        Bench::Headless => headless::run(),
        Bench::Hook => hook::run(),
        Bench::Rehearsal => rehearsal::run(),
        Bench::Teams { workers } => teams::run(*workers),
        Bench::Terminal => terminal::run(),
        Bench::Transcripts => transcripts::run(),
    }
}

/// The names of all benches.
fn names() -> Vec<String> {
    let all = Bench::augment_subcommands(Command::new("bench"));
    let names = all.get_subcommands().map(|bench| bench.get_name().to_owned());
    names.filter(|name| !["all", "compare", "help"].contains(&name.as_str())).collect()
}
