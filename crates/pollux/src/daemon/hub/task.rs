//! One session's task: the only one that numbers its events, asks its rules, and gives its agent orders.

mod begin;
mod branch;
mod command;
mod ends;
mod full;
mod hooked;
mod pump;
mod record;
mod snapshot;
mod sum;

pub use full::only_ends;
pub use snapshot::Snapshot;

use super::agent::{Agent, Agents, Orders, Wanted};
use super::uploads::Uploads;
use super::{Hub, Inner, Slot};
use crate::api::Summary;
use crate::daemon::clock::Clock;
use crate::daemon::log::{Feed, Log};
use crate::daemon::view::View;
use begin::Left;
use ends::stopped;
use full::Full;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use pollux_agent::gemini::hooks::Translator;
use pollux_agent::gemini::terminal::{HAD_ARRIVED, NOT_KNOWN};
use pollux_agent::gemini::transcript::follow::Follow;
use pollux_agent::model::{Event, EventKind, Failure, Level, SessionStatus, Source, StopReason};
use pollux_agent::session::{Command, Effect, Order, Reply, Request, Session};
use pollux_agent::terminal::Pane;
use pump::Pump;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How many events are written at once.
const AT_ONCE: usize = 512;
/// A log that cannot be written is tried again after so long.
const TRY_AGAIN: Duration = Duration::from_millis(500);
/// An agent that was told to end has so long.
const GRACE: Duration = Duration::from_secs(10);
/// The memory of a session that nobody follows is let go after so long.
const REST: Duration = Duration::from_secs(30);

/// What a session's task is asked.
#[derive(Debug)]
pub enum Ask {
    /// Do this.
    Command {
        /// What.
        request: Request,
        /// Who is told.
        reply: oneshot::Sender<anyhow::Result<Reply>>,
    },
    /// Say all that there is.
    Snapshot {
        /// Who is told.
        reply: oneshot::Sender<anyhow::Result<Snapshot>>,
    },
    /// The session's file has changed.
    Look {
        /// Which that is now.
        file: PathBuf,
    },
    /// A hook of the agent was told this.
    Hook {
        /// One line, as it was handed over.
        line: String,
    },
    /// Say which terminal the agent is in.
    Pane {
        /// Who is told.
        reply: oneshot::Sender<Option<Pane>>,
    },
    /// End, and say when.
    Close {
        /// Who is told.
        reply: oneshot::Sender<()>,
    },
}

type Ordered = BoxFuture<'static, (Order, Result<(), Failure>)>;

pub(super) struct Task {
    no: i64,
    /// All sessions, this one among them.
    hub: Weak<Inner>,
    log: Log,
    clock: Clock,
    stop: CancellationToken,
    feed: Arc<Feed>,
    summary: Summary,
    session: Session,
    view: View,
    asks: mpsc::Receiver<Ask>,
    agents: Agents,
    uploads: Uploads,
    wanted: Option<Wanted>,
    torn: bool,
    left: Left,
    file: Option<PathBuf>,
    /// The index of the agent's files.
    index: Option<PathBuf>,
    follow: Option<Follow>,
    orders: Option<Arc<dyn Orders>>,
    /// What the agent says.
    pump: Option<Pump>,
    /// Orders on their way, and those that wait for the one before.
    ordered: FuturesUnordered<Ordered>,
    waiting: VecDeque<Order>,
    /// True where the agent was told to end.
    ends: bool,
    turn: Turn,
    hooks: Translator,
    /// What hooks were told, on its way to the driver.
    passed_on: JoinSet<Result<(), Failure>>,
    /// How it stands with a log that cannot be written.
    full: Full,
    /// What it woke up for while it waited for the log, and what has time until that can be written.
    late: VecDeque<Woke>,
}

/// Whether there is a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    None,
    Going,
    /// It was begun before the daemon was started, and what became of it is not known yet.
    Earlier,
}

/// What a task woke up for.
enum Woke {
    Stop,
    Ask(Option<Ask>),
    Started(Result<Agent, Failure>),
    Heard(Vec<Event<'static>>),
    /// An agent that was told to end has not done so in time.
    Overdue,
    Ordered(Order, Result<(), Failure>),
    Time,
}

impl Task {
    pub(super) fn new(hub: &Hub, slot: &Slot, session: Session, asks: mpsc::Receiver<Ask>) -> Self {
        let mut summary = (*slot.feed.summary()).clone();
        summary.unwritten_since = None;
        let mut wanted = slot.start.clone();
        if let Some(wanted) = &mut wanted {
            // What became known since it was started.
            wanted.agent_id = summary.agent_id.clone().or(wanted.agent_id.take());
            wanted.mode = summary.mode;
            wanted.model = summary.model.clone().or(wanted.model.take());
        }
        Self {
            no: slot.no,
            hub: Arc::downgrade(&hub.inner),
            log: hub.inner.log.clone(),
            clock: hub.inner.clock,
            stop: hub.inner.stop.clone(),
            feed: Arc::clone(&slot.feed),
            summary,
            session,
            view: View::default(),
            asks,
            agents: hub.inner.agents.clone(),
            uploads: hub.inner.settings.uploads.clone(),
            wanted,
            // Of one whose agent may live nobody says that it is gone.
            torn: slot.torn && !hub.is_unsure(slot),
            left: Left::of(slot.torn),
            file: slot.file.clone(),
            index: hub.inner.settings.index.clone(),
            follow: None,
            orders: None,
            pump: None,
            ordered: FuturesUnordered::new(),
            waiting: VecDeque::new(),
            ends: false,
            turn: Turn::None,
            hooks: Translator::default(),
            passed_on: JoinSet::new(),
            full: Full::default(),
            late: VecDeque::new(),
        }
    }

    pub(super) async fn run(mut self) {
        let stop = self.stop.clone();
        self.summary.branch = self.summary.cwd.as_deref().and_then(branch::branch);
        self.begin().await;
        let agents = self.agents.clone();
        let start = self.wanted.clone().filter(|_| self.summary.status != SessionStatus::Exited);
        let mut starting: Option<BoxFuture<'static, Result<Agent, Failure>>> =
            start.map(|wanted| -> BoxFuture<'static, _> {
                Box::pin(async move { agents.start(wanted).await })
            });
        let mut ending: Option<Instant> = None;
        let mut leaving: Option<Instant> = None;
        loop {
            let wait = self.wait();
            let woke = if let Some(late) = self.late.pop_front() {
                late
            } else {
                tokio::select! {
                    () = stopped(&stop, leaving) => Woke::Stop,
                    ask = self.asks.recv() => Woke::Ask(ask),
                    started = async { match &mut starting {
                        Some(starting) => starting.await,
                        None => std::future::pending().await,
                    } } => { starting = None; Woke::Started(started) }
                    heard = pump::heard(&mut self.pump, AT_ONCE) => Woke::Heard(heard),
                    Some((order, outcome)) = self.ordered.next() => Woke::Ordered(order, outcome),
                    () = tokio::time::sleep(wait) => Woke::Time,
                    () = async { match ending {
                        Some(at) => tokio::time::sleep_until(at).await,
                        None => std::future::pending().await,
                    } } => Woke::Overdue,
                }
            };
            match woke {
                Woke::Stop if leaving.is_none() && self.is_ending() => {
                    leaving = Some(Instant::now() + GRACE);
                }
                Woke::Stop | Woke::Ask(None) => break,
                Woke::Ask(Some(Ask::Close { reply })) => {
                    drop(self.pump.take());
                    // Whoever asked may have gone away.
                    let _told = reply.send(());
                    return;
                }
                Woke::Ask(Some(ask)) => self.asked(ask).await,
                Woke::Started(Ok(agent)) => self.started(agent).await,
                Woke::Started(Err(failure)) => self.not_started(&failure).await,
                Woke::Heard(events) if events.is_empty() => {
                    (self.pump, ending) = (None, None);
                    self.gone().await;
                }
                Woke::Heard(events) => self.heard(events).await,
                Woke::Overdue => {
                    ending = None;
                    self.end_now().await;
                }
                Woke::Ordered(order, outcome) => {
                    if order == Order::Stop {
                        // It says its last words and ends; one that does not is ended.
                        ending = Some(Instant::now() + GRACE);
                    }
                    self.delivered(&order, outcome).await;
                }
                Woke::Time => {
                    self.try_again().await;
                    let effects = self.session.tick(self.clock.now());
                    // A session at rest costs no writes.
                    if !effects.is_empty() {
                        self.effects(effects).await;
                    }
                    if !self.feed.is_followed() {
                        self.feed.rest();
                    }
                }
            }
            if leaving.is_some() && !self.is_ending() {
                break;
            }
        }
    }

    /// Ends an agent that was told to end and does not. What it has said until now counts.
    async fn end_now(&mut self) {
        if let Some(pump) = self.pump.take() {
            let said = pump.end().await;
            if !said.is_empty() {
                self.heard(said).await;
            }
        }
        self.gone().await;
    }

    /// How long until time is to be told.
    fn wait(&self) -> Duration {
        let now = self.clock.now();
        let wait = match self.session.wakes_at() {
            Some(at) => Duration::try_from(at.duration_since(now)).unwrap_or_default(),
            None => REST,
        };
        let most = if self.full.is_full() { TRY_AGAIN } else { REST };
        wait.clamp(Duration::from_millis(10), most)
    }

    async fn asked(&mut self, ask: Ask) {
        match ask {
            Ask::Command { request, reply } => {
                let outcome = self.command(request).await;
                // Whoever asked may have gone away; what was decided stays.
                drop(reply.send(outcome));
            }
            Ask::Snapshot { reply } => {
                let snapshot = self.snapshot().await;
                drop(reply.send(snapshot));
            }
            Ask::Look { file } if self.wanted.is_none() => self.look_in(file).await,
            // Its agent is not at work, and yet its file grows: one that outlived the daemon before this one.
            Ask::Look { .. } if self.is_at_rest() => self.look_anew().await,
            Ask::Look { .. } => self.left.writes(),
            Ask::Hook { line } => self.hook(line).await,
            Ask::Pane { reply } => drop(reply.send(self.pane())),
            Ask::Close { .. } => {}
        }
        self.look_where_unseen().await;
    }

    fn pane(&self) -> Option<Pane> {
        self.orders.as_ref().and_then(|orders| orders.pane())
    }

    async fn started(&mut self, agent: Agent) {
        if agent.ready {
            self.session.ready();
        }
        self.orders = Some(agent.orders);
        // The orders that came before it was there.
        let waiting = std::mem::take(&mut self.waiting);
        for order in waiting {
            self.order(order);
        }
        if self.orders.as_ref().is_none_or(|orders| orders.pane().is_none()) {
            self.look_for_first().await;
        }
        let effects = self.session.go_on();
        self.effects(effects).await;
        self.pump = Some(Pump::start(agent.events));
    }

    async fn not_started(&mut self, failure: &Failure) {
        let text = format!("could not start the agent: {}", why(failure));
        let ended = EventKind::SessionEnded { reason: text.clone() };
        let notice = EventKind::Notice { level: Level::Error, text };
        let events = [notice, ended].map(|kind| Event::new(Source::Pollux, kind));
        self.record(events.into()).await;
    }

    /// The agent says nothing more.
    async fn gone(&mut self) {
        self.orders = None;
        if self.session.state().status != SessionStatus::Exited {
            let mut events = Vec::new();
            if self.turn != Turn::None {
                let kind = EventKind::TurnEnded {
                    stop_reason: StopReason::Cancelled,
                    duration_ms: None,
                    tool_calls: None,
                    error: None,
                };
                events.push(Event::new(Source::Pollux, kind).derived("the agent exited"));
            }
            let kind = EventKind::SessionEnded { reason: "the agent exited".into() };
            events.push(Event::new(Source::Pollux, kind));
            self.record(events).await;
        }
    }

    /// What the agent says. Where it has rewritten its history, it may have given old messages new ids, of which only
    /// the file tells: they are recorded in their place, before what comes next.
    async fn heard(&mut self, events: Vec<Event<'static>>) {
        let events = if self.turn == Turn::Earlier { self.back(events) } else { events };
        let mut part = Vec::new();
        for event in events {
            let rewritten = is_rewritten(&event);
            part.push(event);
            if rewritten {
                self.record(std::mem::take(&mut part)).await;
                self.look_anew().await;
            }
        }
        if !part.is_empty() {
            self.record(part).await;
        }
        self.look_where_unseen().await;
    }

    async fn delivered(&mut self, order: &Order, outcome: Result<(), Failure>) {
        let effects = match outcome {
            Ok(()) => self.session.delivered(order),
            Err(failure) if failure.code == HAD_ARRIVED => self.session.had_arrived(),
            Err(failure) if failure.code == NOT_KNOWN => self.session.is_not_known(),
            Err(failure) => self.session.failed(order, &why(&failure), self.clock.now()),
        };
        self.effects(effects).await;
        if let Some(next) = self.waiting.pop_front() {
            self.order(next);
        }
    }

    /// Does what the rules want: first what is to be recorded, then what is to be ordered.
    async fn effects(&mut self, effects: Vec<Effect>) {
        let (facts, orders) = sorted(effects);
        if self.record(facts).await {
            for order in orders {
                self.order(order);
            }
        }
    }

    fn order(&mut self, mut order: Order) {
        if let Order::Prompt { images, .. } = &mut order {
            for image in images {
                *image = self.uploads.path(image).display().to_string();
            }
        }
        self.ends |= order == Order::Stop;
        let overtakes = matches!(
            order,
            Order::Interrupt
                | Order::Stop
                | Order::Answer { .. }
                | Order::Keys { .. }
                | Order::Fit { .. }
                | Order::GiveBack
        );
        let Some(orders) = self.orders.clone() else {
            self.waiting.push_back(order);
            return;
        };
        if !overtakes && !self.ordered.is_empty() {
            self.waiting.push_back(order);
            return;
        }
        let stop = order == Order::Stop;
        let told = orders.order(order.clone());
        self.ordered.push(Box::pin(async move {
            let outcome = if stop {
                tokio::time::timeout(GRACE, told).await.unwrap_or(Ok(()))
            } else {
                told.await
            };
            (order, outcome)
        }));
    }
}

/// What is to be recorded, and what is to be ordered.
fn sorted(effects: Vec<Effect>) -> (Vec<Event<'static>>, Vec<Order>) {
    let (mut facts, mut orders) = (Vec::new(), Vec::new());
    for effect in effects {
        match effect {
            Effect::Record(event) => facts.push(*event),
            Effect::Order(order) => orders.push(order),
        }
    }
    (facts, orders)
}

/// Why something failed, and what to do about it.
fn why(failure: &Failure) -> String {
    let hint = failure.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    format!("{}{hint}", failure.message)
}

fn is_rewritten(event: &Event<'_>) -> bool {
    let from_file = event.source == Source::SessionFile;
    let gone =
        matches!(&event.kind, EventKind::HistoryRewritten { removed, .. } if !removed.is_empty());
    from_file && gone
}

type Accepted = (String, Command, Reply);
