//! A session whose agent lives in another process of the user's (`pollux claude`, `pollux acp`), which brings it here: it is
//! seen and steered like all others, and ends with that process.

use super::agent::{Agent, Events, Orders, Wanted};
use super::{Hub, Slot};
use crate::api::{Bring, Driver, Said, Summary, Told};
use crate::daemon::guard::lock;
use crate::daemon::log::trust;
use crate::trouble::Trouble;
use axum::extract::ws::{Message, WebSocket};
use futures::StreamExt;
use futures::future::BoxFuture;
use pollux_agent::model::{Event, EventKind, Failure, Phase, SessionStatus, Source};
use pollux_agent::session::Order;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// How many events may wait for the session's task, and how many orders for the process. When there are more, they wait.
const WAITING: usize = 256;
/// How long the process may take to say what it brings.
const FIRST: Duration = Duration::from_secs(10);

/// An agent that is there already, until the session's task takes it.
#[derive(Debug, Clone)]
pub struct Brought {
    agent: Arc<Mutex<Option<Agent>>>,
    /// Who drives it.
    pub by: String,
    /// False where prompts come from there only.
    pub prompts: bool,
}

impl Brought {
    /// The agent. It is there once.
    pub fn take(&self) -> Result<Agent, Failure> {
        let taken = lock(&self.agent).take();
        taken.ok_or_else(|| {
            Failure::new(
                Phase::Start,
                "agent_gone",
                "the program that drives this session has exited",
            )
        })
    }
}

struct Hears(mpsc::Receiver<Event<'static>>);

impl Events for Hears {
    fn next(&mut self) -> BoxFuture<'_, Option<Event<'static>>> {
        Box::pin(self.0.recv())
    }
}

/// An order with where its outcome is awaited.
type Sent = (Order, oneshot::Sender<Result<(), Failure>>);

struct Steers(mpsc::Sender<Sent>);

impl Orders for Steers {
    fn order(&self, order: Order) -> BoxFuture<'static, Result<(), Failure>> {
        let to = self.0.clone();
        Box::pin(async move {
            let gone = || {
                Failure::new(
                    Phase::Request,
                    "agent_gone",
                    "the program that drives this session has exited",
                )
            };
            let (reply, outcome) = oneshot::channel();
            to.send((order, reply)).await.map_err(|_closed| gone())?;
            outcome.await.map_err(|_closed| gone())?
        })
    }
}

impl Hub {
    /// Takes in a session whose agent lives elsewhere.
    async fn bring(&self, bring: Bring, agent: Agent) -> anyhow::Result<Arc<Summary>> {
        let is = |slot: &Slot| {
            let summary = slot.feed.summary();
            summary.id == bring.agent_id || summary.agent_id.as_ref() == Some(&bring.agent_id)
        };
        let known = self.slots().iter().find(|(_, slot)| is(slot)).map(|(id, slot)| {
            let summary = slot.feed.summary();
            let driven = slot.task.is_some() && summary.driver.is_some();
            (id.clone(), driven && summary.status != SessionStatus::Exited)
        });
        let id = match &known {
            Some((id, true)) => {
                let trouble = Trouble::refused("still_there", "this session is already running");
                return Err(trouble.hint(format!("stop it first: `pollux stop {id}`")).into());
            }
            Some((id, false)) => id.clone(),
            None => uuid::Uuid::new_v4().to_string(),
        };
        // Where it really is: devices may start agents there.
        if let Some(cwd) = bring.cwd.canonicalize().ok().filter(|_| bring.cwd.is_absolute()) {
            self.log().write(move |connection| trust(connection, &cwd)).await?;
        }
        let file = if known.is_some() { self.file_of(bring.agent_id.clone()).await } else { None };
        let wanted = Wanted {
            id: id.clone(),
            driver: Driver::Acp,
            cwd: bring.cwd,
            mode: bring.mode,
            model: bring.model,
            agent_id: Some(bring.agent_id),
            file,
            found: None,
            place: Arc::default(),
            given: None,
            brought: Some(Brought {
                agent: Arc::new(Mutex::new(Some(agent))),
                by: bring.by,
                prompts: bring.prompts,
            }),
        };
        if known.is_some() {
            self.reopen(&id, wanted).await?;
        } else {
            let summary = self.summary(&wanted);
            self.add(wanted, summary, None).await?;
        }
        Ok(self.feed(&id)?.1.summary())
    }

    /// The file of a session, by the agent's own id.
    async fn file_of(&self, id: String) -> Option<PathBuf> {
        let (agents, index) = (self.inner.agents.clone(), self.inner.settings.index.clone());
        let file = move || agents.file_of(&id, None, index.as_deref());
        tokio::task::spawn_blocking(file).await.ok().flatten()
    }
}

/// Talks to a process that brings a session, until either is gone.
pub async fn talk(hub: Hub, mut socket: WebSocket, stop: CancellationToken) {
    let Ok(Some(bring)) = tokio::time::timeout(FIRST, first(&mut socket)).await else { return };
    let (tell, heard) = mpsc::channel(WAITING);
    let (send, mut orders) = mpsc::channel::<Sent>(WAITING);
    let (events, orders_to) = (Box::new(Hears(heard)), Arc::new(Steers(send)));
    let agent = Agent { events, orders: orders_to, ready: true };
    let told = match hub.bring(bring, agent).await {
        Ok(summary) => Told::Session(summary.id.clone()),
        Err(error) => Told::Refused(format!("{error:#}")),
    };
    let refused = matches!(told, Told::Refused(_));
    if say(&mut socket, &told).await.is_err() || refused {
        return;
    }
    let (mut number, mut sent) = (0, HashMap::new());
    loop {
        tokio::select! {
            frame = socket.next() => match frame {
                Some(Ok(Message::Text(text))) => match serde_json::from_str(&text) {
                    Ok(Said::Event(event)) => {
                        if tell.send(read(event.get())).await.is_err() {
                            return;
                        }
                    }
                    Ok(Said::Done { order, failure }) => answered(&mut sent, order, failure),
                    Err(error) => tracing::warn!("ignored an invalid frame: {error}"),
                },
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
            Some((order, reply)) = orders.recv() => {
                number += 1;
                sent.insert(number, reply);
                if say(&mut socket, &Told::Order { id: number, order }).await.is_err() {
                    return;
                }
            }
            () = stop.cancelled() => return,
        }
    }
}

/// An event. One that cannot be read is told as what it is.
fn read(json: &str) -> Event<'static> {
    Event::from_json(json).unwrap_or_else(|error| {
        let kind = EventKind::Unread { line: None, reason: error.to_string(), text: json.into() };
        Event::new(Source::Pollux, kind)
    })
}

fn answered(
    sent: &mut HashMap<u64, oneshot::Sender<Result<(), Failure>>>,
    order: u64,
    failure: Option<Failure>,
) {
    if let Some(reply) = sent.remove(&order) {
        // The session's task may have ended meanwhile.
        let _told = reply.send(failure.map_or(Ok(()), Err));
    }
}

async fn first(socket: &mut WebSocket) -> Option<Bring> {
    match socket.next().await? {
        Ok(Message::Text(text)) => serde_json::from_str(&text).ok(),
        _ => None,
    }
}

async fn say(socket: &mut WebSocket, told: &Told) -> anyhow::Result<()> {
    Ok(socket.send(Message::text(serde_json::to_string(told)?)).await?)
}
