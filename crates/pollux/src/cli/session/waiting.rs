//! `pollux wait`.

use crate::api::Events;
use crate::cli::complete::ids;
use crate::client::{Client, Until, Waited, escaped, wait};
use crate::config::Config;
use crate::render::clean;
use crate::report;
use clap::ValueEnum;
use clap_complete::ArgValueCompleter;
use serde::Deserialize;
use serde_json::Value;
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
        Some(Waited::Gone) => return Err(client.gone().into()),
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

/// Waits until there is nothing more to do without a person, and prints what the agent said after an event, and what it asks.
pub(super) async fn until_idle(
    client: &Client,
    session: &str,
    after: u64,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let Waited::Came(until) = wait(client, session, ANY).await? else {
        return Err(client.gone().into());
    };
    if !json {
        report::text(&said(client, session, after).await?)?;
        if until == Until::Question {
            super::answer::note(&client.session(session).await?)?;
        }
    }
    Ok(ExitCode::from(code(until).1))
}

#[derive(Deserialize)]
struct Recorded<'e> {
    #[serde(rename = "type")]
    kind: &'e str,
    #[serde(default)]
    message: Option<Message>,
    #[serde(default)]
    changed: bool,
}

#[derive(Deserialize)]
struct Message {
    id: String,
    role: String,
    content: Value,
}

/// What the agent said after an event: each message as it was recorded last.
async fn said(client: &Client, session: &str, mut after: u64) -> anyhow::Result<String> {
    let mut said: Vec<(String, String)> = Vec::new();
    loop {
        let path = format!("/api/v1/sessions/{}/events?after={after}&limit=500", escaped(session));
        let page: Events = client.get(&path).await?;
        let Some(last) = page.events.last() else { break };
        after = last.seq;
        for event in &page.events {
            let Ok(Recorded { kind: "message_recorded", message: Some(message), changed }) =
                serde_json::from_str(event.event.get())
            else {
                continue;
            };
            let known = said.len();
            said.retain(|(id, _)| *id != message.id);
            // One that is only changed was said before.
            if message.role != "assistant" || (changed && said.len() == known) {
                continue;
            }
            said.push((message.id, words(&message.content)));
        }
    }
    let lines = said.iter().map(|(_, text)| clean(text.trim()).into_owned());
    let lines: Vec<String> = lines.filter(|text| !text.is_empty()).collect();
    Ok(if lines.is_empty() { String::new() } else { format!("{}\n", lines.join("\n")) })
}

fn words(content: &Value) -> String {
    if let Value::String(text) = content {
        return text.clone();
    }
    let blocks = content.as_array().into_iter().flatten();
    let texts = blocks.filter(|block| block["type"] == "text");
    texts.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}
