//! `pollux send`: words for an agent.

use super::tell::{Format, Rest, Teller};
use super::{daemon, done, join, order};
use crate::cli::complete::ids;
use crate::cli::run::prompt;
use crate::cli::session::change::{self, Tell};
use crate::config::Config;
use crate::report;
use clap::ValueEnum;
use clap_complete::ArgValueCompleter;
use pollux_agent::gemini::terminal::{Busy, Live, Words};
use pollux_agent::model::{Event, StopReason};
use pollux_agent::session::Command;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Send a prompt; while the agent works it waits its turn
///
/// In a terminal, what begins like a command of the CLI (`/compress`) is one, and what begins with `!` is for the shell;
/// `--literal` sends anything to the model as it is.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 sent (with --wait: done), 1 refused, 2 failed; with --wait, 10 a question is open, 11 the agent is gone, 130 the turn was stopped."
)]
pub(crate) struct Send {
    /// The session: its id, the beginning of it, or `latest`
    #[arg(add = ArgValueCompleter::new(ids))]
    id: String,
    /// What to send; `-`, or nothing, stands for stdin, and what is piped in beside it comes first
    text: Option<String>,
    /// To the model as it is, whatever it begins with
    #[arg(long)]
    literal: bool,
    /// A file that belongs to the prompt, such as a picture
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    /// What becomes of it while the agent works
    #[arg(long, value_enum)]
    busy: Option<While>,
    /// What to print while waiting for an agent in a terminal
    #[arg(long, short, value_enum)]
    output: Option<Format>,
    #[command(flatten)]
    tell: Tell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum While {
    /// It is sent when the agent is done
    Wait,
    /// The CLI takes it now, and gives it to the model when the turn is over
    Queue,
    /// It is not sent
    Refuse,
}

impl Send {
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let text = prompt::read(self.text.as_deref())?;
        let only = [
            ("--literal", self.literal),
            ("--attach", !self.attach.is_empty()),
            ("--busy", matches!(self.busy, Some(While::Queue | While::Refuse))),
            ("--output", self.output.is_some()),
        ];
        if let Some(client) = daemon(&self.id, &only, config).await? {
            let command = Command::prompt(text);
            return change::order(&client, &self.id, command, self.tell).await;
        }
        let words = if self.literal { Words::Prompt(text) } else { Words::typed(&text) };
        let files = self.attach.iter().map(|file| prompt::attached(&config.cwd.join(file)));
        let files = files.collect::<anyhow::Result<Vec<_>>>()?;
        let busy = match self.busy {
            None | Some(While::Wait) => Busy::Wait,
            Some(While::Queue) => Busy::Queue,
            Some(While::Refuse) => Busy::Refuse,
        };
        let mut live = join(&self.id, config).await?;
        let orders = live.orders();
        let is_prompt = matches!(words, Words::Prompt(_));
        let mut early = Vec::new();
        let sent = orders.send(words, files, busy);
        order(&mut live, sent, |event| early.push(event)).await?;
        done(self.tell.json)?;
        if !self.tell.wait || !is_prompt {
            return Ok(ExitCode::SUCCESS);
        }
        let mut teller = Teller::new(self.output.unwrap_or(Format::Text));
        Ok(exit(come_to_rest(&mut live, &early, &mut teller).await?))
    }
}

/// So long is waited for the words of a turn whose end was seen on the screen before its session file had them.
const LATE: Duration = Duration::from_secs(5);

/// Tells what was heard while something else was waited for, and then what happens until the agent is done, asks something,
/// or is gone.
pub(super) async fn come_to_rest(
    live: &mut Live,
    early: &[Event<'static>],
    teller: &mut Teller,
) -> anyhow::Result<Rest> {
    let mut rest = told(early, teller)?;
    while rest.is_none() {
        rest = match live.next().await {
            Some(event) => teller.event(&event)?,
            None => Some(Rest::Exited),
        };
    }
    if rest == Some(Rest::Done(StopReason::EndTurn)) {
        hear_out(live, teller).await?;
    }
    Ok(rest.unwrap_or(Rest::Exited))
}

/// Tells what was heard already. Gives how the agent came to rest by that.
pub(super) fn told(early: &[Event<'static>], teller: &mut Teller) -> anyhow::Result<Option<Rest>> {
    let mut rest = None;
    for event in early {
        rest = teller.event(event)?.or(rest);
    }
    Ok(rest)
}

/// Tells what comes late, where nothing has come yet.
async fn hear_out(live: &mut Live, teller: &mut Teller) -> anyhow::Result<()> {
    let until = Instant::now() + LATE;
    while !teller.has_heard() {
        let Ok(Some(event)) = timeout_at(until, live.next()).await else { break };
        teller.event(&event)?;
    }
    Ok(())
}

/// What a program that waits wants to know.
pub(in crate::cli) fn exit(rest: Rest) -> ExitCode {
    match rest {
        Rest::Done(StopReason::EndTurn) => ExitCode::SUCCESS,
        Rest::Done(StopReason::Cancelled) => ExitCode::from(130),
        Rest::Done(_) => ExitCode::from(2),
        Rest::Asked => {
            report::quiet("it waits for an answer: `pollux answer`");
            ExitCode::from(10)
        }
        Rest::Exited => {
            report::quiet("the agent has ended");
            ExitCode::from(11)
        }
    }
}
