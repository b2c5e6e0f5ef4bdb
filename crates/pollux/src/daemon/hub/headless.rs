//! A session of headless runs: one process for each prompt, each going on with the session of the one before.

use super::agent::{Agent, Events, Gemini, Orders, Wanted};
use super::resumed::no_file;
use crate::daemon::team::badge::Lent;
use futures::future::BoxFuture;
use pollux_agent::gemini::cli::{Cli, Version};
use pollux_agent::gemini::stream::{Run, Running, Stop};
use pollux_agent::gemini::transcript::resume::Resume;
use pollux_agent::gemini::transcript::store;
use pollux_agent::model::{Event, EventKind, Failure, Phase, Source};
use pollux_agent::session::Order;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// `--session-id` came with this version.
pub(super) const OWN_ID: Version = Version::new(0, 41, 0);
/// How many orders may wait; one is handed over at a time.
const WAITING: usize = 8;

type Told = oneshot::Sender<Result<(), Failure>>;

struct Headless {
    orders: mpsc::Receiver<(Order, Told)>,
    wanted: Wanted,
    gemini: Gemini,
    cli: Cli,
    /// Given back when the session is over.
    lent: Option<Lent>,
    running: Option<Running>,
    stop: Option<Stop>,
    over: bool,
    /// True where there was a conversation before.
    resumed: bool,
}

struct Control(mpsc::Sender<(Order, Told)>);

/// A session whose agent is started with the first prompt.
pub(super) async fn start(wanted: Wanted, gemini: Gemini) -> Result<Agent, Failure> {
    let cli = gemini.cli().await?;
    let lent = gemini.lend(&wanted, &cli)?;
    let (control, orders) = mpsc::channel(WAITING);
    let resumed = wanted.file.is_some();
    let (running, stop, over) = (None, None, false);
    let events = Headless { orders, wanted, gemini, cli, lent, running, stop, over, resumed };
    Ok(Agent { events: Box::new(events), orders: Arc::new(Control(control)), ready: true })
}

impl Orders for Control {
    fn order(&self, order: Order) -> BoxFuture<'static, Result<(), Failure>> {
        let orders = self.0.clone();
        Box::pin(async move {
            let gone = || Failure::new(Phase::Start, "gone", "the agent has exited");
            let (tell, told) = oneshot::channel();
            orders.send((order, tell)).await.map_err(|_closed| gone())?;
            told.await.map_err(|_closed| gone())?
        })
    }
}

impl Events for Headless {
    fn next(&mut self) -> BoxFuture<'_, Option<Event<'static>>> {
        Box::pin(self.event())
    }
}

impl Headless {
    /// Heard to its end: an order that was taken would be lost where this is dropped half way.
    async fn event(&mut self) -> Option<Event<'static>> {
        loop {
            if self.over {
                return None;
            }
            let Some(running) = &mut self.running else {
                let (order, tell) = self.orders.recv().await?;
                let outcome = self.obey(order).await;
                // Whoever gave the order may have gone away.
                drop(tell.send(outcome));
                if self.over {
                    return Some(ended());
                }
                continue;
            };
            tokio::select! {
                biased;
                order = self.orders.recv() => {
                    let (order, tell) = order?;
                    let outcome = self.obey(order).await;
                    drop(tell.send(outcome));
                    if self.over {
                        return Some(ended());
                    }
                }
                event = running.next() => match event {
                    Some(event) => {
                        if let EventKind::SessionStarted { session_id, .. } = &event.kind {
                            self.wanted.agent_id = Some(session_id.to_string());
                        }
                        return Some(event);
                    }
                    None => self.finished().await,
                },
            }
        }
    }

    async fn finished(&mut self) {
        let Some(running) = self.running.take() else { return };
        self.stop = None;
        let outcome = running.outcome().await;
        if let Some(id) = outcome.session_id {
            self.wanted.agent_id = Some(id);
        }
        if outcome.session_file.is_some() {
            self.resumed = true;
            self.wanted.file = outcome.session_file;
        }
    }

    async fn obey(&mut self, order: Order) -> Result<(), Failure> {
        match order {
            Order::Prompt { .. } if self.running.is_some() => {
                Err(Failure::new(Phase::Start, "busy", "the agent is busy"))
            }
            Order::Prompt { text, .. } => self.run(text).await,
            Order::Interrupt => {
                if let Some(stop) = &self.stop {
                    stop.cancel();
                }
                Ok(())
            }
            // The next process is started with them.
            Order::Mode(mode) => {
                self.wanted.mode = mode;
                Ok(())
            }
            Order::Model(model) => {
                self.wanted.model = Some(model);
                Ok(())
            }
            Order::Stop => {
                self.over = true;
                self.running = None;
                self.lent = None;
                Ok(())
            }
            Order::Answer { .. } | Order::Keys { .. } | Order::Fit { .. } | Order::GiveBack => {
                Err(Failure::new(
                    Phase::Start,
                    "asks_nothing",
                    "headless agents do not support questions, keys or window sizes",
                ))
            }
        }
    }

    async fn run(&mut self, text: String) -> Result<(), Failure> {
        let mut run = Run::new(text)
            .cli(self.cli.clone())
            .home(&self.gemini.home)
            .cwd(&self.wanted.cwd)
            .mode(self.wanted.mode);
        for (name, value) in &self.gemini.env {
            run = run.env(name, value);
        }
        if let Some(lent) = &self.lent {
            run = lent.args.iter().fold(run, Run::extra_arg);
            run = lent.env.iter().fold(run, |run, (name, value)| run.env(name, value));
        }
        if let Some(model) = &self.wanted.model {
            run = run.model(model);
        }
        run = match &self.wanted.agent_id {
            Some(id) => {
                let file = match self.wanted.file.clone() {
                    Some(file) => Some(file),
                    None => looked_for(&self.gemini.home, id).await,
                };
                let (id, aside) = (id.clone(), self.gemini.aside.clone());
                match file.map(|file| Resume { id: id.clone(), file, aside }.unless_blank()) {
                    Some(Some(resume)) => run.resume(&resume.id, resume.file),
                    // All of it was taken back: it begins anew.
                    Some(None) => run,
                    None if self.resumed => return Err(no_file(&id)),
                    // It failed before it wrote anything: there is nothing to go on with.
                    None => run,
                }
            }
            None if self.cli.at_least(OWN_ID) => run.session_id(&self.wanted.id),
            None => run,
        };
        let running = run.start().await?;
        self.stop = Some(running.stop());
        self.running = Some(running);
        Ok(())
    }
}

fn ended() -> Event<'static> {
    let kind = EventKind::SessionEnded { reason: "stopped by a user".into() };
    Event::new(Source::Pollux, kind)
}

/// The same, where nobody shall wait for it but the one who asks.
pub(super) async fn looked_for(home: &Path, id: &str) -> Option<PathBuf> {
    let (home, id) = (home.to_path_buf(), id.to_owned());
    tokio::task::spawn_blocking(move || file_of(&home, &id, None)).await.ok().flatten()
}

/// The file of a session, by the agent's own id. Without an index of them, all files are read for it.
pub(super) fn file_of(home: &Path, id: &str, index: Option<&Path>) -> Option<PathBuf> {
    let listing = store::list(&home.join(".gemini"), &[], index, &|_, _| {});
    listing.sessions.into_iter().find(|session| session.id == id).map(|session| session.file.path)
}
