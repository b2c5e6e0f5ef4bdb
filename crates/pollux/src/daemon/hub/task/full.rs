//! A log that cannot be written, because the disk is full: the agent can be stopped all the same, and nothing of what it says is
//! lost. Nothing else is begun until there is room again.

use super::record::Batch;
use super::{Accepted, Ask, TRY_AGAIN, Task, Woke};
use crate::api::{OpenQuestion, Summary};
use futures::StreamExt;
use pollux_agent::model::Effect;
use pollux_agent::session::Command;
use serde::Deserialize;
use tokio::time::Instant;

/// That the log cannot be written is said once in so many tries: the journal may be on the same disk.
const SAID: u32 = 120;
/// So much may wait until it can be written. When there is more, whoever asks waits.
const WAITING: usize = 256;

/// How it stands with a log that cannot be written.
#[derive(Default)]
pub(super) struct Full {
    /// How often it was tried in vain.
    tries: u32,
    /// What was accepted meanwhile, to be written with what is written next.
    pub(super) commands: Vec<Accepted>,
    /// True where somebody stopped the turn meanwhile.
    pub(super) stopped: bool,
}

impl Full {
    pub(super) fn is_full(&self) -> bool {
        self.tries > 0
    }

    /// A command was accepted. Who asks again while nothing can be written is no second one.
    pub(super) fn accept(&mut self, accepted: Accepted) {
        if self.commands.iter().all(|(id, ..)| *id != accepted.0) {
            self.commands.push(accepted);
        }
    }

    /// It could be written.
    pub(super) fn is_over(&mut self) {
        self.tries = 0;
    }
}

impl Task {
    /// The log could not be written: those who follow are told.
    pub(super) fn cannot_write(&mut self, error: &anyhow::Error) {
        if self.full.tries.is_multiple_of(SAID) {
            tracing::error!(session = %self.summary.id, "{error:#}");
        }
        self.full.tries = self.full.tries.wrapping_add(1).max(1);
        let told = self.feed.summary();
        if told.unwritten_since.is_none() {
            let (since, version) = (Some(self.clock.now()), told.version + 1);
            self.feed.set_summary(Summary { unwritten_since: since, version, ..(*told).clone() });
        }
    }

    /// Looks whether there is room again, where nothing else is to be written.
    pub(super) async fn try_again(&mut self) {
        if !self.full.is_full() {
            return;
        }
        match self.try_write(&[], None).await {
            Ok(()) => self.is_written(Batch::default()).await,
            Err(error) => self.cannot_write(&error),
        }
    }

    /// Waits until the log may be tried again. Whoever wants to end something is heard meanwhile. False where the daemon ends:
    /// that does not wait for the disk, and the files of the agents have what is missing.
    pub(super) async fn until_next_try(&mut self) -> bool {
        let again = Instant::now() + TRY_AGAIN;
        loop {
            let room = self.late.len() < WAITING;
            tokio::select! {
                () = tokio::time::sleep_until(again) => return true,
                () = self.stop.cancelled() => return false,
                Some(ask) = self.asks.recv(), if room => self.asked_meanwhile(ask).await,
                Some((order, outcome)) = self.ordered.next() => {
                    self.late.push_back(Woke::Ordered(order, outcome));
                }
            }
        }
    }

    /// Something is asked while the log cannot be written. What would be recorded waits.
    async fn asked_meanwhile(&mut self, ask: Ask) {
        match ask {
            Ask::Command { request, reply } => {
                let outcome = self.command_meanwhile(request);
                // Whoever asked may have gone away; what was ordered stays.
                drop(reply.send(outcome));
            }
            Ask::Snapshot { reply } => drop(reply.send(self.as_written().await)),
            Ask::Pane { reply } => drop(reply.send(self.pane())),
            Ask::Hook { line } if self.orders.is_some() => self.pass_on(line),
            Ask::Look { .. } => {
                // One look sees all of it.
                self.late.retain(|late| !matches!(late, Woke::Ask(Some(Ask::Look { .. }))));
                self.late.push_back(Woke::Ask(Some(ask)));
            }
            ask => self.late.push_back(Woke::Ask(Some(ask))),
        }
    }
}

/// Whether a command begins nothing: it stops a turn, ends the agent, or says no and nothing more. Such a command is given to the
/// agent also where it cannot be written down.
pub fn only_ends(command: &Command, told: &Summary) -> bool {
    match command {
        Command::Interrupt | Command::Stop => true,
        Command::Answer { question_id, choice, reason: None, .. } => {
            let mut asked = told.questions.iter().filter_map(read);
            let asked = asked.find(|question| question.id == *question_id);
            let mut options = asked.into_iter().flat_map(|question| question.options);
            options.any(|option| {
                let no = matches!(option.effect, Effect::RejectOnce | Effect::RejectAlways);
                no && option.id == *choice
            })
        }
        _ => false,
    }
}

/// A question, as far as it matters here.
#[derive(Deserialize)]
struct Asked {
    id: String,
    #[serde(default)]
    options: Vec<Offered>,
}

#[derive(Deserialize)]
struct Offered {
    id: String,
    effect: Effect,
}

fn read(open: &OpenQuestion) -> Option<Asked> {
    serde_json::from_str(open.question.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::{Command, Full};
    use pollux_agent::session::{Done, Reply};

    #[test]
    fn a_command_that_is_given_again_and_again_waits_once_to_be_written() {
        let mut full = Full::default();
        for id in ["pause-1", "pause-1", "pause-2", "pause-1"] {
            full.accept((id.to_owned(), Command::Interrupt, Reply::Done(Done::Sent)));
        }
        let waiting: Vec<&str> = full.commands.iter().map(|(id, ..)| id.as_str()).collect();
        assert_eq!(waiting, ["pause-1", "pause-2"]);
    }
}
