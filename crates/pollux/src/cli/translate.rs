//! `pollux translate`: the translator alone, for bug reports and tests.

use crate::report;
use crate::trouble::Trouble;
use anyhow::Context;
use clap::ValueEnum;
use pollux_agent::gemini::transcript::events;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  pollux translate --from session ~/.gemini/tmp/shop/chats/session-2026-11-15T17-55-1f9cc522.jsonl"
)]
pub(crate) struct Translate {
    /// What the file is a recording of
    #[arg(long, value_enum)]
    from: From,
    /// The recording
    file: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum From {
    /// A session file, of either format
    Session,
}

pub(super) fn run(args: &Translate) -> anyhow::Result<ExitCode> {
    let bytes = fs::read(&args.file).with_context(|| {
        Trouble::failed("unreadable_file", format!("could not read {}", args.file.display()))
    })?;
    let mut out = report::raw();
    match args.from {
        From::Session => {
            for event in events(&bytes) {
                report::line(&mut out, &event)?;
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
