//! A session in a terminal: the agent's own screen in tmux, beside a person. It outlives the daemon, which takes it up
//! again when it comes back.

use super::agent::{Agent, Events, Gemini, Orders, Wanted};
use super::headless::OWN_ID;
use super::resumed::resumed;
use super::servers::Servers;
use crate::daemon::guard::lock;
use crate::daemon::team::badge::Lent;
use futures::future::BoxFuture;
use pollux_agent::gemini::cli::Cli;
use pollux_agent::gemini::terminal::{Busy, Found, Hand, Live, Orders as Steering, Start, Words};
use pollux_agent::model::{Event, EventKind, Failure, Phase, Text};
use pollux_agent::session::Order;
use pollux_agent::terminal::{Pane, Server, Size, Socket};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::Semaphore;

/// An agent of ours that was told to end goes by itself in this time, or its window is taken away.
const GOES: Duration = Duration::from_secs(8);

/// The tmux server for terminals of ours. One connection is enough for all of them.
#[derive(Debug, Clone)]
pub struct Tmux {
    servers: Servers,
    server: Arc<Mutex<Option<Server>>>,
    /// Two who need the connection at once wait for the same one.
    gate: Arc<Semaphore>,
}

impl Tmux {
    /// The one of these that is ours. It is reached when it is needed.
    pub fn new(servers: Servers) -> Self {
        Self { servers, server: Arc::default(), gate: Arc::new(Semaphore::new(1)) }
    }

    /// Its socket.
    pub fn socket(&self) -> &Socket {
        self.servers.own()
    }

    /// All servers on which agents are looked for.
    pub fn servers(&self) -> &Servers {
        &self.servers
    }

    /// The connection: a person's tmux session has one of its own, because tmux tells a client of one session only.
    async fn server(&self, found: Option<&Found>) -> Result<Server, Failure> {
        if let Some(found) = found.filter(|found| found.socket != *self.socket()) {
            return Server::join(&found.socket, &found.pane).await;
        }
        let _alone = self.gate.acquire().await;
        let known = self.known().clone();
        if let Some(server) = known
            && server.ask(&["display-message", "-p", "there"]).await.is_ok()
        {
            return Ok(server);
        }
        let server = Server::open(self.socket()).await?;
        *self.known() = Some(server.clone());
        Ok(server)
    }

    fn known(&self) -> MutexGuard<'_, Option<Server>> {
        lock(&self.server)
    }
}

/// Takes an agent up that is there, or starts one.
pub(super) async fn start(wanted: Wanted, gemini: Gemini) -> Result<Agent, Failure> {
    let (live, lent) = if let Some(found) = &wanted.found {
        let server = gemini.tmux.server(Some(found)).await?;
        let place = wanted.place.lock().ok().and_then(|mut place| place.take());
        let live = found.watch_from(&server, &gemini.home, place).await?;
        (live, gemini.badges.still(&wanted.id))
    } else {
        let cli = gemini.cli().await?;
        let lent = gemini.lend(&wanted, &cli)?;
        match begin(&wanted, &gemini, cli, lent.as_ref()).await {
            Ok(live) => (live, lent),
            Err(failure) => {
                lent.into_iter().for_each(Lent::give_back);
                return Err(failure);
            }
        }
    };
    // Names of questions are given anew in each life of ours: an answer to one of before must fit none of now.
    let life: String = uuid::Uuid::new_v4().simple().to_string().chars().take(6).collect();
    let pane = live.pane().clone();
    let ours = live.is_ours();
    let hand = Hand::on(pane.clone());
    let steers = Steers { orders: live.orders(), pane, hand, ours, life: life.clone() };
    let events = Box::new(Hears { live, life, lent });
    Ok(Agent { events, orders: Arc::new(steers), ready: false })
}

async fn begin(
    wanted: &Wanted,
    gemini: &Gemini,
    cli: Cli,
    lent: Option<&Lent>,
) -> Result<Live, Failure> {
    let mut start =
        Start::new().home(&gemini.home).cwd(&wanted.cwd).mode(wanted.mode).name(&wanted.id);
    start = wanted.model.iter().fold(start, Start::model);
    for (name, value) in &gemini.env {
        start = start.env(name.to_string_lossy(), value.to_string_lossy());
    }
    if let Some(lent) = lent {
        start = lent.args.iter().fold(start, |start, arg| start.extra_arg(arg.to_string_lossy()));
        let env = lent.env.iter();
        start = { env }.fold(start, |start, (name, value)| {
            start.env(name.to_string_lossy(), value.to_string_lossy())
        });
    }
    if let Some(resume) = resumed(wanted, gemini).await? {
        start = start.resume(resume);
    } else if wanted.agent_id.is_none() && cli.at_least(OWN_ID) {
        start = start.session_id(&wanted.id);
    }
    let server = gemini.tmux.server(None).await?;
    start.cli(cli).start_on(&server).await
}

struct Hears {
    live: Live,
    life: String,
    /// Given back when the agent is gone, and not when the daemon is.
    lent: Option<Lent>,
}

impl Events for Hears {
    fn next(&mut self) -> BoxFuture<'_, Option<Event<'static>>> {
        Box::pin(async {
            let mut event = self.live.next().await?;
            match &mut event.kind {
                EventKind::Asked(question) => question.id = self.named(&question.id),
                EventKind::Answered { question_id, .. } => *question_id = self.named(question_id),
                EventKind::SessionEnded { .. } => {
                    self.lent.take().into_iter().for_each(Lent::give_back);
                }
                _ => {}
            }
            Some(event)
        })
    }
}

impl Hears {
    fn named(&self, id: &Text<'_>) -> Text<'static> {
        Text::from(format!("{}-{id}", self.life))
    }
}

#[derive(Clone)]
struct Steers {
    orders: Steering,
    pane: Pane,
    hand: Hand,
    ours: bool,
    life: String,
}

impl Orders for Steers {
    fn order(&self, order: Order) -> BoxFuture<'static, Result<(), Failure>> {
        let steers = self.clone();
        Box::pin(async move { steers.obey(order).await })
    }

    fn hook(&self, line: String) -> Option<BoxFuture<'static, Result<(), Failure>>> {
        let orders = self.orders.clone();
        Some(Box::pin(async move { orders.hook(line).await }))
    }

    fn pane(&self) -> Option<Pane> {
        Some(self.pane.clone())
    }
}

impl Steers {
    async fn obey(&self, order: Order) -> Result<(), Failure> {
        match order {
            Order::Prompt { text, doubt: true, .. } => {
                self.orders.send_in_doubt(Words::typed(&text)).await
            }
            // Somebody at the desk may have been faster: then the CLI queues it.
            Order::Prompt { text, .. } => {
                self.orders.send(Words::typed(&text), Vec::new(), Busy::Queue).await
            }
            Order::Answer { question_id, choice, reason } => {
                let own = question_id.strip_prefix(&format!("{}-", self.life)).map(str::to_owned);
                let own = own.ok_or_else(|| {
                    Failure::new(Phase::Request, "question_gone", "this question is no longer open")
                })?;
                self.orders.answer(Some(own), choice, reason).await
            }
            Order::Interrupt => self.orders.interrupt(false).await,
            Order::Mode(mode) => self.orders.mode(mode).await,
            Order::Model(model) => self.orders.model(model).await,
            Order::Keys { text, keys } => {
                let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
                self.hand.press(&text.unwrap_or_default(), &keys).await
            }
            Order::Fit { columns, rows } => self.pane.fit(Size { columns, rows }).await,
            Order::GiveBack => self.pane.give_back().await,
            Order::Stop => self.stop().await,
        }
    }

    async fn stop(&self) -> Result<(), Failure> {
        let stopped = tokio::time::timeout(GOES, self.orders.stop()).await;
        if !self.ours {
            return stopped.unwrap_or(Ok(()));
        }
        // It goes with its window where it does not go as it was told to; and tmux may keep a window whose program has ended.
        // One that is gone need not be taken away.
        drop(self.pane.kill().await);
        Ok(())
    }
}
