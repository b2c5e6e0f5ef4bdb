//! A session of this process, brought to the daemon where one runs: phones see it and answer its questions. No daemon is
//! started for it, and without one, or when it goes away, the session goes on as if there were none.

use crate::api::{Bring, Said, Told};
use crate::config::Config;
use crate::daemon::hub::obey;
use crate::daemon::instance::Place;
use futures::{SinkExt, StreamExt};
use pollux_agent::acp::Control;
use pollux_agent::model::{Event, EventKind, Failure};
use serde_json::value::to_raw_value;
use std::path::PathBuf;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

/// Where a session is brought to. The name is never looked up: the way is the user's own socket.
const ADDRESS: &str = "ws://localhost/api/v1/sessions/bring";
/// How many frames may wait. A daemon that is further behind than that is done without: nobody here waits for it.
const WAITING: usize = 4096;
/// How long the last frames may take.
const LAST: Duration = Duration::from_secs(2);

/// The session, as the daemon is told of it.
#[derive(Debug)]
pub struct Twin {
    socket: PathBuf,
    bring: Bring,
    control: Control,
    stop: CancellationToken,
    tell: Option<mpsc::Sender<Message>>,
    task: JoinSet<()>,
}

impl Twin {
    /// Brings a session.
    pub fn new(config: &Config, bring: Bring, control: Control) -> Self {
        let socket = Place::new(&config.data).socket();
        let (stop, task) = (CancellationToken::new(), JoinSet::new());
        let mut twin = Self { socket, bring, control, stop, tell: None, task };
        twin.link();
        twin
    }

    fn link(&mut self) {
        self.task = JoinSet::new();
        self.tell = None;
        if !self.socket.exists() {
            return;
        }
        let (tell, told) = mpsc::channel(WAITING);
        let line =
            Line { control: self.control.clone(), stop: self.stop.clone(), obeyed: JoinSet::new() };
        self.task.spawn(line.carry(self.socket.clone(), self.bring.clone(), told));
        self.tell = Some(tell);
    }

    /// Tells the daemon of an event. One that has come meanwhile is found when the next turn begins.
    pub fn event(&mut self, event: &Event<'_>) {
        if let EventKind::SessionChanged(change) = &event.kind {
            self.bring.mode = change.mode.unwrap_or(self.bring.mode);
            let model = change.model.as_ref().map(ToString::to_string);
            self.bring.model = model.or(self.bring.model.take());
        }
        let linked = self.tell.as_ref().is_some_and(|tell| !tell.is_closed());
        if !linked && matches!(event.kind, EventKind::TurnStarted { .. }) {
            self.link();
        }
        let Some(tell) = &self.tell else { return };
        let said = to_raw_value(event).map(Said::Event);
        let Some(frame) = said.ok().as_ref().and_then(frame) else { return };
        if tell.try_send(frame).is_err() {
            // It is gone, or too far behind: its session ends, and begins again with the next turn.
            self.tell = None;
            self.task.abort_all();
        }
    }

    /// Comes back when somebody has told the session to end.
    pub async fn stopped(&self) {
        self.stop.cancelled().await;
    }

    /// The session is over: what was not told yet is told.
    pub async fn close(mut self) {
        drop(self.tell.take());
        let told = async { while self.task.join_next().await.is_some() {} };
        // A daemon that does not listen is not waited for.
        let _late = tokio::time::timeout(LAST, told).await;
    }
}

fn frame(said: &Said) -> Option<Message> {
    serde_json::to_string(said).ok().map(Message::text)
}

/// The way to the daemon, while it is there.
struct Line {
    control: Control,
    stop: CancellationToken,
    /// Orders on their way to the agent.
    obeyed: JoinSet<(u64, Result<(), Failure>)>,
}

impl Line {
    async fn carry(mut self, socket: PathBuf, bring: Bring, mut told: mpsc::Receiver<Message>) {
        let Ok(stream) = UnixStream::connect(socket).await else { return };
        let Ok((mut stream, _)) = tokio_tungstenite::client_async(ADDRESS, stream).await else {
            return;
        };
        let Ok(first) = serde_json::to_string(&bring) else { return };
        let mut sent = stream.send(Message::text(first)).await;
        while sent.is_ok() {
            sent = tokio::select! {
                message = told.recv() => match message {
                    Some(message) => stream.send(message).await,
                    None => break,
                },
                Some(Ok((order, outcome))) = self.obeyed.join_next() => {
                    let done = Said::Done { order, failure: outcome.err() };
                    match frame(&done) {
                        Some(frame) => stream.send(frame).await,
                        None => Ok(()),
                    }
                }
                heard = stream.next() => match heard {
                    Some(Ok(message)) => { self.heard(&message); Ok(()) }
                    Some(Err(_)) | None => return,
                },
            };
        }
        end(stream).await;
    }

    fn heard(&mut self, message: &Message) {
        let Message::Text(text) = message else { return };
        if let Ok(Told::Order { id, order }) = serde_json::from_str(text) {
            let (control, stop) = (self.control.clone(), self.stop.clone());
            self.obeyed.spawn(async move { (id, obey(&control, &stop, order).await) });
        }
    }
}

/// Says goodbye, and waits until all was heard.
async fn end(mut stream: WebSocketStream<UnixStream>) {
    if stream.close(None).await.is_ok() {
        while let Some(Ok(_)) = stream.next().await {}
    }
}
