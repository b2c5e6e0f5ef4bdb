//! One session of an agent, while it lives: its turn, its questions, and the events that wait for its reader.

mod turn;

use super::super::about::Opened;
use super::super::agent::{Open, Ready, Reply, Wanted};
use super::super::config::{Budgets, Config};
use super::super::connection::Connection;
use super::super::dialect::{Beside, Dialect};
use super::super::policy::{Policy, Verdict, option};
use super::super::translate::{Translator, mode_named};
use super::super::wire::Json;
use crate::deadline::after;
use crate::model::{
    Answer, Effect, Event, EventKind, Failure, Level, Mode, Outcome, Part, Phase, Question,
    SessionChange, SessionStatus, Source, Text,
};
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;
use tokio::time::Instant;
use turn::Turn;

/// How many answers are remembered, to tell whoever comes second.
const REMEMBERED: usize = 64;
/// How many updates of a replay are told.
pub(super) const REPLAYED: usize = 10_000;

/// One session of an agent.
pub(super) struct Live {
    id: String,
    cwd: PathBuf,
    policy: Policy,
    thoughts: bool,
    budgets: Budgets,
    dialect: Arc<dyn Dialect>,
    opened: Opened,
    tell: mpsc::Sender<Event<'static>>,
    /// Events that there was no room for. While there are some, the agent is not read.
    outbox: VecDeque<Event<'static>>,
    translator: Translator,
    beside: Box<dyn Beside>,
    turn: Option<Turn>,
    questions: Vec<Waiting>,
    /// Questions that were answered, and how.
    answered: VecDeque<(String, String)>,
    /// How many questions there were.
    asked: u64,
    outcome: Arc<Mutex<Option<Outcome>>>,
    replay: Option<Replay>,
    /// The agent did not answer a cancel: it cannot be trusted with another prompt.
    stuck: bool,
}

/// A question that nobody has answered yet.
struct Waiting {
    rpc: Box<RawValue>,
    question: Question<'static>,
}

/// One of the options of a question.
struct Chosen {
    choice: String,
    reason: Option<String>,
    /// Set where it was not somebody who chose it.
    by: Option<&'static str>,
}

/// A loaded session whose history is still being repeated.
struct Replay {
    quiet_at: Instant,
    cap_at: Instant,
    told: usize,
    ready: Ready,
    reply: Reply<Ready>,
}

impl Live {
    pub(super) fn new(
        config: &Config,
        open: &Open,
        ready: &Ready,
        tell: mpsc::Sender<Event<'static>>,
    ) -> Self {
        let id = ready.opened.session_id.clone();
        Self {
            cwd: open.cwd.clone(),
            policy: config.policy.clone(),
            thoughts: config.thoughts,
            budgets: config.budgets,
            dialect: Arc::clone(&config.dialect),
            opened: ready.opened.clone(),
            tell,
            outbox: VecDeque::new(),
            translator: Translator::new(Arc::clone(&config.dialect)),
            beside: config.dialect.beside(&id),
            turn: None,
            questions: Vec::new(),
            answered: VecDeque::new(),
            asked: 0,
            outcome: Arc::clone(&ready.outcome),
            replay: None,
            stuck: false,
            id,
        }
    }

    /// The first events of a session.
    pub(super) fn welcome<'m>(&mut self, ignored: impl Iterator<Item = &'m str>, new: bool) {
        let model = self.opened.model.clone().map(Text::from);
        let started = EventKind::SessionStarted {
            session_id: Text::from(self.id.clone()),
            project_hash: None,
            started_at: None,
            kind: None,
            model: model.filter(|_| new),
        };
        self.say(Event::new(Source::Acp, started));
        let change = SessionChange {
            status: Some(SessionStatus::Idle),
            mode: self.opened.mode.as_deref().and_then(Mode::named),
            model: self.opened.model.clone().map(Text::from),
            ..SessionChange::default()
        };
        self.say(Event::new(Source::Acp, EventKind::SessionChanged(change)));
        for server in ignored {
            let text =
                format!("ignored the MCP server `{server}`: the agent does not support this kind");
            let kind = EventKind::Notice { level: Level::Warning, text };
            self.say(Event::new(Source::Pollux, kind).derived("agentCapabilities.mcpCapabilities"));
        }
    }

    pub(super) fn replay(&mut self, ready: Ready, reply: Reply<Ready>, cap_at: Instant) {
        let quiet_at = after(self.budgets.quiet);
        self.replay = Some(Replay { quiet_at, cap_at, told: 0, ready, reply });
    }

    /// Tells an event, now or when there is room.
    pub(super) fn say(&mut self, event: Event<'static>) {
        if !self.outbox.is_empty() {
            return self.outbox.push_back(event);
        }
        if let Err(mpsc::error::TrySendError::Full(event)) = self.tell.try_send(event) {
            self.outbox.push_back(event);
        }
    }

    fn say_all(&mut self, events: Vec<Event<'static>>) {
        for event in events {
            self.say(event);
        }
    }

    /// True where events wait for room. A session whose handle is not given out yet has nobody who could make room.
    pub(super) fn is_full(&self) -> bool {
        !self.outbox.is_empty() && self.replay.is_none()
    }

    /// Where its agent works.
    pub(super) fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// True where somebody still hears of it.
    pub(super) fn is_heard(&self) -> bool {
        !self.tell.is_closed()
    }

    /// Waits for room and tells one event.
    pub(super) async fn flush_one(&mut self) {
        match self.tell.reserve().await {
            Ok(room) => {
                if let Some(event) = self.outbox.pop_front() {
                    room.send(event);
                }
            }
            // Nobody listens any more.
            Err(_) => self.outbox.clear(),
        }
    }

    pub(super) fn update(&mut self, update: &RawValue, connection: &Connection) {
        let quiet_at = after(self.budgets.quiet);
        let room = match &mut self.replay {
            Some(replay) => {
                replay.quiet_at = quiet_at;
                replay.told += 1;
                !self.dialect.has_own_history() && replay.told <= REPLAYED
            }
            None => true,
        };
        if !room {
            return self.skipped();
        }
        let mut events = Vec::new();
        self.translator.update(update, &mut events);
        if !self.thoughts {
            let thought = |event: &Event<'_>| {
                matches!(event.kind, EventKind::TextGrew { part: Part::Thinking, .. })
            };
            events.retain(|event| !thought(event));
        }
        let ended = events.iter().any(|event| matches!(event.kind, EventKind::ToolEnded { .. }));
        for event in events {
            self.remember(&event);
            self.through(event.into_owned());
        }
        if ended {
            self.look();
        }
        if let Some(turn) = &mut self.turn {
            turn.quiet_at = quiet_at;
        }
        if self.has_had_its_turns() {
            self.stop(crate::model::StopReason::MaxTurns, connection);
        }
        self.give_up(connection);
    }

    /// An update of a replay is not told. That there is more is said once, where nothing else tells it.
    fn skipped(&mut self) {
        let is_first = self.replay.as_ref().is_some_and(|replay| replay.told == REPLAYED + 1);
        if is_first && !self.dialect.has_own_history() {
            let text = format!("the history is long: only its first {REPLAYED} updates are shown");
            let kind = EventKind::Notice { level: Level::Warning, text };
            self.say(Event::new(Source::Pollux, kind));
        }
    }

    /// Stops a turn that nobody hears of any more.
    pub(super) fn give_up(&mut self, connection: &Connection) {
        if self.tell.is_closed() && self.turn.is_some() {
            self.cancel(connection);
        }
    }

    /// A mode that the agent changed by itself.
    fn remember(&mut self, event: &Event<'_>) {
        if let EventKind::SessionChanged(change) = &event.kind
            && let Some(mode) = name(change)
        {
            self.opened.mode = Some(mode);
        }
    }

    /// Tells an event of the agent, with what is known beside it.
    fn through(&mut self, event: Event<'static>) {
        let mut out = Vec::new();
        self.beside.event(event, &mut out);
        self.say_all(out);
    }

    pub(super) fn look(&mut self) {
        let mut out = Vec::new();
        self.beside.look(&mut out);
        self.say_all(out);
    }

    fn is(&mut self, status: SessionStatus) {
        let change = SessionChange { status: Some(status), ..SessionChange::default() };
        self.say(Event::new(Source::Pollux, EventKind::SessionChanged(change)));
    }

    /// A mode or a model was set.
    pub(super) fn changed(&mut self, event: Event<'static>) {
        if let EventKind::SessionChanged(change) = &event.kind {
            if let Some(mode) = name(change) {
                // The agent may have told already.
                if self.opened.mode.as_deref().is_some_and(|now| is_same(now, &mode)) {
                    return;
                }
                self.opened.mode = Some(mode);
            }
            if let Some(model) = &change.model {
                self.opened.model = Some(model.to_string());
            }
        }
        self.say(event);
    }

    /// The agent's own id of a mode.
    pub(super) fn mode_id(&self, mode: &Wanted) -> Result<String, Failure> {
        let (id, name) = match mode {
            Wanted::Mode(mode) => (self.opened.mode_id(*mode), mode.upstream()),
            Wanted::Id(id) => {
                let offers = self.opened.modes.iter().any(|mode| mode.id == *id);
                (offers.then_some(id.as_str()), id.as_str())
            }
        };
        id.map(str::to_owned).ok_or_else(|| {
            let message = format!("the agent does not offer the mode `{name}`");
            let offered: Vec<&str> =
                self.opened.modes.iter().map(|mode| mode.id.as_str()).collect();
            let hint = match offered.as_slice() {
                [] => "the agent offers no modes: set the mode when you start it".to_owned(),
                offered => format!("available modes: {}", offered.join(", ")),
            };
            Failure::new(Phase::Request, "no_such_mode", message).hint(hint)
        })
    }

    /// Fails where the agent offers no models, and so cannot change its own.
    pub(super) fn offers_models(&self) -> Result<(), Failure> {
        if !self.opened.models.is_empty() {
            return Ok(());
        }
        let message = "the agent offers no models";
        Err(Failure::new(Phase::Request, "no_models", message)
            .hint("set the model when you start the agent"))
    }

    /// The agent asks for permission.
    pub(super) fn asked(&mut self, rpc: &RawValue, params: Json<'_>, connection: &Connection) {
        self.asked += 1;
        let id = format!("q{}", self.asked);
        let mut events = Vec::new();
        let question = self.translator.asked(id, params, &mut events);
        for event in events {
            self.through(event.into_owned());
        }
        let verdict = match &self.turn {
            // Whoever stopped the turn has said no to all of it.
            Some(turn) if turn.stopping.is_some() => None,
            None => None,
            // Nobody would ever answer.
            _ if self.tell.is_closed() => None,
            _ => Some(self.policy.verdict(&question, &self.cwd)),
        };
        self.say(Event::new(Source::Acp, EventKind::Asked(Box::new(question.clone()))));
        let waiting = Waiting { rpc: rpc.to_owned(), question };
        match verdict {
            Some(Verdict::Ask) => {
                self.questions.push(waiting);
                self.is(SessionStatus::Waiting);
            }
            Some(verdict) => {
                let choice = option(&waiting.question, verdict == Verdict::Allow);
                let choice = choice.map(|choice| choice.id.to_string());
                match choice.map(|choice| Chosen { choice, reason: None, by: Some("policy") }) {
                    Some(chosen) => self.choose(&waiting, &chosen, connection),
                    None => self.nobody(&waiting, connection),
                }
            }
            None => self.nobody(&waiting, connection),
        }
    }

    /// Answers a question with one of its options.
    pub(super) fn answer(
        &mut self,
        question: &str,
        choice: &str,
        reason: Option<String>,
        connection: &Connection,
    ) -> Result<(), Failure> {
        let at = self.questions.iter().position(|waiting| waiting.question.id == *question);
        let Some(at) = at else { return Err(self.no_question(question)) };
        let offered = &self.questions[at].question.options;
        if !offered.iter().any(|option| option.id == *choice) {
            let ids: Vec<String> = offered.iter().map(|option| option.id.to_string()).collect();
            let message = format!("unknown choice `{choice}`");
            return Err(Failure::new(Phase::Request, "unknown_choice", message)
                .hint(format!("available choices: {}", ids.join(", "))));
        }
        let waiting = self.questions.remove(at);
        let chosen = Chosen { choice: choice.to_owned(), reason, by: None };
        self.choose(&waiting, &chosen, connection);
        if self.questions.is_empty() {
            self.is(SessionStatus::Working);
        }
        Ok(())
    }

    fn no_question(&self, question: &str) -> Failure {
        if let Some((_, outcome)) = self.answered.iter().find(|(id, _)| id == question) {
            let message = format!("the question `{question}` was already answered: {outcome}");
            return Failure::new(Phase::Request, "answered_already", message)
                .hint("the first answer counts");
        }
        let message = format!("no question `{question}`");
        Failure::new(Phase::Request, "unknown_question", message)
            .hint("the agent may have withdrawn it: check the session again")
    }

    fn choose(&mut self, waiting: &Waiting, chosen: &Chosen, connection: &Connection) {
        let Chosen { choice, reason, by } = chosen;
        let outcome = json!({ "outcome": { "outcome": "selected", "optionId": choice } });
        connection.reply(&waiting.rpc, outcome);
        let answer = Answer::Chosen {
            choice: Text::from(choice.clone()),
            reason: reason.clone().map(Text::from),
        };
        self.settled(waiting, choice, answer, *by);
        let effect = waiting.question.options.iter().find(|option| option.id == **choice);
        let effect = effect.map(|option| option.effect);
        if matches!(effect, Some(Effect::RejectOnce | Effect::RejectAlways)) {
            self.turned_down(&waiting.question);
            if let (Some(turn), Some(reason)) = (&mut self.turn, reason) {
                turn.reasons.push(reason.clone());
            }
        }
    }

    /// Nobody answers a question any more.
    fn nobody(&mut self, waiting: &Waiting, connection: &Connection) {
        connection.reply(&waiting.rpc, json!({ "outcome": { "outcome": "cancelled" } }));
        self.settled(waiting, "cancelled", Answer::Cancelled, None);
        self.turned_down(&waiting.question);
    }

    fn settled(
        &mut self,
        waiting: &Waiting,
        outcome: &str,
        answer: Answer<'static>,
        derived: Option<&'static str>,
    ) {
        if self.answered.len() == REMEMBERED {
            self.answered.pop_front();
        }
        let question_id = waiting.question.id.clone();
        self.answered.push_back((question_id.to_string(), outcome.to_owned()));
        let kind = EventKind::Answered { question_id, answer };
        self.say(Event { derived, ..Event::new(Source::Pollux, kind) });
    }

    /// A call that was turned down has come to its end: the agent may never speak of it again.
    fn turned_down(&mut self, question: &Question<'_>) {
        let id = question.tool_id.as_ref().map(ToString::to_string);
        if let Some(event) = id.and_then(|id| self.translator.rejected(&id)) {
            self.through(event);
        }
    }

    /// The agent is gone. Its last events wait for room, unless whoever could make it has ended the agent.
    pub(super) async fn over(mut self, words: &str, patient: bool) {
        if let Some(replay) = self.replay.take() {
            let message = format!("{words} while it loaded the session");
            let failure =
                Failure::new(Phase::Request, "agent_ended", message).hint("start it again");
            drop(replay.reply.send(Err(failure)));
        }
        if self.turn.is_some() {
            self.finish_turn();
        }
        self.is(SessionStatus::Exited);
        let kind = EventKind::SessionEnded { reason: words.to_owned() };
        self.say(Event::new(Source::Pollux, kind));
        while patient && !self.outbox.is_empty() {
            self.flush_one().await;
        }
    }
}

/// The mode is another one now, by the agent's own id of it.
pub(super) fn mode_is(id: &str) -> Event<'static> {
    mode_named(id).derived("session/set_mode")
}

/// The name of the mode in a change.
fn name(change: &SessionChange<'_>) -> Option<String> {
    let own = change.mode_id.as_ref().map(ToString::to_string);
    change.mode.map(|mode| mode.upstream().to_owned()).or(own)
}

/// True for two names of one mode.
fn is_same(one: &str, other: &str) -> bool {
    one == other || Mode::named(one).is_some_and(|mode| Mode::named(other) == Some(mode))
}

/// The model is another one now.
pub(super) fn model_is(model: String) -> Event<'static> {
    let change = SessionChange { model: Some(Text::from(model)), ..SessionChange::default() };
    Event::new(Source::Acp, EventKind::SessionChanged(change)).derived("session/set_model")
}
