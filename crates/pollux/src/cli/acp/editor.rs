//! The editor's requests, one after the other; what takes long is done beside.

use super::agents::{Agents, Held, How};
use super::lines::{BAD_PARAMS, Call, Desk, NO_METHOD, Wrong, answer};
use super::session::{Awaited, Open, Shared, To, lock};
use super::steer::{Steer, Taken};
use pollux_agent::acp::relay;
use pollux_agent::model::Mode;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// All that an editor has open.
pub(super) struct Editor {
    agents: Agents,
    desk: Desk,
    sessions: HashMap<String, Entry>,
    /// Sessions that are being opened.
    opening: JoinSet<Opening>,
    /// Sessions that are open. Each gives its id when it is over.
    open: JoinSet<String>,
    /// Requests to close a session, by its id.
    closing: HashMap<String, Value>,
}

/// A session that is open.
struct Entry {
    steer: Steer,
    awaited: Shared,
    close: Option<oneshot::Sender<()>>,
}

/// A session that was opened, or was not.
struct Opening {
    id: Option<Value>,
    how: How,
    cwd: PathBuf,
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
        }
    }

    /// Works until the editor is gone.
    pub(super) async fn run(mut self, mut lines: mpsc::Receiver<Call>) -> anyhow::Result<()> {
        let mut terminated = signal(SignalKind::terminate())?;
        let mut interrupted = signal(SignalKind::interrupt())?;
        loop {
            tokio::select! {
                call = lines.recv() => match call {
                    Some(call) => self.call(call).await?,
                    None => break,
                },
                Some(Ok(opening)) = self.opening.join_next() => self.opened(opening)?,
                Some(Ok(id)) = self.open.join_next() => self.over(&id)?,
                _ = terminated.recv() => break,
                _ = interrupted.recv() => break,
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
        let agents = self.agents.clone();
        self.opening.spawn(async move {
            let cwd = PathBuf::from(params["cwd"].as_str().unwrap_or_default());
            let outcome = Box::pin(agents.open(how, &params)).await;
            Opening { id, how, cwd, outcome }
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
            return Ok(());
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
            "session/set_mode" => self.set_mode(&id, params).await,
            "session/set_model" => self.set_model(&id, params, &params["modelId"], false).await,
            "session/set_config_option" if params["configId"] == "model" => {
                self.set_model(&id, params, &params["value"], true).await
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
        let id = params["sessionId"].as_str().unwrap_or_default();
        let message = format!("the session `{id}` is not open");
        self.sessions.get_mut(id).ok_or_else(|| Wrong::new(BAD_PARAMS, &message))
    }

    async fn prompt(&mut self, id: &Value, params: &Value) -> Result<Option<Value>, Wrong> {
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

    async fn set_mode(&mut self, id: &Value, params: &Value) -> Result<Option<Value>, Wrong> {
        let entry = self.entry(params)?;
        let name = params["modeId"].as_str().unwrap_or_default();
        let unknown = || Wrong::new(BAD_PARAMS, &format!("there is no mode `{name}`"));
        let mode = Mode::named(name).ok_or_else(unknown)?;
        if lock(&entry.awaited).mode == Some(mode) {
            return Ok(Some(json!({})));
        }
        entry.steer.set_mode(mode).await?;
        lock(&entry.awaited).changes.push((id.clone(), To::Mode(mode)));
        Ok(None)
    }

    async fn set_model(
        &mut self,
        id: &Value,
        params: &Value,
        model: &Value,
        option: bool,
    ) -> Result<Option<Value>, Wrong> {
        let entry = self.entry(params)?;
        let model = model.as_str().unwrap_or_default().to_owned();
        entry.steer.set_model(&model).await?;
        lock(&entry.awaited).changes.push((id.clone(), To::Model(model, option)));
        Ok(None)
    }

    fn close(&mut self, id: &Value, params: &Value) -> Result<Option<Value>, Wrong> {
        let entry = self.entry(params)?;
        drop(entry.close.take());
        let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
        self.closing.insert(session, id.clone());
        Ok(None)
    }

    /// A session is over: closed, or its agent is gone.
    fn over(&mut self, session: &str) -> anyhow::Result<()> {
        self.sessions.remove(session);
        match self.closing.remove(session) {
            Some(id) => answer(&id, Ok(json!({}))),
            None => Ok(()),
        }
    }

    fn opened(&mut self, opening: Opening) -> anyhow::Result<()> {
        let Opening { id, how, cwd, outcome } = opening;
        let held = match outcome {
            Ok(held) => held,
            Err(wrong) => return id.map_or(Ok(()), |id| answer(&id, Err(wrong))),
        };
        let session = held.opened().session_id.clone();
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
        let entry = Entry { steer: held.steer(), awaited: awaited.clone(), close: Some(close) };
        self.sessions.insert(session.clone(), entry);
        let open = Open::new(held, twin, self.agents.clone(), self.desk.clone(), awaited);
        self.open.spawn(open.follow(closed));
        if let Some(id) = id {
            answer(&id, Ok(result))?;
        }
        self.agents.hub.known(&session);
        Ok(())
    }
}
