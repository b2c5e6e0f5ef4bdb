//! `pollux wait`.

use crate::api::Events;
use crate::cli::complete::ids;
use crate::cli::live::send::exit;
use crate::cli::live::tell::Rest;
use crate::client::{Client, Until, Waited, escaped, wait};
use crate::config::Config;
use crate::render::clean;
use crate::report;
use clap::ValueEnum;
use clap_complete::ArgValueCompleter;
use pollux_agent::model::{Event, EventKind, Failure, StopReason};
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
    let since = since(client, session, after).await?;
    if !json {
        report::text(&since.text())?;
        if until == Until::Question {
            super::answer::note(&client.session(session).await?)?;
        }
    }
    match since.ended.filter(|_| until == Until::Idle) {
        // After a turn that failed or was stopped the agent is idle too.
        Some(reason) => {
            if let Some(failure) = &since.failure {
                report::failure(failure);
            }
            Ok(exit(Rest::Done(reason)))
        }
        None => Ok(ExitCode::from(code(until).1)),
    }
}

#[derive(Deserialize)]
struct Told<'e> {
    #[serde(rename = "type")]
    kind: &'e str,
    #[serde(default)]
    message: Option<Message>,
    #[serde(default)]
    changed: bool,
    #[serde(default)]
    stop_reason: Option<StopReason>,
}

#[derive(Deserialize)]
struct Message {
    id: String,
    role: String,
    content: Value,
}

/// What happened after an event.
#[derive(Default)]
struct Since {
    /// What the agent said: each message as it was recorded last.
    said: Vec<(String, String)>,
    /// How the last turn ended.
    ended: Option<StopReason>,
    failure: Option<Box<Failure>>,
}

async fn since(client: &Client, session: &str, mut after: u64) -> anyhow::Result<Since> {
    let mut since = Since::default();
    loop {
        let path = format!("/api/v1/sessions/{}/events?after={after}&limit=500", escaped(session));
        let page: Events = client.get(&path).await?;
        let Some(last) = page.events.last() else { return Ok(since) };
        after = last.seq;
        for event in &page.events {
            let json = event.event.get();
            // What is said is printed to its end.
            if !event.cut.is_empty() && json.contains("message_recorded") {
                since.event(&client.event(session, event.seq).await?);
            } else {
                since.event(json);
            }
        }
    }
}

impl Since {
    fn event(&mut self, json: &str) {
        match serde_json::from_str(json) {
            Ok(Told { kind: "message_recorded", message: Some(message), changed, .. }) => {
                self.recorded(message, changed);
            }
            Ok(Told { kind: "turn_ended", stop_reason: Some(reason), .. }) => {
                self.ended = Some(reason);
                self.failure = failure(json);
            }
            _ => {}
        }
    }

    fn recorded(&mut self, message: Message, changed: bool) {
        let known = self.said.len();
        self.said.retain(|(id, _)| *id != message.id);
        // One that is only changed was said before.
        if message.role != "assistant" || (changed && self.said.len() == known) {
            return;
        }
        self.said.push((message.id, words(&message.content)));
    }

    fn text(&self) -> String {
        let lines = self.said.iter().map(|(_, text)| clean(text.trim()).into_owned());
        let lines: Vec<String> = lines.filter(|text| !text.is_empty()).collect();
        if lines.is_empty() { String::new() } else { format!("{}\n", lines.join("\n")) }
    }
}

/// Why a turn failed, if it did.
fn failure(ended: &str) -> Option<Box<Failure>> {
    match Event::from_json(ended).ok()?.kind {
        EventKind::TurnEnded { error, .. } => error,
        _ => None,
    }
}

fn words(content: &Value) -> String {
    if let Value::String(text) = content {
        return text.clone();
    }
    let blocks = content.as_array().into_iter().flatten();
    let texts = blocks.filter(|block| block["type"] == "text");
    texts.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}
