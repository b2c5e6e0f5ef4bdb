//! One session's task: the only one that numbers its events, asks its rules, and gives its agent orders.

mod begin;
mod branch;
mod ends;
mod hooked;
mod pump;
mod record;
mod snapshot;
mod sum;

pub use snapshot::Snapshot;

use super::agent::{Agent, Agents, Orders, Wanted};
use super::uploads::Uploads;
use super::{Hub, Inner, Slot};
use crate::api::{Driver, Summary};
use crate::daemon::clock::Clock;
use crate::daemon::log::{Feed, Log};
use crate::daemon::view::View;
use begin::Left;
use ends::stopped;
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
    /// Orders on their way, and those that wait for the one before.
    ordered: FuturesUnordered<Ordered>,
    waiting: VecDeque<Order>,
    /// True where the agent was told to end.
    ends: bool,
    turn: Turn,
    hooks: Translator,
    /// What hooks were told, on its way to the driver.
    passed_on: JoinSet<Result<(), Failure>>,
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
    Ordered(Order, Result<(), Failure>),
    Time,
}

impl Task {
    pub(super) fn new(hub: &Hub, slot: &Slot, session: Session, asks: mpsc::Receiver<Ask>) -> Self {
        let summary = (*slot.feed.summary()).clone();
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
            torn: slot.torn,
            left: Left::of(slot.torn),
            file: slot.file.clone(),
            index: hub.inner.settings.index.clone(),
            follow: None,
            orders: None,
            ordered: FuturesUnordered::new(),
            waiting: VecDeque::new(),
            ends: false,
            turn: Turn::None,
            hooks: Translator::default(),
            passed_on: JoinSet::new(),
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
        let mut pump: Option<Pump> = None;
        let mut ending: Option<Instant> = None;
        let mut leaving: Option<Instant> = None;
        loop {
            let wait = self.wait();
            let woke = tokio::select! {
                () = stopped(&stop, leaving) => Woke::Stop,
                ask = self.asks.recv() => Woke::Ask(ask),
                started = async { match &mut starting {
                    Some(starting) => starting.await,
                    None => std::future::pending().await,
                } } => { starting = None; Woke::Started(started) }
                heard = async { match &mut pump {
                    Some(pump) => pump.heard(AT_ONCE).await,
                    None => std::future::pending().await,
                } } => Woke::Heard(heard),
                Some((order, outcome)) = self.ordered.next() => Woke::Ordered(order, outcome),
                () = tokio::time::sleep(wait) => Woke::Time,
                () = async { match ending {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                } } => Woke::Heard(Vec::new()),
            };
            match woke {
                Woke::Stop if leaving.is_none() && self.is_ending() => {
                    leaving = Some(Instant::now() + GRACE);
                }
                Woke::Stop | Woke::Ask(None) => break,
                Woke::Ask(Some(Ask::Close { reply })) => {
                    drop(pump);
                    // Whoever asked may have gone away.
                    let _told = reply.send(());
                    return;
                }
                Woke::Ask(Some(ask)) => self.asked(ask).await,
                Woke::Started(Ok(agent)) => pump = Some(self.started(agent).await),
                Woke::Started(Err(failure)) => self.not_started(&failure).await,
                Woke::Heard(events) if events.is_empty() => {
                    (pump, ending) = (None, None);
                    self.gone().await;
                }
                Woke::Heard(events) => self.heard(events).await,
                Woke::Ordered(order, outcome) => {
                    if order == Order::Stop {
                        // It says its last words and ends; one that does not is ended.
                        ending = Some(Instant::now() + GRACE);
                    }
                    self.delivered(&order, outcome).await;
                }
                Woke::Time => {
                    let effects = self.session.tick(self.clock.now());
                    // A session at rest costs no writes.
                    if !effects.is_empty() {
                        self.effects(effects, None).await;
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

    /// How long until time is to be told.
    fn wait(&self) -> Duration {
        let now = self.clock.now();
        let wait = match self.session.wakes_at() {
            Some(at) => Duration::try_from(at.duration_since(now)).unwrap_or_default(),
            None => REST,
        };
        wait.clamp(Duration::from_millis(10), REST)
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
            Ask::Pane { reply } => {
                let pane = self.orders.as_ref().and_then(|orders| orders.pane());
                drop(reply.send(pane));
            }
            Ask::Close { .. } => {}
        }
        self.look_where_unseen().await;
    }

    async fn command(&mut self, request: Request) -> anyhow::Result<Reply> {
        if self.wanted.is_none() {
            let why = "Pollux only reads this session";
            let hint = "go on with it: `pollux new --resume ID`";
            return Ok(pollux_agent::session::refused("read_only", why, hint));
        }
        if let Some(refused) = self.cannot(&request.command) {
            return Ok(refused);
        }
        // An agent that is being started looks when it is there.
        if request.command == Command::Continue && self.orders.is_some() {
            self.look_for_first().await;
        }
        let verdict = self.session.command(&request, self.clock.now());
        let reply = verdict.reply;
        if let Reply::Done(_) = &reply {
            if let (Command::Prompt { text, .. }, None) = (&request.command, &self.summary.title) {
                self.summary.title = Some(sum::title(text));
            }
            let command = Some((request.id, request.command, reply.clone()));
            self.effects(verdict.effects, command).await;
        }
        Ok(reply)
    }

    /// Whether nobody but the session's file can say if the prompt that waits first has arrived.
    fn is_in_doubt(&self) -> bool {
        let seen = self.orders.as_ref().is_some_and(|orders| orders.pane().is_some());
        !seen && self.session.state().queue.first().is_some_and(|first| first.doubt)
    }

    /// What this driver has no way for.
    fn cannot(&self, command: &Command) -> Option<Reply> {
        let driver = self.summary.driver;
        let brought = self.wanted.as_ref().and_then(|wanted| wanted.brought.as_ref());
        match command {
            Command::Prompt { .. } if brought.is_some_and(|brought| !brought.prompts) => {
                let by = brought.map(|brought| brought.by.as_str()).unwrap_or_default();
                let why = format!(
                    "a program drives this session (`{by}`): it takes prompts from nobody else"
                );
                let hint =
                    "its questions can be answered here; when the program has ended, go on with it";
                Some(pollux_agent::session::refused("driven_elsewhere", why, hint))
            }
            Command::Keys { .. } | Command::Fit { .. } | Command::GiveBack
                if driver != Some(Driver::Terminal) =>
            {
                let why = "the agent is not in a terminal";
                let hint = "send it a prompt instead";
                Some(pollux_agent::session::refused("no_terminal", why, hint))
            }
            Command::Prompt { images, .. } if !images.is_empty() && driver != Some(Driver::Acp) => {
                let why = "this agent takes no pictures";
                let hint = "name a file of its project in the text: `@picture.png`";
                Some(pollux_agent::session::refused("no_images", why, hint))
            }
            _ => None,
        }
    }

    async fn started(&mut self, agent: Agent) -> Pump {
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
        self.effects(effects, None).await;
        Pump::start(agent.events)
    }

    async fn not_started(&mut self, failure: &Failure) {
        let text = format!("the agent could not be started: {}", why(failure));
        let ended = EventKind::SessionEnded { reason: text.clone() };
        let notice = EventKind::Notice { level: Level::Error, text };
        let events = [notice, ended].map(|kind| Event::new(Source::Pollux, kind));
        self.record(events.into(), None).await;
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
                events.push(Event::new(Source::Pollux, kind).derived("the agent is gone"));
            }
            let kind = EventKind::SessionEnded { reason: "the agent is gone".into() };
            events.push(Event::new(Source::Pollux, kind));
            self.record(events, None).await;
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
                self.record(std::mem::take(&mut part), None).await;
                self.look_anew().await;
            }
        }
        if !part.is_empty() {
            self.record(part, None).await;
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
        self.effects(effects, None).await;
        if let Some(next) = self.waiting.pop_front() {
            self.order(next);
        }
    }

    /// Does what the rules want: first what is to be recorded, then what is to be ordered.
    async fn effects(&mut self, effects: Vec<Effect>, command: Option<Accepted>) {
        let mut facts = Vec::new();
        let mut orders = Vec::new();
        for effect in effects {
            match effect {
                Effect::Record(event) => facts.push(*event),
                Effect::Order(order) => orders.push(order),
            }
        }
        self.record(facts, command).await;
        for order in orders {
            self.order(order);
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
