//! `pollux man`: a manual page for each command, made from its help.

use super::Args;
use crate::report;
use crate::trouble::Trouble;
use clap::CommandFactory;
use std::path::PathBuf;
use std::process::ExitCode;

/// Write a manual page for each command (for packagers)
#[derive(Debug, clap::Args)]
#[command(hide = true, after_help = "Example: pollux man --to /usr/local/share/man/man1")]
pub(crate) struct Man {
    /// Output directory
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

impl Man {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let made = std::fs::create_dir_all(&self.to)
            .and_then(|()| clap_mangen::generate_to(Args::command(), &self.to));
        made.map_err(|error| {
            let message = format!("could not write to {}", self.to.display());
            let trouble = Trouble::failed("unwritable_file", message);
            anyhow::Error::new(error).context(trouble.hint("choose another directory with `--to`"))
        })?;
        report::note(&format!("wrote the manual pages to {}", self.to.display()));
        Ok(ExitCode::SUCCESS)
    }
}
