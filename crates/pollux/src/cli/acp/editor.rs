//! The editor's requests, one after the other; what takes long is done beside.

use super::agents::{Agents, Held, How};
use super::frame::{BAD_PARAMS, Call, NO_METHOD};
use super::joined::{self, Place};
use super::lines::{Desk, Wrong, answer};
use super::session::{Awaited, Open, Over, Shared, To, lock, mode_name};
use super::steer::{Steer, Taken};
use crate::ends::Stop;
use pollux_agent::acp::{Opened, relay};
use pollux_agent::model::{Failure, Phase};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// All that an editor has open.
pub(super) struct Editor {
    agents: Agents,
    desk: Desk,
    sessions: HashMap<String, Entry>,
    /// Sessions that are being opened.
    opening: JoinSet<Opening>,
    /// Sessions that are open.
    open: JoinSet<Over>,
    /// Requests to close a session, by its id.
    closing: HashMap<String, Value>,
    /// Sessions of a daemon that went away, each with how far it was heard: the next prompt joins them again.
    lost: HashMap<String, Place>,
    /// Prompts for sessions that are being joined again.
    waiting: HashMap<String, Vec<(Value, Value)>>,
}

/// A session that is open.
struct Entry {
    steer: Steer,
    awaited: Shared,
    opened: Opened,
    close: Option<oneshot::Sender<()>>,
}

/// A session that was opened, or was not.
struct Opening {
    id: Option<Value>,
    how: How,
    cwd: PathBuf,
    /// The session, where it is joined again, and how far it was heard.
    again: Option<(String, Place)>,
    outcome: Result<Held, Wrong>,
}

impl Editor {
    pub(super) fn new(agents: Agents, desk: Desk) -> Self {
        Self {
            agents,
            desk,
            sessions: HashMap::new(),
            opening: JoinSet::new(),
            open: JoinSet::new(),
            closing: HashMap::new(),
            lost: HashMap::new(),
            waiting: HashMap::new(),
        }
    }

    /// Works until the editor is gone.
    pub(super) async fn run(mut self, mut lines: mpsc::Receiver<Call>) -> anyhow::Result<()> {
        let mut stop = Stop::new()?;
        loop {
            tokio::select! {
                call = lines.recv() => match call {
                    Some(call) => self.call(call).await?,
                    None => break,
                },
                Some(Ok(opening)) = self.opening.join_next() => self.opened(opening).await?,
                Some(Ok(over)) = self.open.join_next() => self.over(&over)?,
                () = stop.told() => break,
            }
        }
        self.opening.shutdown().await;
        for entry in self.sessions.values_mut() {
            drop(entry.close.take());
        }
        while self.open.join_next().await.is_some() {}
        Ok(())
    }

    async fn call(&mut self, call: Call) -> anyhow::Result<()> {
        let Call { id, method, params } = call;
        let how = match method.as_str() {
            "session/new" => How::New,
            "session/load" => How::Load,
            "session/resume" if self.agents.has_store() => How::Resume,
            "session/fork" if self.agents.has_store() => How::Fork,
            _ => return self.other(id, &method, &params).await,
        };
        // Nobody would ever know of a session that is opened without an answer.
        let Some(id) = id else { return Ok(()) };
        let open =
            matches!(how, How::Load | How::Resume) && self.sessions.contains_key(named(&params));
        if open {
            return answer(&id, Err(already_open(named(&params))));
        }
        let id = Some(id);
        let agents = self.agents.clone();
        self.opening.spawn(async move {
            let cwd = PathBuf::from(params["cwd"].as_str().unwrap_or_default());
            let outcome = Box::pin(agents.open(how, &params)).await;
            Opening { id, how, cwd, again: None, outcome }
        });
        Ok(())
    }

    async fn other(
        &mut self,
        id: Option<Value>,
        method: &str,
        params: &Value,
    ) -> anyhow::Result<()> {
        if method == "session/cancel" {
            if let Ok(entry) = self.entry(params) {
                drop(entry.steer.cancel().await);
            }
            // It is only told; who asks all the same waits for an answer.
            return id.map_or(Ok(()), |id| answer(&id, Ok(Value::Null)));
        }
        // A notification that is not known is none of ours.
        let Some(id) = id else { return Ok(()) };
        let outcome = match method {
            "initialize" => self
                .agents
                .about()
                .await
                .map_err(Wrong::from)
                .map(|about| Some(relay::about(&about, self.agents.has_store()))),
            "authenticate" => self.agents.authenticate(params).await.map(Some),
            "session/list" if self.agents.has_store() => Ok(Some(self.agents.list(params).await)),
            "session/prompt" => self.prompt(&id, params).await,
            "session/set_mode" => {
                let mode = mode_name(word(params, "modeId"));
                self.change(&id, params, To::Mode(mode)).await
            }
            "session/set_model" => {
                let model = word(params, "modelId").to_owned();
                self.change(&id, params, To::Model(model, false)).await
            }
            "session/set_config_option" if params["configId"] == "model" => {
                let model = word(params, "value").to_owned();
                self.change(&id, params, To::Model(model, true)).await
            }
            "session/set_config_option" => {
                let option = params["configId"].as_str().unwrap_or_default();
                Err(Wrong::new(BAD_PARAMS, &format!("unknown option `{option}`")))
            }
            "session/close" => self.close(&id, params),
            _ => Err(Wrong::new(NO_METHOD, &format!("\"Method not found\": {method}"))),
        };
        match outcome.transpose() {
            Some(outcome) => answer(&id, outcome),
            // It is answered later.
            None => Ok(()),
        }
    }

    fn entry(&mut self, params: &Value) -> Result<&mut Entry, Wrong> {
        let id = named(params);
        let lost = self.lost.contains_key(id) || self.waiting.contains_key(id);
        let message = format!("session `{id}` is not open");
        let wrong = || if lost { joined::gone().into() } else { Wrong::new(BAD_PARAMS, &message) };
        self.sessions.get_mut(id).ok_or_else(wrong)
    }

    /// Joins a session again whose daemon went away. The prompt waits until that is done. False where there is nothing to join.
    fn join_again(&mut self, id: &Value, params: &Value) -> bool {
        let session = named(params).to_owned();
        if let Some(heard) = self.lost.remove(&session) {
            let (agents, name) = (self.agents.clone(), session.clone());
            self.opening.spawn(async move {
                let outcome = Box::pin(agents.again(&name, heard)).await;
                let (how, cwd, again) = (How::Load, PathBuf::new(), Some((name, heard)));
                Opening { id: None, how, cwd, again, outcome }
            });
            self.waiting.insert(session.clone(), Vec::new());
        }
        let waiting = self.waiting.get_mut(&session);
        waiting.map(|all| all.push((id.clone(), params.clone()))).is_some()
    }

    async fn prompt(&mut self, id: &Value, params: &Value) -> Result<Option<Value>, Wrong> {
        if self.join_again(id, params) {
            return Ok(None);
        }
        let entry = self.entry(params)?;
        let blocks = params["prompt"].as_array().cloned().unwrap_or_default();
        if !lock(&entry.awaited).begin(id, &blocks) {
            return Ok(None);
        }
        let taken = entry.steer.prompt(blocks.clone()).await;
        let mut awaited = lock(&entry.awaited);
        match taken {
            Ok(Taken::Now) => {}
            Ok(Taken::Later) => {
                let id = awaited.prompt.take().unwrap_or_default();
                awaited.later.push_back((id, blocks));
            }
            Err(wrong) => {
                awaited.prompt = None;
                return Err(wrong);
            }
        }
        Ok(None)
    }

    /// Another mode or model. It is written down before it is asked for: it may be so before we hear that it was taken.
    async fn change(&mut self, id: &Value, params: &Value, to: To) -> Result<Option<Value>, Wrong> {
        let entry = self.entry(params)?;
        if lock(&entry.awaited).has(&to) {
            return Ok(Some(to.answer(&entry.opened)));
        }
        lock(&entry.awaited).changes.push((id.clone(), to.clone()));
        let taken = match &to {
            To::Mode(mode) => entry.steer.set_mode(mode).await,
            To::Model(model, _) => entry.steer.set_model(model).await,
        };
        if taken.is_err() {
            lock(&entry.awaited).changes.retain(|(other, _)| other != id);
        }
        taken.map(|()| None)
    }

    fn close(&mut self, id: &Value, params: &Value) -> Result<Option<Value>, Wrong> {
        let session = named(params).to_owned();
        if self.lost.remove(&session).is_some() {
            return Ok(Some(json!({})));
        }
        let entry = self.entry(params)?;
        drop(entry.close.take());
        self.closing.insert(session, id.clone());
        Ok(None)
    }

    /// A session is over: closed, or its agent or daemon is gone.
    fn over(&mut self, over: &Over) -> anyhow::Result<()> {
        self.sessions.remove(&over.id);
        match (self.closing.remove(&over.id), over.lost) {
            (Some(id), _) => return answer(&id, Ok(json!({}))),
            (None, Some(heard)) => drop(self.lost.insert(over.id.clone(), heard)),
            (None, None) => {}
        }
        Ok(())
    }

    async fn opened(&mut self, opening: Opening) -> anyhow::Result<()> {
        let Opening { id, how, cwd, again, outcome } = opening;
        let name = again.as_ref().map(|(name, _)| name.as_str()).unwrap_or_default();
        let waiting = self.waiting.remove(name).unwrap_or_default();
        let held = match outcome {
            Ok(held) => held,
            Err(wrong) => {
                // The next prompt tries again.
                self.lost.extend(again);
                let mut all = waiting.into_iter().map(|(id, _)| id).chain(id);
                return all.try_for_each(|id| answer(&id, Err(wrong.clone())));
            }
        };
        let session = held.opened().session_id.clone();
        if self.sessions.contains_key(&session) {
            // Both were asked for at once. This one ends; the one that was first goes on.
            return id.map_or(Ok(()), |id| answer(&id, Err(already_open(&session))));
        }
        self.lost.remove(&session);
        let twin = self.agents.twin(&held, &cwd);
        match (how, &held) {
            (How::Load, Held::Joined(joined)) => {
                self.agents.hub.replay(&session, Some(joined.history.clone()));
            }
            (How::Load, _) => self.agents.hub.replay(&session, self.agents.history(&session)),
            (How::Resume | How::Fork, _) => self.agents.hub.replay(&session, Some(Vec::new())),
            (How::New, _) => {}
        }
        let with_id = matches!(how, How::New | How::Fork);
        let result = relay::opened(held.opened(), with_id);
        let (close, closed) = oneshot::channel();
        let awaited = Shared::default();
        *lock(&awaited) = Awaited::of(&held);
        let (steer, opened) = (held.steer(), held.opened().clone());
        let entry = Entry { steer, awaited: awaited.clone(), opened, close: Some(close) };
        self.sessions.insert(session.clone(), entry);
        let open = Open::new(held, twin, self.agents.clone(), self.desk.clone(), awaited);
        self.open.spawn(open.follow(closed));
        if let Some(id) = id {
            answer(&id, Ok(result))?;
        }
        self.agents.hub.known(&session);
        for (id, params) in waiting {
            if let Err(wrong) = self.prompt(&id, &params).await {
                answer(&id, Err(wrong))?;
            }
        }
        Ok(())
    }
}

/// The session that a request is about.
fn named(params: &Value) -> &str {
    word(params, "sessionId")
}

fn word<'p>(params: &'p Value, name: &str) -> &'p str {
    params[name].as_str().unwrap_or_default()
}

/// The editor has the session open: two of them would write one file.
fn already_open(id: &str) -> Wrong {
    let message = format!("session `{id}` is already open");
    let failure = Failure::new(Phase::Request, "already_open", message);
    failure.hint("use the session that is open").into()
}
