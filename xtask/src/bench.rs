//! `cargo xtask bench …`: figures, each beside what it is compared with, measured in the same minute.

mod data;
mod table;
mod transcripts;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Session files: load, list, follow, against Node's `JSON.parse` of the same files
    Transcripts,
}

pub(crate) fn run(bench: &Bench) -> anyhow::Result<()> {
    match bench {
        Bench::Transcripts => transcripts::run(),
    }
}
