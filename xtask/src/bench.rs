//! `cargo xtask bench …`: figures, each beside what it is compared with, measured in the same minute.

mod acp;
mod all;
mod cao;
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
    /// All of them, one after the other, into `docs/figures.md` and a picture
    All {
        /// Only these; the others stay as they are
        only: Vec<String>,
    },
    /// The ACP client: added latency beside a plain reader, updates a second, memory
    Acp,
    /// The daemon: start, memory, latency, load, a long session, ten thousand reconnects
    Daemon,
    /// `pollux claude` and `pollux acp`: what a line costs, and the first words beside the bare CLI
    Dropin,
    /// Headless runs: what `pollux run` costs over the bare CLI, and the translator beside `serde_json`
    Headless,
    /// A hook beside a bridge of bash and curl, with somebody listening and with nobody
    Hook,
    /// The scripted model: first byte, chunks per second, a hundred streams, against a bare socket
    Rehearsal,
    /// Teams: a handoff, a letter, an agent's helper, fifty workers at once
    Teams {
        /// How many workers with the real CLI there are at once
        #[arg(long, default_value_t = 50)]
        workers: usize,
    },
    /// Agents in terminals: how soon a status is seen, what a prompt and a start cost, what idling costs
    Terminal,
    /// Session files: load, list, follow, against Node's `JSON.parse` of the same files
    Transcripts,
}

pub(crate) fn run(bench: &Bench) -> anyhow::Result<()> {
    if cfg!(debug_assertions) {
        return release::again();
    }
    match bench {
        Bench::All { only } => all::run(&names(), only),
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
    names.filter(|name| name != "all" && name != "help").collect()
}
