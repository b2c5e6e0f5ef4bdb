//! `pollux sessions restore`.

use crate::api::Trust;
use crate::cli::complete::ids;
use crate::cli::session::runtime;
use crate::client::{Client, escaped};
use crate::config::Config;
use crate::report;
use clap_complete::ArgValueCompleter;
use serde_json::json;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct Restore {
    /// Session ID, unique prefix, or `latest` (the most recently active session, preferably a running one)
    #[arg(add = ArgValueCompleter::new(ids))]
    session: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Restore, config: &Config) -> anyhow::Result<ExitCode> {
    runtime()?.block_on(async {
        let client = Client::connect(config).await?;
        let id = client.session(&args.session).await?.id;
        let path = format!("/api/v1/sessions/{}/restore", escaped(&id));
        let restored: Trust = client.post(&path, &json!({})).await?;
        if args.json {
            report::json(&restored)?;
        } else {
            report::text(&format!("{}\n", restored.path.display()))?;
        }
        Ok(ExitCode::SUCCESS)
    })
}
