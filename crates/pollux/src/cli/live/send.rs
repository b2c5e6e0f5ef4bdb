//! `pollux send`: words for an agent.

use super::tell::{Awaits, Format, Rest, Teller};
use super::{daemon, done, join, order};
use crate::cli::complete::ids;
use crate::cli::run::prompt;
use crate::cli::session::change::{self, Tell};
use crate::config::Config;
use crate::report;
use clap::ValueEnum;
use clap_complete::ArgValueCompleter;
use pollux_agent::gemini::terminal::{Busy, Live, Words};
use pollux_agent::model::{Event, EventKind, SessionStatus, StopReason};
use pollux_agent::session::{Command, Done, Reply};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Send a prompt; it is queued if the agent is busy
///
/// In terminal sessions, text that starts with `/` runs a Gemini CLI command (`/compress`), and text that starts with `!`
/// runs a shell command. `--literal` sends any text to the model unchanged.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 sent (with --wait: turn finished), 1 rejected, 2 failed. \
    With --wait also: 10 question, 11 session ended, 130 turn stopped.")]
pub(crate) struct Send {
    /// Session ID, unique prefix, or `latest` (the most recently active session, preferably a running one)
    #[arg(add = ArgValueCompleter::new(ids))]
    id: String,
    /// Prompt; `-` or no argument reads stdin. With both, stdin comes first
    text: Option<String>,
    /// Send the text to the model unchanged, even if it starts with `/` or `!`
    #[arg(long)]
    literal: bool,
    /// File to attach to the prompt, such as an image
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    /// What to do if the agent is busy (default: wait)
    #[arg(long, value_enum)]
    busy: Option<While>,
    /// What to print while waiting (terminal sessions only)
    #[arg(long, short, value_enum)]
    output: Option<Format>,
    #[command(flatten)]
    tell: Tell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum While {
    /// Send the prompt when the turn ends
    Wait,
    /// Put the prompt into Gemini CLI's own queue now (terminal sessions only)
    Queue,
    /// Fail without sending the prompt (terminal sessions only)
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
        let awaits = if matches!(words, Words::Prompt(_)) { Awaits::Turn } else { Awaits::Command };
        let queued = match &words {
            Words::Prompt(text) if busy == Busy::Queue && files.is_empty() => Some(text.clone()),
            _ => None,
        };
        // What happens until then is of the turn before.
        order(&mut live, orders.ready(busy), drop).await?;
        let mut early = Vec::new();
        let sent = orders.send(words, files, busy);
        order(&mut live, sent, |event| early.push(event)).await?;
        if !self.tell.wait {
            if awaits == Awaits::Turn && busy != Busy::Queue {
                begins(&mut live, &mut early, BEGUN).await;
            }
            done(self.tell.json)?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut teller = Teller::waiting(self.output, self.tell.json);
        teller.awaits(awaits);
        teller.queued(queued);
        let rest = told(&early, &mut teller)?;
        let rest = or_leave(&self.id, come_to_rest(&mut live, rest, &mut teller)).await?;
        rested(rest, &Reply::Done(Done::Sent), &teller, self.tell.json)
    }
}

/// So long may a turn take to be seen after its prompt was taken.
const BEGUN: Duration = Duration::from_secs(5);

/// Waits until the turn is seen to have begun, and says whether it was: whoever comes next would take the agent for idle, and its
/// turn for their own. What happens meanwhile is kept.
pub(super) async fn begins(
    live: &mut Live,
    early: &mut Vec<Event<'static>>,
    limit: Duration,
) -> bool {
    let begun = |event: &Event<'_>| match &event.kind {
        EventKind::TurnStarted { .. } | EventKind::Asked(_) => true,
        EventKind::SessionChanged(change) => change.status == Some(SessionStatus::Working),
        _ => false,
    };
    let until = Instant::now() + limit;
    let mut is_begun = early.iter().any(begun);
    while !is_begun {
        let Ok(Some(event)) = timeout_at(until, live.next()).await else { break };
        is_begun = begun(&event);
        early.push(event);
    }
    is_begun
}

/// Waits, unless somebody presses Ctrl-C: the agent goes on, and they are told where it is.
pub(in crate::cli) async fn or_leave<T>(
    id: &str,
    waiting: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<Option<T>> {
    tokio::select! {
        rest = waiting => rest.map(Some),
        _ = tokio::signal::ctrl_c() => {
            report::note(&format!("the agent keeps running: `pollux attach {id}`, `pollux interrupt {id}`"));
            Ok(None)
        }
    }
}

/// Says how the agent came to rest, after what was asked of it: with an exit code, and in one object for those who want that.
pub(super) fn rested(
    rest: Option<Rest>,
    asked: &impl serde::Serialize,
    teller: &Teller,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let Some(rest) = rest else { return Ok(ExitCode::from(130)) };
    if json {
        report::json(&with_answer(asked, rest, &teller.answer())?)?;
    }
    Ok(exit(rest))
}

/// What was asked, with what came of it.
pub(in crate::cli) fn with_answer(
    asked: &impl serde::Serialize,
    rest: Rest,
    answer: &str,
) -> anyhow::Result<serde_json::Value> {
    let mut told = serde_json::to_value(asked)?;
    let (came, reason) = match rest {
        Rest::Done(reason) => ("idle", Some(reason)),
        Rest::Idle => ("idle", None),
        Rest::Asked => ("question", None),
        Rest::Exited => ("exit", None),
    };
    if let Some(told) = told.as_object_mut() {
        told.insert("came".to_owned(), came.into());
        told.insert("answer".to_owned(), answer.into());
        told.extend(reason.map(|reason| ("stop_reason".to_owned(), serde_json::json!(reason))));
    }
    Ok(told)
}

/// So long is waited for the words of a turn whose end was seen on the screen before its session file had them.
pub(in crate::cli) const LATE: Duration = Duration::from_secs(5);

/// Tells what happens until the agent is done, asks something, or is gone, where it has not come to rest already.
pub(super) async fn come_to_rest(
    live: &mut Live,
    mut rest: Option<Rest>,
    teller: &mut Teller,
) -> anyhow::Result<Rest> {
    while rest.is_none() {
        rest = match live.next().await {
            Some(event) => teller.event(&event)?,
            None => Some(Rest::Exited),
        };
    }
    if rest == Some(Rest::Done(StopReason::EndTurn)) {
        hear_out(live, teller).await?;
    }
    if matches!(rest, Some(Rest::Done(_))) {
        teller.only_seen()?;
    }
    Ok(rest.unwrap_or(Rest::Exited))
}

/// Tells what was heard already. Gives how the agent came to rest by that.
pub(super) fn told(early: &[Event<'static>], teller: &mut Teller) -> anyhow::Result<Option<Rest>> {
    let mut rest = None;
    for event in early {
        let began = matches!(event.kind, EventKind::TurnStarted { .. });
        rest = match (teller.event(event)?, rest) {
            // What ended before has not brought it to rest.
            (None, _) if began => None,
            // How the turn ended says more than that it is idle since.
            (None | Some(Rest::Idle), Some(before)) => Some(before),
            (now, _) => now,
        };
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
        Rest::Done(StopReason::EndTurn) | Rest::Idle => ExitCode::SUCCESS,
        Rest::Done(StopReason::Cancelled) => ExitCode::from(130),
        Rest::Done(_) => ExitCode::from(2),
        Rest::Asked => {
            report::quiet("waiting for your answer: `pollux answer ID`");
            ExitCode::from(10)
        }
        Rest::Exited => {
            report::quiet("the session has ended");
            ExitCode::from(11)
        }
    }
}
