//! The task that owns an agent: its lines, the orders of whoever holds it, and the clock, in one loop.

mod asks;
mod changes;
mod live;
mod opening;

use super::about::About;
use super::agent::{Open, Order, Ready, Reply, What};
use super::config::{Config, Step};
use super::connection::{Connection, Did, Heard};
use super::terminals::Terminals;
use super::translate::unread;
use super::wire::{Frame, Json, Params, RpcError, object, request_number, text};
use super::wrong::{self, Ended};
use crate::deadline::{after, until};
use crate::model::Failure;
use live::Live;
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::{HashMap, VecDeque};
use std::process::ExitStatus;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The version of the protocol that we speak.
const PROTOCOL: u32 = 1;
/// How often what is beside the protocol is looked at while the agent works. A look costs a `stat`.
const LOOK: Duration = Duration::from_millis(50);
/// How long the agent's output may stay open when it is gone: something that it started may hold it.
const HELD: Duration = Duration::from_millis(300);
/// How long the agent may live when its output is closed.
const CLOSED: Duration = Duration::from_secs(5);

/// The task that owns an agent.
pub(super) struct Engine {
    connection: Connection,
    config: Config,
    orders: mpsc::Receiver<Order>,
    kill: CancellationToken,
    pending: HashMap<u64, Pending>,
    sessions: HashMap<String, Live>,
    /// Updates of sessions that are not known yet: some come before the answer that gives them their id.
    early: VecDeque<(String, Box<RawValue>)>,
    about: Option<About>,
    terminals: Terminals,
    waiting: Vec<(String, Box<RawValue>)>, // for the end of a terminal's command
    end: End,
}

/// How far the agent is gone.
#[derive(Default)]
struct End {
    closed: bool,
    exited: bool,
    status: Option<ExitStatus>,
    deadline: Option<Instant>, // when what is left is ended
    stopped: Option<oneshot::Sender<()>>,
}

/// A request that was not answered yet.
struct Pending {
    step: Step,
    deadline: Option<Instant>,
    then: Then,
}

/// What an answer is for.
enum Then {
    Hello(Reply<About>),
    Signed(Reply<()>),
    /// With what came of a session that is being loaded before the answer did.
    Open {
        open: Open,
        reply: Reply<Ready>,
        early: Vec<Box<RawValue>>,
    },
    Prompt(String),
    /// Whoever asked for it is gone.
    Nothing,
    Mode {
        session: String,
        mode: String,
        asker: Asker,
    },
    Model {
        session: String,
        model: String,
        asker: Asker,
    },
}

/// Who wants to know what came of a change, where somebody does. Else it is told by an event.
type Asker = Option<Reply<()>>;

/// What the loop woke up for.
enum Woke {
    Order(Option<Order>),
    Did(Did),
    Command(String, serde_json::Value),
    Room,
    Look,
    Deadline,
    Kill,
}

impl Engine {
    pub(super) fn new(
        connection: Connection,
        config: Config,
        orders: mpsc::Receiver<Order>,
        kill: CancellationToken,
    ) -> Self {
        Self {
            connection,
            config,
            orders,
            kill,
            pending: HashMap::new(),
            sessions: HashMap::new(),
            early: VecDeque::new(),
            about: None,
            terminals: Terminals::default(),
            waiting: Vec::new(),
            end: End::default(),
        }
    }

    /// Works until the agent is gone or nobody wants it any more. Gives the last of its stderr.
    pub(super) async fn run(mut self, hello: Reply<About>) -> String {
        self.greet(hello);
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !self.is_over() {
            match self.wake(&mut look).await {
                Woke::Order(Some(order)) => self.order(order),
                Woke::Order(None) | Woke::Kill => {
                    self.connection.kill();
                    break;
                }
                Woke::Did(did) => self.did(did).await,
                Woke::Command(terminal, exit) => self.command_ended(&terminal, &exit),
                Woke::Room => {}
                Woke::Look => self.look(),
                Woke::Deadline => self.deadlines(),
            }
        }
        self.finish().await
    }

    async fn wake(&mut self, look: &mut tokio::time::Interval) -> Woke {
        let full = self.sessions.values().any(Live::is_full);
        let works = self.sessions.values().any(Live::works);
        let deadline = self.next_deadline();
        let heard = Heard { lines: !self.end.closed && !full, end: !self.end.exited };
        tokio::select! {
            biased;
            () = self.kill.cancelled() => Woke::Kill,
            order = self.orders.recv() => Woke::Order(order),
            () = room(&mut self.sessions), if full => Woke::Room,
            () = until(deadline) => Woke::Deadline,
            _ = look.tick(), if works && !full => Woke::Look,
            (terminal, exit) = self.terminals.ended() => Woke::Command(terminal, exit),
            did = self.connection.next(heard) => Woke::Did(did),
        }
    }

    fn is_over(&self) -> bool {
        let gone = self.end.closed && self.end.exited;
        self.end.stopped.is_some() || (gone && !self.sessions.values().any(Live::is_full))
    }

    fn request(&mut self, method: &str, params: serde_json::Value, pending: Pending) {
        if let Some(id) = self.connection.request(method, params) {
            self.pending.insert(id, pending);
            return;
        }
        let failure = wrong::deaf(pending.step);
        self.answered(pending, Err(failure));
    }

    fn greet(&mut self, hello: Reply<About>) {
        let params = json!({
            "protocolVersion": PROTOCOL,
            "clientCapabilities": {
                "fs": {
                    "readTextFile": self.config.file_reads,
                    "writeTextFile": self.config.file_writes,
                },
                "terminal": self.config.terminals,
            },
            "clientInfo": {
                "name": "pollux",
                "title": "Pollux",
                "version": env!("CARGO_PKG_VERSION"),
            },
        });
        let deadline = Some(after(self.config.budgets.start));
        let pending = Pending { step: Step::Handshake, deadline, then: Then::Hello(hello) };
        self.request("initialize", params, pending);
    }

    fn control(&self, step: Step, then: Then) -> Pending {
        Pending { step, deadline: Some(after(self.config.budgets.control)), then }
    }

    fn order(&mut self, order: Order) {
        match order {
            Order::Authenticate { params, reply } => {
                let pending = self.control(Step::Auth, Then::Signed(reply));
                self.request("authenticate", params, pending);
            }
            Order::Open { open, reply } => self.open(open, reply),
            Order::Session { id, what, reply } => {
                let outcome = self.session(&id, what);
                // Whoever has gone away does not want to know.
                drop(reply.send(outcome));
            }
            Order::Change { id, to, reply } => self.change(&id, to, reply),
            Order::Stop { reply } => self.end.stopped = Some(reply),
        }
    }

    fn session(&mut self, id: &str, what: What) -> Result<(), Failure> {
        let live = self.sessions.get_mut(id).ok_or_else(wrong::no_session)?;
        match what {
            What::Prompt(prompt) => {
                return live.prompt(prompt, &mut self.connection, &mut self.pending);
            }
            What::Answer { question, choice, reason } => {
                return live.answer(&question, &choice, reason, &self.connection);
            }
            What::Cancel => live.cancel(&self.connection),
            What::Mode(mode) => {
                let mode = live.mode_id(&mode)?;
                self.set_mode(id, mode, None);
            }
            What::Model(model) => {
                live.offers_models()?;
                self.set_model(id, model, None);
            }
        }
        Ok(())
    }

    async fn did(&mut self, did: Did) {
        match did {
            Did::Line { line, cut: true } => self.noise("the line is too long", &line),
            Did::Line { line, cut: false } if line.trim().is_empty() => {}
            Did::Line { line, cut: false } => self.line(&line).await,
            Did::Closed => {
                self.end.closed = true;
                // Without a process of ours that is all the end that there is.
                self.end.exited |= self.connection.id().is_none();
                self.end.deadline.get_or_insert(Instant::now() + CLOSED);
            }
            Did::Exited(status) => {
                self.end.exited = true;
                self.end.status = status;
                self.end.deadline = Some(Instant::now() + HELD);
            }
        }
    }

    async fn line(&mut self, line: &str) {
        match Frame::read(line) {
            Ok(Frame::Notification { method, params }) if method == "session/update" => {
                self.update(params, line);
            }
            // Notifications that are not known are none of ours.
            Ok(Frame::Notification { method, .. }) => {
                self.noise(&format!("unknown notification `{method}`"), line);
            }
            Ok(Frame::Request { id, method, params }) => self.asked(id, &method, params).await,
            Ok(Frame::Response { id, outcome }) => self.response(id, outcome, line),
            Err(reason) => self.noise(reason, line),
        }
    }

    fn update(&mut self, params: Json<'_>, line: &str) {
        let params: Params<'_> = object(params);
        let (Some(id), Some(update)) = (text(params.session_id), params.update) else {
            return self.noise("an update without a session id", line);
        };
        if let Some(live) = self.sessions.get_mut(id.as_ref()) {
            live.update(update, &self.connection);
        } else if let Err(reason) = self.early(&id, update) {
            self.noise(reason, line);
        }
    }

    fn response(&mut self, id: &RawValue, outcome: Result<Json<'_>, RpcError<'_>>, line: &str) {
        let Some(pending) = request_number(id).and_then(|id| self.pending.remove(&id)) else {
            return self.noise("a response without a matching request", line);
        };
        let outcome = match outcome {
            Ok(result) => Ok(result),
            Err(error) => Err(self.said(pending.step, &error)),
        };
        self.answered(pending, outcome);
    }

    /// An error of the agent as a failure.
    fn said(&self, step: Step, error: &RpcError<'_>) -> Failure {
        let failure = wrong::said(step, error, &self.connection.stderr(), self.about.as_ref());
        self.config.dialect.failure(step, failure)
    }

    fn answered(&mut self, pending: Pending, outcome: Result<Json<'_>, Failure>) {
        match pending.then {
            Then::Hello(reply) => {
                let about = outcome.map(|json| About::read(json, self.connection.id()));
                let about = about.and_then(speaks_ours);
                if let Ok(about) = &about {
                    self.about = Some(about.clone());
                    if self.config.initialized {
                        self.connection.notify("initialized", json!({}));
                    }
                }
                drop(reply.send(about));
            }
            Then::Signed(reply) => drop(reply.send(outcome.map(drop))),
            Then::Open { open, reply, early } => self.opened(&open, reply, &early, outcome),
            Then::Nothing => {}
            Then::Prompt(id) => {
                if let Some(live) = self.sessions.get_mut(&id) {
                    live.prompted(outcome.map(|json| json.unwrap_or(RawValue::NULL).to_owned()));
                }
            }
            Then::Mode { session, mode, asker } => {
                self.changed(&session, outcome.map(|_| live::mode_is(&mode)), asker);
            }
            Then::Model { session, model, asker } => {
                self.changed(&session, outcome.map(|_| live::model_is(model)), asker);
            }
        }
    }

    /// A line that cannot be read is told to every session: nobody knows whose it is.
    fn noise(&mut self, reason: &str, line: &str) {
        let event = unread(reason, line);
        for live in self.sessions.values_mut() {
            live.say(event.clone());
        }
    }

    fn look(&mut self) {
        for live in self.sessions.values_mut() {
            live.look();
            live.give_up(&self.connection);
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let calls = self.pending.values().filter_map(|pending| pending.deadline);
        let turns = self.sessions.values().filter_map(Live::deadline);
        calls.chain(turns).chain(self.end.deadline).min()
    }

    /// What was due is over.
    fn deadlines(&mut self) {
        let now = Instant::now();
        if self.end.deadline.is_some_and(|deadline| deadline <= now) {
            self.end.deadline = None;
            self.connection.kill();
            // What still holds its output will not say anything more of it.
            self.end.closed |= self.end.exited;
        }
        let due = |pending: &Pending| pending.deadline.is_some_and(|deadline| deadline <= now);
        let late: Vec<u64> =
            self.pending.iter().filter(|(_, pending)| due(pending)).map(|(id, _)| *id).collect();
        for id in late {
            let Some(pending) = self.pending.remove(&id) else { continue };
            let failure =
                wrong::late(pending.step, &self.config.budgets, &self.connection.stderr());
            self.answered(pending, Err(failure));
        }
        for live in self.sessions.values_mut() {
            live.due(now, &mut self.connection, &mut self.pending);
        }
    }

    /// The agent is gone, or is to go.
    async fn finish(mut self) -> String {
        let stderr = self.connection.close(self.end.exited).await;
        let ended = Ended { status: self.end.status, stderr: &stderr };
        for (_, pending) in self.pending.drain() {
            let failure = self.config.dialect.failure(pending.step, ended.failure(pending.step));
            match pending.then {
                Then::Hello(reply) => drop(reply.send(Err(failure))),
                Then::Signed(reply) => drop(reply.send(Err(failure))),
                Then::Open { reply, .. } => drop(reply.send(Err(failure))),
                Then::Prompt(id) => {
                    if let Some(live) = self.sessions.get_mut(&id) {
                        live.prompted(Err(failure));
                    }
                }
                Then::Mode { .. } | Then::Model { .. } | Then::Nothing => {}
            }
        }
        for (_, live) in self.sessions.drain() {
            live.over(&ended.words(), self.end.stopped.is_none()).await;
        }
        if let Some(stopped) = self.end.stopped {
            let _gone = stopped.send(());
        }
        stderr
    }
}

/// Fails where an agent has answered that it speaks another version of the protocol. One that tells none is believed.
fn speaks_ours(about: About) -> Result<About, Failure> {
    let is_ours = about.protocol == 0 || about.protocol == i64::from(PROTOCOL);
    if is_ours { Ok(about) } else { Err(wrong::other_protocol(about.protocol, PROTOCOL)) }
}

/// Waits until there is room for an event that could not be told yet.
async fn room(sessions: &mut HashMap<String, Live>) {
    match sessions.values_mut().find(|live| live.is_full()) {
        Some(live) => live.flush_one().await,
        None => std::future::pending().await,
    }
}
