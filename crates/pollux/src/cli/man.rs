//! `pollux man`: a manual page for each command, made from its help.

use super::Args;
use crate::report;
use crate::trouble::Trouble;
use clap::CommandFactory;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write a manual page for each command, for those who package Pollux
#[derive(Debug, clap::Args)]
#[command(hide = true, after_help = "Example: pollux man --to /usr/local/share/man/man1")]
pub(crate) struct Man {
    /// The directory that they are written to
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

impl Man {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let made = std::fs::create_dir_all(&self.to)
            .and_then(|()| clap_mangen::generate_to(Args::command(), &self.to));
        made.map_err(|error| {
            let message = format!("could not write into {}", self.to.display());
            let trouble = Trouble::failed("unwritable_file", message);
            anyhow::Error::new(error).context(trouble.hint("name another directory with `--to`"))
        })?;
        report::note(&format!("the pages are in {}", self.to.display()));
        Ok(ExitCode::SUCCESS)
    }
}
