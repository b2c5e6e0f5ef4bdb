//! The WebSocket: subscriptions to many sessions over one connection, commands the other way.
//!
//! Nothing waits in memory for a client. It reads from the log at its own pace, and one that does not read is sent away.

use super::door::Guest;
use super::fits::Fitter;
use super::hub::Hub;
use super::log::Bell;
use super::reader::Reader;
use super::routes::{Api, commanded, problem};
use super::screen;
use crate::api::{ClientFrame, HEARTBEAT_SECONDS, Hello, ServerFrame};
use crate::trouble::Trouble;
use axum::extract::ws::{Message, WebSocket};
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use pollux_agent::session::{Command, Reply, Request};
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};

/// A client that takes no frame for so long is sent away.
const PATIENCE: Duration = Duration::from_secs(20);
/// A client that says nothing for so long is gone: it answers pings by itself.
const SILENCE: Duration = Duration::from_secs(HEARTBEAT_SECONDS * 4);
/// How many sessions one connection may follow.
const SUBSCRIPTIONS: usize = 128;
/// How many screens one connection may look at.
const SCREENS: usize = 4;
/// How many commands of one connection may be on their way.
const COMMANDS: usize = 32;
/// How many sessions the list has that `watch` gives; more are to be had by page.
const LISTED: usize = 100;
/// Sessions that were not there before are told one by one; more than so many as a new list.
const MANY: usize = 20;
/// The longest frame that a client may send: a prompt of a megabyte, with its escapes.
pub const LONGEST: usize = 4 << 20;

struct Client {
    api: Arc<Api>,
    guest: Guest,
    out: SplitSink<WebSocket, Message>,
    bell: Arc<Bell>,
    readers: HashMap<String, Reader>,
    /// The versions of summaries that were sent, where all are watched.
    watched: Option<HashMap<String, u64>>,
    commands: JoinSet<String>,
    /// Of each session the last command that is on its way.
    last: HashMap<String, oneshot::Receiver<()>>,
    /// The screens that are shown, each by a task that ends when it is dropped.
    screens: HashMap<String, JoinSet<()>>,
    /// True while somebody looks at it.
    visible: bool,
    pictures: (mpsc::Sender<String>, mpsc::Receiver<String>),
    /// The windows at the desk that have the size of its screen.
    fitter: Fitter,
}

/// There is nobody to talk to any more, or there shall not be.
struct Gone;

/// Talks to one client until either side has had enough.
pub async fn talk(api: Arc<Api>, guest: Guest, socket: WebSocket) {
    let (out, input) = socket.split();
    let fitter = api.fits.fitter();
    let mut client = Client {
        api,
        guest,
        out,
        bell: Arc::default(),
        readers: HashMap::new(),
        watched: None,
        commands: JoinSet::new(),
        last: HashMap::new(),
        screens: HashMap::new(),
        visible: false,
        pictures: mpsc::channel(1),
        fitter,
    };
    let hello = ServerFrame::Hello(Hello::to(&client.guest.name, &client.guest.scopes));
    if client.frame(&hello).await.is_ok() {
        let _gone = client.run(input).await;
    }
    if client.visible {
        client.api.push.looks(client.guest.id(), false);
    }
    // Whoever went away needs no farewell; the others get one.
    let _closed = tokio::time::timeout(Duration::from_secs(1), client.out.close()).await;
    // What was asked for is done to its end, and is in the audit log, whoever has gone.
    let done = async { while client.commands.join_next().await.is_some() {} };
    let _late = tokio::time::timeout(PATIENCE, done).await;
    client.give_back().await;
}

impl Client {
    /// Whoever sits at the desk has his windows again.
    async fn give_back(&self) {
        if self.api.stop.is_cancelled() {
            return;
        }
        for session in self.fitter.left() {
            let id = format!("give-back-{}", uuid::Uuid::new_v4());
            let request = Request { id, by: self.guest.by(), command: Command::GiveBack };
            // The agent may be gone, and the window with it.
            drop(self.api.hub.command(&session, request).await);
        }
    }

    async fn run(&mut self, mut input: SplitStream<WebSocket>) -> Result<(), Gone> {
        let mut beat = tokio::time::interval(Duration::from_secs(HEARTBEAT_SECONDS));
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = Instant::now();
        let stop = self.api.stop.clone();
        let revoked = self.guest.revoked.clone();
        let mut teams = self.api.teams.changes();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return Err(Gone),
                () = revoked.cancelled() => return Err(Gone),
                _ = beat.tick() => {
                    if heard.elapsed() > SILENCE {
                        return Err(Gone);
                    }
                    self.heartbeat().await?;
                    self.send(Message::Ping(bytes::Bytes::new())).await?;
                }
                Some(told) = self.commands.join_next() => {
                    if let Ok(text) = told {
                        self.text(text).await?;
                    }
                }
                message = input.next() => {
                    heard = Instant::now();
                    match message {
                        Some(Ok(Message::Text(text))) => self.said(text.as_str()).await?,
                        Some(Ok(Message::Binary(_))) => self.wrong("not_text", "frames must be text").await?,
                        Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                        Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(Gone),
                    }
                }
                dirty = self.bell.heard() => self.news(dirty).await?,
                Ok(()) = teams.changed() => {
                    if self.watched.is_some() {
                        self.frame(&ServerFrame::Team).await?;
                    }
                }
                Some(picture) = self.pictures.1.recv() => self.text(picture).await?,
            }
        }
    }

    /// One frame for each session that has news, and then the bell once more: heartbeats and commands get in between.
    async fn news(&mut self, dirty: BTreeSet<Arc<str>>) -> Result<(), Gone> {
        let many = dirty.iter().filter(|id| self.is_new(id)).count() > MANY;
        if many {
            self.watch().await?;
        }
        for id in dirty {
            if let Some(reader) = self.readers.get_mut(&*id) {
                match reader.next().await {
                    Ok(Some(frame)) => {
                        self.bell.ring(&id);
                        self.text(frame).await?;
                    }
                    Ok(None) => {}
                    Err(error) => {
                        self.readers.remove(&*id);
                        self.failed(Some(id.to_string()), &error).await?;
                    }
                }
            }
            // What is not in the list that was just told is to be had by page.
            if !many || !self.is_new(&id) {
                self.summary(&id).await?;
            }
        }
        Ok(())
    }

    /// True where all are watched, and of this one nothing was told yet.
    fn is_new(&self, id: &str) -> bool {
        self.watched.as_ref().is_some_and(|watched| !watched.contains_key(id))
    }

    /// To those who watch all: what a session is now, unless they follow it anyway.
    async fn summary(&mut self, id: &Arc<str>) -> Result<(), Gone> {
        let Some(watched) = &mut self.watched else { return Ok(()) };
        if self.readers.contains_key(&**id) {
            return Ok(());
        }
        let Ok((_, feed)) = self.api.hub.feed(id) else {
            // It is gone from the list, which is told anew.
            return if watched.contains_key(&**id) { self.watch().await } else { Ok(()) };
        };
        let summary = feed.summary();
        let sent = watched.entry(id.to_string()).or_default();
        if summary.version > *sent {
            *sent = summary.version;
            let session = Box::new((*summary).clone());
            self.frame(&ServerFrame::Session { session }).await?;
        }
        Ok(())
    }

    async fn said(&mut self, text: &str) -> Result<(), Gone> {
        match serde_json::from_str(text) {
            Ok(ClientFrame::Subscribe { session_id, after, epoch }) => {
                self.subscribe(session_id, after.zip(epoch)).await
            }
            Ok(ClientFrame::Unsubscribe { session_id }) => {
                self.readers.remove(&session_id);
                Ok(())
            }
            Ok(ClientFrame::Watch) => self.watch().await,
            Ok(ClientFrame::Command { id, session_id, command }) => {
                if self.commands.len() >= COMMANDS {
                    let trouble = Trouble::refused(
                        "too_many_commands",
                        "too many commands in progress; wait for their replies",
                    );
                    return self.failed(Some(id), &trouble.into()).await;
                }
                self.command(id, session_id, command);
                Ok(())
            }
            Ok(ClientFrame::Screen { session_id, on: false }) => {
                self.screens.remove(&session_id);
                Ok(())
            }
            Ok(ClientFrame::Screen { session_id, on: true }) => self.show(session_id).await,
            Ok(ClientFrame::Visible { visible }) => {
                if visible != self.visible {
                    self.visible = visible;
                    self.api.push.looks(self.guest.id(), visible);
                }
                Ok(())
            }
            Ok(ClientFrame::Ping) => self.heartbeat().await,
            Ok(ClientFrame::Unknown) => self.wrong("unknown_frame", "unknown frame type").await,
            Err(error) => {
                // Who waits for an answer to it waits by its id.
                let id = serde_json::from_str(text).ok().and_then(|Named { id }| id);
                let trouble = Trouble::refused("unread_frame", error.to_string());
                self.failed(id, &trouble.into()).await
            }
        }
    }

    /// Begins to do what it was told. Commands for one session are done in their order, those for others beside them.
    fn command(&mut self, id: String, session_id: String, command: Command) {
        let (api, guest) = (Arc::clone(&self.api), self.guest.clone());
        let fitter = self.fitter.clone();
        let (done, is_done) = oneshot::channel();
        self.last.retain(|_, last| last.try_recv() == Err(TryRecvError::Empty));
        let before = self.last.insert(session_id.clone(), is_done);
        self.commands.spawn(async move {
            if let Some(before) = before {
                // It is dropped when it is over.
                let _over = before.await;
            }
            let outcome = commanded(&api, &guest, &session_id, id.clone(), command.clone()).await;
            if let Ok(Reply::Done(_)) = outcome {
                fitter.did(&session_id, &command);
            }
            drop::<oneshot::Sender<()>>(done);
            let frame = match outcome {
                Ok(reply) => ServerFrame::Result { id, reply },
                Err(error) => ServerFrame::Error { id: Some(id), error: problem(&error) },
            };
            serde_json::to_string(&frame).unwrap_or_default()
        });
    }

    async fn subscribe(&mut self, id: String, seen: Option<(u64, u64)>) -> Result<(), Gone> {
        if self.readers.len() >= SUBSCRIPTIONS && !self.readers.contains_key(&id) {
            return self
                .wrong(
                    "too_many_subscriptions",
                    "too many subscriptions; unsubscribe from another session first",
                )
                .await;
        }
        self.readers.remove(&id);
        match Reader::open(&self.api.hub, &id, seen, &self.bell).await {
            Ok((reader, frame)) => {
                self.readers.insert(id.clone(), reader);
                self.text(frame).await?;
                self.bell.ring(&Arc::from(id.as_str()));
                Ok(())
            }
            Err(error) => self.failed(Some(id), &error).await,
        }
    }

    /// Begins to show a screen.
    async fn show(&mut self, id: String) -> Result<(), Gone> {
        self.screens.retain(|_, shown| shown.try_join_next().is_none());
        if self.screens.len() >= SCREENS && !self.screens.contains_key(&id) {
            return self
                .wrong("too_many_screens", "too many screens; close another one first")
                .await;
        }
        let (hub, frames, session) = (self.api.hub.clone(), self.pictures.0.clone(), id.clone());
        let mut shown = JoinSet::new();
        shown.spawn(async move {
            let Err(error) = screen::show(hub, session.clone(), frames.clone()).await else {
                return;
            };
            let frame = ServerFrame::Error { id: Some(session), error: problem(&error) };
            // Whoever has gone away needs no reason.
            let _told = frames.send(serde_json::to_string(&frame).unwrap_or_default()).await;
        });
        self.screens.insert(id, shown);
        Ok(())
    }

    async fn watch(&mut self) -> Result<(), Gone> {
        if self.watched.is_none() {
            self.api.hub.watch(&self.bell);
        }
        let sessions = listed(&self.api.hub, 0, LISTED);
        let sent = sessions.iter().map(|session| (session.id.clone(), session.version));
        self.watched = Some(sent.collect());
        self.frame(&ServerFrame::Sessions { sessions }).await
    }

    async fn heartbeat(&mut self) -> Result<(), Gone> {
        let at = self.api.hub.now();
        self.frame(&ServerFrame::Heartbeat { at }).await
    }

    async fn wrong(&mut self, code: &'static str, message: &str) -> Result<(), Gone> {
        self.failed(None, &Trouble::refused(code, message).into()).await
    }

    async fn failed(&mut self, id: Option<String>, error: &anyhow::Error) -> Result<(), Gone> {
        self.frame(&ServerFrame::Error { id, error: problem(error) }).await
    }

    async fn frame(&mut self, frame: &ServerFrame) -> Result<(), Gone> {
        self.text(serde_json::to_string(frame).unwrap_or_default()).await
    }

    async fn text(&mut self, text: String) -> Result<(), Gone> {
        self.send(Message::Text(text.into())).await
    }

    async fn send(&mut self, message: Message) -> Result<(), Gone> {
        match tokio::time::timeout(PATIENCE, self.out.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Gone),
        }
    }
}

/// What is read of a frame that cannot be read.
#[derive(serde::Deserialize)]
struct Named {
    id: Option<String>,
}

/// A page of all sessions, the newest first, as values.
pub fn listed(hub: &Hub, from: usize, most: usize) -> Vec<crate::api::Summary> {
    hub.list().iter().skip(from).take(most).map(|summary| (**summary).clone()).collect()
}
