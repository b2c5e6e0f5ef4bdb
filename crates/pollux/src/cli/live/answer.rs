//! `pollux answer`: what the agent waits for.

use super::send::{come_to_rest, or_leave, rested, told};
use super::tell::{Awaits, Format, Rest, Teller};
use super::{daemon, done, find, join, order, trouble};
use crate::cli::complete::ids;
use crate::cli::session::answer::{self, Given};
use crate::cli::session::change::Tell;
use crate::config::Config;
use crate::trouble::Trouble;
use clap_complete::ArgValueCompleter;
use pollux_agent::gemini::screen::read;
use pollux_agent::gemini::terminal::Live;
use pollux_agent::model::{Event, EventKind, StopReason};
use pollux_agent::session::{Done, Reply};
use pollux_agent::terminal::{Emulator, Pane, Server};
use std::process::ExitCode;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Answer an agent's question
///
/// Without CHOICE, shows the question and its choices.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  pollux answer 6c4f\n  pollux answer 6c4f allow --wait\n  \
    pollux answer 6c4f \"No, suggest changes\" --reason \"use the other table\"\n\n\
    Exit codes: 0 answered (with --wait: turn finished), 1 rejected, 2 failed. \
    With --wait also: 10 question, 11 session ended, 130 turn stopped.")]
pub(crate) struct Answer {
    /// Session ID, unique prefix, or `latest` (the most recently active session, preferably a running one)
    #[arg(add = ArgValueCompleter::new(ids))]
    id: String,
    /// Choice label, prefix or number; or `allow`, `always`, `deny`
    choice: Option<String>,
    /// Question to answer, if several are open
    #[arg(long, value_name = "ID")]
    question: Option<String>,
    /// Reason to send to the agent with the answer
    #[arg(long)]
    reason: Option<String>,
    /// What to print while waiting (terminal sessions only)
    #[arg(long, short, value_enum)]
    output: Option<Format>,
    #[command(flatten)]
    tell: Tell,
}

impl Answer {
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let only = [("--output", self.output.is_some())];
        if let Some(client) = daemon(&self.id, &only, config).await? {
            let (session, choice, reason) = (self.id, self.choice, self.reason);
            let (question, tell) = (self.question, self.tell);
            let given = Given { session, choice, question, reason, tell };
            return answer::run(&client, given).await;
        }
        let Some(choice) = self.choice else {
            return show(&self.id, self.tell.json, config).await;
        };
        let mut live = join(&self.id, config).await?;
        let orders = live.orders();
        let mut early = Vec::new();
        let is_explained = self.reason.is_some();
        let answered = orders.answer(self.question, choice, self.reason);
        order(&mut live, answered, |event| early.push(event)).await?;
        if !self.tell.wait {
            done(self.tell.json)?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut teller = Teller::waiting(self.output, self.tell.json);
        let mut rest = told(&of_answer(early), &mut teller)?;
        if is_explained && matches!(rest, Some(Rest::Done(StopReason::Cancelled) | Rest::Idle)) {
            rest = begins(&mut live, rest, &mut teller).await?;
        }
        let rest = or_leave(&self.id, come_to_rest(&mut live, rest, &mut teller)).await?;
        rested(rest, &Reply::Done(Done::Sent), &teller, self.tell.json)
    }
}

/// So long may the turn take to begin that a reason begins.
pub(in crate::cli) const EXPLAINED: Duration = Duration::from_secs(10);

/// The answer has ended the turn, and where its reason could not be said with it, that is the next prompt.
async fn begins(
    live: &mut Live,
    ended: Option<Rest>,
    teller: &mut Teller,
) -> anyhow::Result<Option<Rest>> {
    teller.awaits(Awaits::Turn);
    let until = Instant::now() + EXPLAINED;
    loop {
        let Ok(event) = timeout_at(until, live.next()).await else { return Ok(ended) };
        let Some(event) = event else { return Ok(Some(Rest::Exited)) };
        let rest = teller.event(&event)?;
        if rest.is_some() || matches!(event.kind, EventKind::TurnStarted { .. }) {
            return Ok(rest);
        }
    }
}

/// What came of an answer, of all that happened until it was given: what was asked before is answered, and what was
/// said before was told.
fn of_answer(mut early: Vec<Event<'static>>) -> Vec<Event<'static>> {
    let given = early.iter().position(|event| matches!(event.kind, EventKind::Answered { .. }));
    let mut at = 0;
    early.retain(|event| {
        at += 1;
        let before = given.is_some_and(|given| at <= given);
        let is_moot = |kind: &EventKind<'_>| {
            use EventKind::{Asked, SessionChanged, TextGrew};
            matches!(kind, Asked(_) | SessionChanged(_) | TextGrew { .. })
        };
        !(before && is_moot(&event.kind))
    });
    early
}

async fn show(id: &str, json: bool, config: &Config) -> anyhow::Result<ExitCode> {
    let found = find(id, config).await?;
    let server = Server::join(&found.socket, &found.pane).await.map_err(trouble)?;
    let pane = Pane::find(&server, &found.pane).await.map_err(trouble)?;
    let captured = pane.capture().await.map_err(trouble)?;
    let mut emulator = Emulator::new(captured.size);
    emulator.feed(captured.text.as_bytes());
    emulator.set_title(captured.told.title);
    let Some(dialog) = read(&emulator.screen()).dialog else {
        let message = format!("no question is pending in session {id}");
        let trouble = Trouble::refused("no_question", message);
        return Err(trouble.hint(format!("`pollux screen {id}` shows its terminal")).into());
    };
    answer::shown(&dialog.question("open"), json)?;
    Ok(ExitCode::SUCCESS)
}
