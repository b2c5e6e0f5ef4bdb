//! `pollux wait`.

use crate::cli::complete::ids;
use crate::client::{Client, Until, Waited, wait};
use crate::config::Config;
use crate::report;
use crate::trouble::Trouble;
use clap::ValueEnum;
use clap_complete::ArgValueCompleter;
use std::process::ExitCode;
use std::time::Duration;

/// Wait until the agent is idle, asks, or is gone
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 idle, 10 a question is open, 11 the agent is gone, 12 the time is over, 1 refused, 2 failed."
)]
pub(crate) struct Wait {
    /// The session: its id, the beginning of it, or `latest`
    #[arg(add = ArgValueCompleter::new(ids))]
    session: String,
    /// For what; by default for any of them
    #[arg(long = "for", value_name = "WHAT")]
    what: Vec<What>,
    /// At most so long, such as 90s, 10m or 1h
    #[arg(long, value_parser = crate::cli::run::duration)]
    timeout: Option<Duration>,
    /// One object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    Idle,
    Question,
    Exit,
}

const ANY: &[Until] = &[Until::Idle, Until::Question, Until::Exit];

pub(super) async fn run(args: Wait, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config).await?;
    let session = client.session(&args.session).await?.id;
    let until: Vec<Until> = args
        .what
        .iter()
        .map(|what| match what {
            What::Idle => Until::Idle,
            What::Question => Until::Question,
            What::Exit => Until::Exit,
        })
        .collect();
    let until = if until.is_empty() { ANY } else { &until };
    let waiting = wait(&client, &session, until);
    let waited = match args.timeout {
        Some(most) => tokio::time::timeout(most, waiting).await.ok().transpose()?,
        None => Some(waiting.await?),
    };
    let (word, code) = match waited {
        Some(Waited::Came(until)) => code(until),
        None => ("timeout", 12),
        Some(Waited::Gone) => return Err(gone()),
    };
    if args.json {
        report::json(&serde_json::json!({ "session": session, "came": word }))?;
    } else {
        report::text(&format!("{word}\n"))?;
    }
    Ok(ExitCode::from(code))
}

fn code(until: Until) -> (&'static str, u8) {
    match until {
        Until::Idle => ("idle", 0),
        Until::Question => ("question", 10),
        Until::Exit => ("exit", 11),
    }
}

fn gone() -> anyhow::Error {
    Trouble::failed("gone", "the daemon is gone").into()
}

/// Waits until there is nothing more to do without a person.
pub(super) async fn until_idle(client: &Client, session: &str) -> anyhow::Result<ExitCode> {
    match wait(client, session, ANY).await? {
        Waited::Came(until) => Ok(ExitCode::from(code(until).1)),
        Waited::Gone => Err(gone()),
    }
}
