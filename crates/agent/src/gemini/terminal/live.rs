//! The handle of a live agent: its events, and orders for it.

use super::act::gone;
use super::order::{Busy, Kind, Order};
use super::words::Words;
use crate::model::{Event, Failure, Mode};
use crate::terminal::Pane;
use std::path::PathBuf;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// A live agent. Dropping it lets go of the agent, which goes on in its terminal.
#[derive(Debug)]
pub struct Live {
    pub(super) events: mpsc::Receiver<Event<'static>>,
    pub(super) orders: Orders,
    pub(super) pane: Pane,
    pub(super) ours: bool,
    pub(super) _task: JoinSet<()>,
}

impl Live {
    /// The next event; none when the agent is gone.
    ///
    /// Events have to be read: when a thousand of them wait, the terminal is read no further.
    pub async fn next(&mut self) -> Option<Event<'static>> {
        self.events.recv().await
    }

    /// Something that gives orders while somebody else reads the events.
    pub fn orders(&self) -> Orders {
        self.orders.clone()
    }

    /// The pane that it is in.
    pub fn pane(&self) -> &Pane {
        &self.pane
    }

    /// Whether the pane was made for this agent. One that is somebody else's stays when the agent ends.
    pub fn is_ours(&self) -> bool {
        self.ours
    }

    /// Gives an order and waits for what comes of it, while events are passed to `hear`: all that came before it was done.
    pub async fn while_hearing<T>(
        &mut self,
        order: impl Future<Output = T>,
        mut hear: impl FnMut(Event<'static>),
    ) -> T {
        tokio::pin!(order);
        let done = loop {
            tokio::select! {
                done = &mut order => break done,
                Some(event) = self.events.recv() => hear(event),
            }
        };
        while let Ok(event) = self.events.try_recv() {
            hear(event);
        }
        done
    }
}

/// Orders for a live agent. Each is carried out to its end, one after the other: what it says is what was seen.
#[derive(Debug, Clone)]
pub struct Orders {
    pub(super) queue: mpsc::Sender<Order>,
}

impl Orders {
    /// Sends a prompt for the model.
    pub async fn prompt(&self, text: impl Into<String>) -> Result<(), Failure> {
        self.send(Words::Prompt(text.into()), Vec::new(), Busy::default()).await
    }

    /// Sends words, with files that belong to them. Done when the CLI has taken them.
    pub async fn send(&self, words: Words, files: Vec<PathBuf>, busy: Busy) -> Result<(), Failure> {
        self.give(Kind::Send { words, files, busy }).await
    }

    /// Waits until words can be sent, or says why they cannot. Sending does so by itself; who has waited first knows that what
    /// happens from then on is not of the turn before.
    pub async fn ready(&self, busy: Busy) -> Result<(), Failure> {
        self.give(Kind::Ready(busy)).await
    }

    /// Sends words of which it is not known whether the CLI has them: somebody was ended while they sent them. They are
    /// sent only where the CLI is seen not to have them; else this fails with [`HAD_ARRIVED`](super::HAD_ARRIVED) or
    /// [`NOT_KNOWN`](super::NOT_KNOWN).
    pub async fn send_in_doubt(&self, words: Words) -> Result<(), Failure> {
        self.give(Kind::SendInDoubt(words)).await
    }

    /// Answers a question, which is the open one where none is named. `choice` is the id of one of its options; `reason`
    /// is told to the agent. Done when the question is gone from the screen.
    pub async fn answer(
        &self,
        question: Option<String>,
        choice: impl Into<String>,
        reason: Option<String>,
    ) -> Result<(), Failure> {
        self.give(Kind::Answer { question, choice: choice.into(), reason }).await
    }

    /// Stops the turn. What the CLI has queued is sent by it at once, unless it is dropped first.
    pub async fn interrupt(&self, drop_queued: bool) -> Result<(), Failure> {
        self.give(Kind::Interrupt { drop_queued }).await
    }

    /// Changes what the agent may do. Done when the screen says so.
    pub async fn mode(&self, mode: Mode) -> Result<(), Failure> {
        self.give(Kind::Mode(mode)).await
    }

    /// Changes the model, in the CLI's words.
    pub async fn model(&self, model: impl Into<String>) -> Result<(), Failure> {
        self.give(Kind::Model(model.into())).await
    }

    /// Passes on what a hook of this agent was told: its payload.
    pub async fn hook(&self, payload: impl Into<String>) -> Result<(), Failure> {
        self.give(Kind::Hook(payload.into())).await
    }

    /// Waits until a session that is gone on with is safe from the next start of the CLI, and sees that all of it is there.
    /// Prompts do so by themselves.
    pub async fn is_whole(&self) -> Result<(), Failure> {
        self.give(Kind::Whole).await
    }

    /// Ends the agent, as a person would; at once where it does not listen.
    pub async fn stop(&self) -> Result<(), Failure> {
        self.give(Kind::Stop).await
    }

    async fn give(&self, kind: Kind) -> Result<(), Failure> {
        let (done, is_done) = oneshot::channel();
        self.queue.send(Order { kind, done }).await.ok().ok_or_else(gone)?;
        is_done.await.ok().ok_or_else(gone)?
    }
}
