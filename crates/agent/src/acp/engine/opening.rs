//! Sessions that are opened, new ones and those that are loaded, and what is heard of them before they are.

use super::super::about::Opened;
use super::super::agent::{Open, Ready, Reply, WAITING};
use super::super::config::{McpServer, Step, Transport};
use super::super::wire::Json;
use super::super::wrong;
use super::live::{Live, REPLAYED};
use super::{Engine, Then};
use crate::model::Failure;
use serde_json::json;
use serde_json::value::RawValue;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// How many updates of sessions that are not known yet are kept until they are.
const EARLY: usize = 256;
/// How long the replay of a loaded session may take.
const REPLAY: Duration = Duration::from_secs(10);

impl Engine {
    pub(super) fn open(&mut self, open: Open, reply: Reply<Ready>) {
        if let Some(id) = &open.load {
            if self.sessions.get(id).is_some_and(Live::is_heard) {
                return drop(reply.send(Err(wrong::already_open(id))));
            }
            self.forget(id);
        }
        if !self.pending.values().any(|pending| matches!(pending.then, Then::Open { .. })) {
            // What is left is of sessions that never came, and would be in the way.
            self.early.clear();
        }
        let mut params = json!({ "cwd": open.cwd, "mcpServers": self.servers(&open) });
        let (method, step) = match &open.load {
            Some(id) => {
                params["sessionId"] = json!(id);
                ("session/load", Step::Load)
            }
            None => ("session/new", Step::New),
        };
        let pending = self.control(step, Then::Open { open, reply, early: Vec::new() });
        self.request(method, params, pending);
    }

    /// The servers that the agent will not ignore.
    fn servers<'o>(&self, open: &'o Open) -> Vec<&'o McpServer> {
        open.mcp.iter().filter(|server| self.accepts(server)).collect()
    }

    fn accepts(&self, server: &McpServer) -> bool {
        let can = self.about.as_ref().map(|about| about.can).unwrap_or_default();
        match server {
            McpServer::Stdio { .. } => true,
            McpServer::Remote { transport: Transport::Http, .. } => can.mcp_http,
            McpServer::Remote { transport: Transport::Sse, .. } => can.mcp_sse,
        }
    }

    /// Forgets a session that nobody hears of any more. Its turn is stopped, and what is still answered to it is for nobody:
    /// the same id may be another one's soon.
    fn forget(&mut self, id: &str) {
        let Some(mut dead) = self.sessions.remove(id) else { return };
        dead.cancel(&self.connection);
        for pending in self.pending.values_mut() {
            if matches!(&pending.then, Then::Prompt(of) if of == id) {
                pending.then = Then::Nothing;
            }
        }
    }

    /// Keeps an update of a session that is not open yet. Fails where none is being opened, or too much is kept already.
    pub(super) fn early(&mut self, id: &str, update: &RawValue) -> Result<(), &'static str> {
        let mut is_opening = false;
        for pending in self.pending.values_mut() {
            let Then::Open { open, early, .. } = &mut pending.then else { continue };
            is_opening = true;
            if open.load.as_deref() == Some(id) {
                // By the one that is too many, the session sees that there were more.
                if early.len() <= REPLAYED {
                    early.push(update.to_owned());
                }
                return Ok(());
            }
        }
        if !is_opening {
            return Err("an update for an unknown session");
        }
        if self.early.len() == EARLY {
            return Err("too many updates for an unknown session");
        }
        self.early.push_back((id.to_owned(), update.to_owned()));
        Ok(())
    }

    pub(super) fn opened(
        &mut self,
        open: &Open,
        reply: Reply<Ready>,
        early: &[Box<RawValue>],
        outcome: Result<Json<'_>, Failure>,
    ) {
        let step = if open.load.is_some() { Step::Load } else { Step::New };
        let opened = outcome.and_then(|json| {
            Opened::read(json, open.load.as_deref()).ok_or_else(|| wrong::no_id(step))
        });
        let opened = match opened {
            Ok(opened) => opened,
            Err(failure) => return drop(reply.send(Err(failure))),
        };
        let id = opened.session_id.clone();
        if self.sessions.get(&id).is_some_and(Live::is_heard) {
            return drop(reply.send(Err(wrong::already_open(&id))));
        }
        self.forget(&id);
        let (tell, events) = mpsc::channel(WAITING);
        let ready = Ready { opened, events, outcome: Arc::new(Mutex::new(None)) };
        let mut live = Live::new(&self.config, open, &ready, tell);
        let ignored = open.mcp.iter().filter(|server| !self.accepts(server));
        live.welcome(ignored.map(McpServer::name), open.load.is_none());
        if open.load.is_some() {
            live.replay(ready, reply, Instant::now() + REPLAY);
        } else {
            drop(reply.send(Ok(ready)));
        }
        for update in early {
            live.update(update, &self.connection);
        }
        for (of, update) in std::mem::take(&mut self.early) {
            if of == id {
                live.update(&update, &self.connection);
            } else {
                self.early.push_back((of, update));
            }
        }
        self.sessions.insert(id, live);
    }
}
