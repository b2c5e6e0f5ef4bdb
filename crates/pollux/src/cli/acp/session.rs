//! One session, while it is open: its events go to the editor, its questions are asked there.

use super::agents::{Agents, Held, window};
use super::joined::{self, Place};
use super::lines::{Desk, Wrong, answer, update};
use super::steer::{Steer, Taken};
use crate::client::Twin;
use crate::report;
use pollux_agent::acp::{Opened, relay};
use pollux_agent::model::{
    Event, EventKind, Failure, Level, Mode, Phase, Question, Source, StopReason, Usage,
};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// What the editor waits for in a session.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    /// The prompt that is worked on.
    pub(super) prompt: Option<Value>,
    /// Requests for another mode or model.
    pub(super) changes: Vec<(Value, To)>,
    /// The mode that it has, as the editor calls it.
    pub(super) mode: Option<String>,
    /// The model that it has.
    pub(super) model: Option<String>,
    /// Whose turn it is.
    pub(super) turn: Turn,
    /// Prompts of the editor that wait for the current turn to end, whichever client started it.
    pub(super) later: VecDeque<(Value, Vec<Value>)>,
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Turn {
    /// No turn, or the editor's own.
    #[default]
    None,
    /// The turn of another client, such as a phone.
    Others,
}

impl Awaited {
    /// What is so when a session was opened.
    pub(super) fn of(held: &Held) -> Self {
        let works = matches!(held, Held::Joined(joined) if joined.works);
        Self {
            mode: held.opened().mode.as_deref().map(mode_name),
            model: held.opened().model.clone(),
            turn: if works { Turn::Others } else { Turn::None },
            ..Self::default()
        }
    }

    /// True where it is so already, and will still be when all is done that was asked for before.
    pub(super) fn has(&self, to: &To) -> bool {
        let asked = self.changes.iter().any(|(_, before)| before.name() == to.name());
        let now = match to {
            To::Mode(mode) => self.mode.as_ref() == Some(mode),
            To::Model(model, _) => self.model.as_ref() == Some(model),
        };
        now && !asked
    }

    /// Takes the request that was not met, by who says so: an agent of ours answers one after the other, and the daemon says
    /// which it is about.
    fn refused(&mut self, source: Source, why: &str) -> Option<Value> {
        let at = match source {
            Source::Acp => (!self.changes.is_empty()).then_some(0),
            Source::Pollux => self.changes.iter().position(|(_, to)| why.starts_with(to.name())),
            _ => None,
        };
        at.map(|at| self.changes.remove(at).0)
    }

    /// A prompt of the editor: true where it may be sent now. One that comes while another is worked on waits, and both are
    /// answered. It is written down before it is sent: its turn may begin before we hear that it was taken.
    pub(super) fn begin(&mut self, id: &Value, blocks: &[Value]) -> bool {
        let free = self.prompt.is_none() && self.turn == Turn::None;
        if free {
            self.prompt = Some(id.clone());
        } else {
            self.later.push_back((id.clone(), blocks.to_vec()));
        }
        free
    }
}

/// Another mode or model.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum To {
    Mode(String),
    /// The model, and whether it is one of the options that the protocol has today.
    Model(String, bool),
}

impl To {
    /// How what failed with it begins, where the daemon says so.
    fn name(&self) -> &'static str {
        match self {
            Self::Mode(_) => "the mode ",
            Self::Model(..) => "the model ",
        }
    }

    /// The answer to the request, once it is so.
    pub(super) fn answer(&self, opened: &Opened) -> Value {
        match self {
            Self::Model(model, true) => {
                json!({ "configOptions": [relay::models(opened, Some(model))] })
            }
            Self::Mode(_) | Self::Model(_, false) => json!({}),
        }
    }
}

/// A mode as the editor calls it: by our word for it, or by the agent's own.
pub(super) fn mode_name(name: &str) -> String {
    Mode::named(name).map_or_else(|| name.to_owned(), |mode| mode.upstream().to_owned())
}

/// A session that is open no more.
pub(super) struct Over {
    pub(super) id: String,
    /// How far it was heard, where it is the daemon that went away.
    pub(super) lost: Option<Place>,
}

pub(super) type Shared = Arc<Mutex<Awaited>>;

/// One session, while it is open.
pub(super) struct Open {
    held: Held,
    id: String,
    agents: Agents,
    desk: Desk,
    steer: Steer,
    awaited: Shared,
    /// The session, as a daemon sees it that runs.
    twin: Option<Twin>,
    /// What was told of a session that the daemon drives: only its events are heard.
    told: Option<relay::Told>,
    /// Questions that the editor was asked.
    asked: JoinSet<(String, Value)>,
    /// Unanswered questions, with the request that asks each.
    unanswered: HashMap<String, String>,
    model: Option<String>,
}

impl Open {
    pub(super) fn new(
        held: Held,
        twin: Option<Twin>,
        agents: Agents,
        desk: Desk,
        awaited: Shared,
    ) -> Self {
        let steer = held.steer();
        let (id, model) = (held.opened().session_id.clone(), held.opened().model.clone());
        let told = matches!(held, Held::Joined(_)).then(relay::Told::default);
        let (asked, unanswered) = (JoinSet::new(), HashMap::new());
        Self { held, id, agents, desk, steer, awaited, twin, told, asked, unanswered, model }
    }

    /// Works until the agent is gone or the session is closed.
    pub(super) async fn follow(mut self, mut close: oneshot::Receiver<()>) -> Over {
        let before = match &mut self.held {
            Held::Joined(joined) => std::mem::take(&mut joined.asked),
            Held::Gemini(_) | Held::Any(_) => Vec::new(),
        };
        // An editor that is gone is found out below.
        for question in &before {
            drop(self.asked(question));
        }
        let mut lost = None;
        loop {
            let stopped = async {
                match &self.twin {
                    Some(twin) => twin.stopped().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = stopped => break,
                event = self.held.next() => if let Some(event) = event {
                    if self.event(&event).await.is_err() {
                        break;
                    }
                } else {
                    lost = self.held.place();
                    break;
                },
                Some(Ok((question, answer))) = self.asked.join_next() => self.answered(&question, &answer).await,
                _ = &mut close => break,
            }
        }
        self.end(lost).await
    }

    async fn end(self, lost: Option<Place>) -> Over {
        let awaited = std::mem::take(&mut *lock(&self.awaited));
        let closed = || Failure::new(Phase::Request, "agent_gone", "the session was closed");
        let gone = || Wrong::from(if lost.is_some() { joined::gone() } else { closed() });
        let later = awaited.later.into_iter().map(|(id, _)| id);
        let changes = awaited.changes.into_iter().map(|(id, _)| id);
        for id in awaited.prompt.into_iter().chain(later).chain(changes) {
            drop(answer(&id, Err(gone())));
        }
        for request in self.unanswered.values() {
            drop(self.desk.withdraw(request));
        }
        if let Some(twin) = self.twin {
            twin.close().await;
        }
        if let Err(error) = self.held.close().await {
            report::warn(&error.to_string());
        }
        self.agents.hub.forget(&self.id);
        Over { id: self.id, lost }
    }

    async fn event(&mut self, event: &Event<'static>) -> anyhow::Result<()> {
        if let Some(twin) = &mut self.twin {
            twin.event(event);
        }
        match &event.kind {
            EventKind::TurnStarted { prompt } => self.begun(&prompt.to_str())?,
            EventKind::Asked(question) => self.asked(question)?,
            EventKind::Answered { question_id, .. } => {
                if let Some(request) = self.unanswered.remove(question_id.to_str().as_ref()) {
                    self.desk.withdraw(&request)?;
                }
            }
            EventKind::Notice { level: Level::Error, text } => {
                let refused = lock(&self.awaited).refused(event.source, text);
                match refused {
                    Some(id) => {
                        let failure = Failure::new(Phase::Request, "agent_error", text.clone());
                        answer(&id, Err(failure.into()))?;
                    }
                    None => report::warn(text),
                }
            }
            EventKind::Notice { text, .. } => report::warn(text),
            _ => {}
        }
        match &mut self.told {
            Some(told) => told.event(event).iter().try_for_each(|it| update(&self.id, it))?,
            None => self.agents.hub.event(&self.id, event),
        }
        match &event.kind {
            EventKind::SessionChanged(change) => {
                let own = change.mode_id.as_ref().map(ToString::to_string);
                let mode = change.mode.map(|mode| mode.upstream().to_owned()).or(own);
                let model = change.model.as_ref().map(ToString::to_string);
                self.changed(mode.as_ref(), model.as_ref())
            }
            EventKind::TurnEnded { stop_reason, error, .. } => {
                self.stopped(*stop_reason, error.as_deref())?;
                self.go_on().await
            }
            _ => Ok(()),
        }
    }

    /// A turn begins. If the editor did not start it, sends it the prompt.
    fn begun(&mut self, words: &str) -> anyhow::Result<()> {
        let mut awaited = lock(&self.awaited);
        if awaited.prompt.is_some() {
            return Ok(());
        }
        awaited.turn = Turn::Others;
        update(&self.id, &relay::prompt(words))
    }

    /// A turn is over: the editor's next prompt may be sent.
    async fn go_on(&mut self) -> anyhow::Result<()> {
        let next = {
            let mut awaited = lock(&self.awaited);
            awaited.turn = Turn::None;
            let next = awaited.later.pop_front();
            awaited.prompt = next.as_ref().map(|(id, _)| id.clone());
            next
        };
        let Some((id, blocks)) = next else { return Ok(()) };
        let taken = self.steer.prompt(blocks.clone()).await;
        let mut awaited = lock(&self.awaited);
        match taken {
            Ok(Taken::Now) => Ok(()),
            Ok(Taken::Later) => {
                awaited.prompt = None;
                awaited.later.push_front((id, blocks));
                Ok(())
            }
            Err(wrong) => {
                awaited.prompt = None;
                answer(&id, Err(wrong))
            }
        }
    }

    /// The agent asks a question.
    fn asked(&mut self, question: &Question<'_>) -> anyhow::Result<()> {
        let params = match &mut self.told {
            Some(told) => {
                let (before, mut params) = told.question(question);
                before.iter().try_for_each(|it| update(&self.id, it))?;
                params["sessionId"] = self.id.as_str().into();
                params
            }
            None => self.agents.hub.question(&self.id, question),
        };
        let (request, answer) = self.desk.ask("session/request_permission", &params)?;
        let question = question.id.to_string();
        self.unanswered.insert(question.clone(), request);
        self.asked.spawn(async move { (question, answer.await.unwrap_or_default()) });
        Ok(())
    }

    async fn answered(&mut self, question: &str, answer: &Value) {
        // Somebody else may have been first.
        if self.unanswered.remove(question).is_none() {
            return;
        }
        let chosen = answer["outcome"]["optionId"].as_str();
        match chosen {
            Some(choice) => drop(self.steer.answer(question, choice).await),
            // The editor has stopped the turn, or cannot ask: either way nobody allows it.
            None => drop(self.steer.cancel().await),
        }
    }

    fn changed(&mut self, mode: Option<&String>, model: Option<&String>) -> anyhow::Result<()> {
        if model.is_some() {
            self.model = model.cloned();
        }
        let is_now = |to: &To| match to {
            To::Mode(wanted) => mode == Some(wanted),
            To::Model(wanted, _) => model == Some(wanted),
        };
        let mut awaited = lock(&self.awaited);
        awaited.mode = mode.cloned().or(awaited.mode.take());
        awaited.model = model.cloned().or(awaited.model.take());
        while let Some(at) = awaited.changes.iter().position(|(_, to)| is_now(to)) {
            let (id, to) = awaited.changes.remove(at);
            answer(&id, Ok(to.answer(self.held.opened())))?;
        }
        Ok(())
    }

    /// The turn is over.
    fn stopped(&mut self, reason: StopReason, error: Option<&Failure>) -> anyhow::Result<()> {
        let outcome = self.held.outcome().unwrap_or_default();
        let last = outcome.messages.iter().rev().find_map(|message| message.usage);
        if let Some(last) = last.filter(|usage| *usage != Usage::default()) {
            let model = outcome.model.as_ref().map(ToString::to_string);
            let size = window(model.as_deref().or(self.model.as_deref()));
            update(&self.id, &relay::used(last, size))?;
        }
        let Some(id) = lock(&self.awaited).prompt.take() else { return Ok(()) };
        match error {
            Some(failure) if reason == StopReason::Error => {
                answer(&id, Err(failure.clone().into()))
            }
            _ => answer(&id, Ok(relay::stopped(reason, outcome.usage))),
        }
    }
}

pub(super) fn lock(awaited: &Shared) -> std::sync::MutexGuard<'_, Awaited> {
    awaited.lock().unwrap_or_else(PoisonError::into_inner)
}
