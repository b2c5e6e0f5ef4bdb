//! One session, while it is open: its events go to the editor, its questions are asked there.

use super::agents::{Agents, Held, window};
use super::lines::{Desk, Wrong, answer};
use crate::report;
use pollux_agent::acp::{Control, relay};
use pollux_agent::model::{
    Event, EventKind, Failure, Level, Mode, Phase, Source, StopReason, Usage,
};
use serde_json::{Value, json};
use std::collections::HashSet;
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
    /// The mode that it has.
    pub(super) mode: Option<Mode>,
}

/// Another mode or model.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum To {
    Mode(Mode),
    /// The model, and whether it is one of the options that the protocol has today.
    Model(String, bool),
}

pub(super) type Shared = Arc<Mutex<Awaited>>;

/// One session, while it is open.
pub(super) struct Open {
    held: Held,
    id: String,
    agents: Agents,
    desk: Desk,
    control: Control,
    awaited: Shared,
    /// Questions that the editor was asked.
    asked: JoinSet<(String, Value)>,
    /// Those that nobody has answered yet.
    unanswered: HashSet<String>,
    model: Option<String>,
}

impl Open {
    pub(super) fn new(held: Held, agents: Agents, desk: Desk, awaited: Shared) -> Self {
        let control = held.control();
        let (id, model) = (held.opened().session_id.clone(), held.opened().model.clone());
        let (asked, unanswered) = (JoinSet::new(), HashSet::new());
        Self { held, id, agents, desk, control, awaited, asked, unanswered, model }
    }

    /// Works until the agent is gone or the session is closed. Gives its id.
    pub(super) async fn follow(mut self, mut close: oneshot::Receiver<()>) -> String {
        loop {
            tokio::select! {
                event = self.held.next() => match event {
                    Some(event) => {
                        if self.event(&event).is_err() {
                            break;
                        }
                    }
                    None => break,
                },
                Some(Ok((question, answer))) = self.asked.join_next() => self.answered(&question, &answer).await,
                _ = &mut close => break,
            }
        }
        self.end().await
    }

    async fn end(self) -> String {
        let awaited = std::mem::take(&mut *lock(&self.awaited));
        let gone =
            || Wrong::from(Failure::new(Phase::Request, "agent_gone", "the session was closed"));
        for id in awaited.prompt.into_iter().chain(awaited.changes.into_iter().map(|(id, _)| id)) {
            drop(answer(&id, Err(gone())));
        }
        if let Err(error) = self.held.close().await {
            report::warn(&error.to_string());
        }
        self.agents.hub.forget(&self.id);
        self.id
    }

    fn event(&mut self, event: &Event<'static>) -> anyhow::Result<()> {
        match &event.kind {
            EventKind::Asked(question) => self.asked(&question.id.to_str())?,
            EventKind::Answered { question_id, .. } => {
                self.unanswered.remove(question_id.to_str().as_ref());
            }
            EventKind::Notice { level: Level::Error, text } if event.source == Source::Acp => {
                let change = first(&mut lock(&self.awaited).changes);
                if let Some((id, _)) = change {
                    let failure = Failure::new(Phase::Request, "agent_error", text.clone());
                    answer(&id, Err(failure.into()))?;
                }
            }
            EventKind::Notice { text, .. } => report::warn(text),
            _ => {}
        }
        self.agents.hub.event(&self.id, event);
        match &event.kind {
            EventKind::SessionChanged(change) => {
                let model = change.model.as_ref().map(ToString::to_string);
                self.changed(change.mode, model.as_ref())
            }
            EventKind::TurnEnded { stop_reason, error, .. } => {
                self.stopped(*stop_reason, error.as_deref())
            }
            _ => Ok(()),
        }
    }

    /// The agent waits for somebody.
    fn asked(&mut self, question: &str) -> anyhow::Result<()> {
        let Some(params) = self.agents.hub.question(&self.id) else { return Ok(()) };
        let answer = self.desk.ask("session/request_permission", &params)?;
        let question = question.to_owned();
        self.unanswered.insert(question.clone());
        self.asked.spawn(async move { (question, answer.await.unwrap_or_default()) });
        Ok(())
    }

    async fn answered(&mut self, question: &str, answer: &Value) {
        // Somebody else may have been first.
        if !self.unanswered.remove(question) {
            return;
        }
        let chosen = answer["outcome"]["optionId"].as_str();
        match chosen {
            Some(choice) => drop(self.control.answer(question, choice, None).await),
            // The editor has stopped the turn, or cannot ask: either way nobody allows it.
            None => drop(self.control.cancel().await),
        }
    }

    fn changed(&mut self, mode: Option<Mode>, model: Option<&String>) -> anyhow::Result<()> {
        if model.is_some() {
            self.model = model.cloned();
        }
        let is_now = |to: &To| match to {
            To::Mode(wanted) => mode == Some(*wanted),
            To::Model(wanted, _) => model == Some(wanted),
        };
        let mut awaited = lock(&self.awaited);
        awaited.mode = mode.or(awaited.mode);
        while let Some(at) = awaited.changes.iter().position(|(_, to)| is_now(to)) {
            let (id, to) = awaited.changes.remove(at);
            let result = match to {
                To::Model(model, true) => {
                    json!({ "configOptions": [relay::models(self.held.opened(), Some(&model))] })
                }
                To::Mode(_) | To::Model(_, false) => json!({}),
            };
            answer(&id, Ok(result))?;
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
            super::lines::update(&self.id, &relay::used(last, size))?;
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

fn first<T>(list: &mut Vec<T>) -> Option<T> {
    (!list.is_empty()).then(|| list.remove(0))
}
