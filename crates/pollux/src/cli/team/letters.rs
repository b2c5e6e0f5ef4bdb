//! `pollux message` and `pollux inbox`.

use crate::api::team::{Letters, Teams, Write as Body};
use crate::client::{Client, escaped};
use crate::config::Config;
use crate::report;
use crate::report::human::{ago, now};
use crate::report::table::printable;
use crate::team::post::{Letter, State};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::process::ExitCode;

/// Send a message to a team agent; delivered when the agent is idle
#[derive(Debug, clap::Args)]
pub(crate) struct Message {
    /// Agent name or session ID
    agent: String,
    /// Message text
    text: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Message {
    pub(super) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let client = Client::connect(config).await?;
        let body = Body { to: self.agent, text: self.text };
        let sent: Value = client.post("/api/v1/letters", &body).await?;
        if self.json {
            report::json(&sent)?;
        } else {
            report::note(&format!("sent to {}", sent["to"].as_str().unwrap_or_default()));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Show new messages from team agents and mark them as read
///
/// With `--all`, `--of` or `--peek`, the messages stay unread.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Inbox {
    /// Show all messages to and from this agent instead of yours
    #[arg(long, value_name = "AGENT")]
    of: Option<String>,
    /// Also show messages already read, and messages between agents
    #[arg(long, short)]
    all: bool,
    /// Leave the messages unread
    #[arg(long)]
    peek: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Inbox {
    pub(super) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let client = Client::connect(config).await?;
        let path = match &self.of {
            Some(agent) => format!("/api/v1/letters?of={}", escaped(agent)),
            None if self.all => "/api/v1/letters?all=true".to_owned(),
            None => "/api/v1/letters".to_owned(),
        };
        let mut letters = client.get::<Letters>(&path).await?.letters;
        let own = self.of.is_none() && !self.all;
        if own {
            letters.retain(|letter| letter.state == State::Waiting);
        }
        if self.json {
            report::json(&letters)?;
        } else {
            let team: Teams = client.get("/api/v1/team").await?;
            let names =
                team.members.into_iter().map(|member| (member.session, member.name)).collect();
            show(&letters, &names, own)?;
        }
        if own && !self.peek && !letters.is_empty() {
            let ids: Vec<i64> = letters.iter().map(|letter| letter.id).collect();
            let _read: Value = client.post("/api/v1/letters/read", &json!(ids)).await?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Letters one below the other. Of one's own that are new it goes without saying where they are.
fn show(letters: &[Letter], names: &HashMap<String, String>, new: bool) -> anyhow::Result<()> {
    let name = |who: &Option<String>| match who {
        None => "you".to_owned(),
        Some(session) => names.get(session).cloned().unwrap_or_else(|| session.clone()),
    };
    let mut out = report::out();
    for letter in letters {
        let state = match (letter.state, &letter.reason) {
            _ if new => String::new(),
            (State::Dead, Some(reason)) => format!(" (undeliverable: {})", printable(reason)),
            (state, _) => format!(" ({})", format!("{state:?}").to_lowercase()),
        };
        writeln!(
            out,
            "{} → {}, {}{state}",
            name(&letter.from),
            name(&letter.to),
            ago(letter.created_at.as_millisecond(), now())
        )?;
        for line in crate::render::clean(&letter.text).lines() {
            writeln!(out, "  {line}")?;
        }
    }
    out.flush()?;
    if letters.is_empty() {
        report::note("no messages");
    }
    Ok(())
}
