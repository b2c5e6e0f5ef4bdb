//! A session that the daemon drives, joined by an editor: its history, then its events as they come. It goes on when the
//! editor leaves.

use super::steer::Steer;
use crate::api::{LivePart, Messages, Models, Numbered, Recorded, Summary};
use crate::client::{Client, escaped, follow};
use anyhow::Context;
use pollux_agent::acp::{Named, Opened, relay};
use pollux_agent::model::{
    Event, EventKind, Failure, Message, Mode, Outcome, Phase, Question, SessionStatus, StopReason,
    Usage,
};
use serde::Deserialize;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// How many events may wait. Events are sent immediately, so a longer queue means that the editor has stopped reading.
const WAITING: usize = 4096;

/// A session that the daemon drives.
#[derive(Debug)]
pub(super) struct Joined {
    client: Client,
    id: String,
    opened: Opened,
    events: mpsc::Receiver<Numbered>,
    /// Open questions of before.
    pub(super) asked: Vec<Question<'static>>,
    /// True where it works on a prompt that is not ours.
    pub(super) works: bool,
    /// What was said before, as updates.
    pub(super) history: Vec<Value>,
    /// The messages of this turn that cost something.
    usage: Vec<(String, Usage)>,
    ended: Option<StopReason>,
    /// How far it was heard.
    place: Place,
    _follows: JoinSet<()>,
}

/// How far a session was heard: the number of the last event, and its epoch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    seq: u64,
    epoch: u64,
}

/// The first frame, as far as it is of use here.
#[derive(Deserialize)]
struct Snapshot {
    seq: u64,
    epoch: u64,
    session: Summary,
    messages: Vec<Recorded>,
    before: Option<u64>,
    live: crate::api::Live,
}

#[derive(Deserialize)]
struct Events {
    events: Vec<Numbered>,
}

impl Joined {
    /// Joins a session. The editor calls it `name`, and has heard it to `heard`, if it has.
    pub(super) async fn open(
        client: Client,
        id: &str,
        name: &str,
        heard: Option<Place>,
    ) -> anyhow::Result<Self> {
        let (tell, mut frames) = mpsc::channel::<Value>(WAITING);
        let (own, session) = (client.clone(), id.to_owned());
        let mut follows = JoinSet::new();
        follows.spawn(async move {
            let see = |frame: &Value| Ok(tell.try_send(frame.clone()).is_ok());
            // When the daemon is gone, so is the session for us, until a prompt joins it again.
            let _ended = follow(&own, &session, None, see).await;
        });
        let first = frames.recv().await.with_context(|| client.gone())?;
        let snapshot = Snapshot::deserialize(first)?;
        let place = Place { seq: snapshot.seq, epoch: snapshot.epoch };
        let history = history(&client, id, &snapshot, heard).await?;
        let session = snapshot.session;
        let (tell, events) = mpsc::channel(WAITING);
        follows.spawn(unpack(frames, tell));
        let read = |open: &crate::api::OpenQuestion| serde_json::from_str(open.question.get()).ok();
        let asked = session.questions.iter().filter(|open| open.sent.is_none());
        let works = matches!(session.status, SessionStatus::Working | SessionStatus::Waiting);
        Ok(Self {
            asked: asked.filter_map(read).collect(),
            opened: opened(&client, &session, name).await?,
            id: session.id,
            client,
            events,
            works,
            history,
            usage: Vec::new(),
            ended: None,
            place,
            _follows: follows,
        })
    }

    /// How far it was heard.
    pub(super) fn place(&self) -> Place {
        self.place
    }

    pub(super) fn opened(&self) -> &Opened {
        &self.opened
    }

    pub(super) fn steer(&self) -> Steer {
        Steer::Joined(self.client.clone(), self.id.clone())
    }

    /// The next event; none when the daemon is gone. What frames cut short is fetched.
    pub(super) async fn next(&mut self) -> Option<Event<'static>> {
        loop {
            let numbered = self.events.recv().await?;
            self.place = Place { seq: numbered.seq, epoch: numbered.epoch };
            let whole = if numbered.cut.is_empty() {
                None
            } else {
                self.client.event(&self.id, numbered.seq).await.ok()
            };
            let json = whole.as_deref().unwrap_or(numbered.event.get());
            // A kind that a newer daemon knows is passed over.
            let Ok(event) = Event::from_json(json) else { continue };
            self.count(&event);
            return Some(event);
        }
    }

    fn count(&mut self, event: &Event<'_>) {
        match &event.kind {
            EventKind::TurnStarted { .. } => self.usage.clear(),
            EventKind::TurnEnded { stop_reason, .. } => self.ended = Some(*stop_reason),
            EventKind::MessageRecorded { message, .. } => {
                let Some(usage) = message.usage else { return };
                let id = message.id.to_string();
                self.usage.retain(|(known, _)| *known != id);
                self.usage.push((id, usage));
            }
            _ => {}
        }
    }

    /// What came of the last turn.
    pub(super) fn outcome(&mut self) -> Option<Outcome> {
        let stop_reason = self.ended.take()?;
        let mut usage = Usage::default();
        self.usage.iter().for_each(|(_, of)| usage += *of);
        Some(Outcome { usage, stop_reason: Some(stop_reason), ..Outcome::default() })
    }
}

/// The events of frames, one by one.
async fn unpack(mut frames: mpsc::Receiver<Value>, tell: mpsc::Sender<Numbered>) {
    while let Some(frame) = frames.recv().await {
        let Ok(Events { events }) = Events::deserialize(frame) else { continue };
        for event in events {
            if tell.send(event).await.is_err() {
                return;
            }
        }
    }
}

/// The daemon that drives a session is not there.
pub(super) fn gone() -> Failure {
    Failure::new(Phase::Request, "daemon_gone", "the daemon that runs this session has stopped")
        .hint("start it with `pollux serve --detach`; the next prompt joins the session again")
        .retryable()
}

/// The daemon is there and does not drive the session.
pub(super) fn left() -> Failure {
    let message = "the agent of this session has ended";
    Failure::new(Phase::Request, "agent_gone", message)
        .hint("load the session to resume it with a new agent")
}

/// What was said before, whole; where the editor has heard a part of it, the messages that came after that.
async fn history(
    client: &Client,
    id: &str,
    snapshot: &Snapshot,
    heard: Option<Place>,
) -> anyhow::Result<Vec<Value>> {
    let Some(heard) = heard else {
        let mut history = past(client, id, snapshot, 0).await?;
        history.extend(snapshot.live.parts.iter().map(part));
        return Ok(history);
    };
    // A history that was rewritten meanwhile is not told twice.
    if heard.epoch == snapshot.epoch {
        past(client, id, snapshot, heard.seq).await
    } else {
        Ok(Vec::new())
    }
}

/// The messages that were recorded after an event.
async fn past(
    client: &Client,
    id: &str,
    snapshot: &Snapshot,
    after: u64,
) -> anyhow::Result<Vec<Value>> {
    let (mut pages, mut before) = (vec![snapshot.messages.clone()], snapshot.before);
    let is_new = |recorded: &Recorded| recorded.seq > after;
    while let Some(place) = before.filter(|_| pages.last().is_some_and(|it| it.iter().all(is_new)))
    {
        let path = format!("/api/v1/sessions/{}/messages?limit=500&before={place}", escaped(id));
        let page: Messages = client.get(&path).await?;
        before = page.before;
        pages.push(page.messages);
    }
    let mut all = Vec::new();
    for recorded in pages.into_iter().rev().flatten().filter(is_new) {
        let message = if recorded.cut.is_empty() {
            Message::from_json(recorded.message.get())
        } else {
            message(&client.event(id, recorded.seq).await?)
        };
        all.extend(message);
    }
    Ok(relay::history(&all))
}

fn message(event: &str) -> serde_json::Result<Message<'static>> {
    #[derive(Deserialize)]
    struct With {
        message: Message<'static>,
    }
    serde_json::from_str(event).map(|With { message }| message)
}

/// What has not become a message yet.
fn part(part: &LivePart) -> Value {
    let chunk = |kind: &str, text: &str| json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } });
    match part {
        LivePart::Prompt { text } => chunk("user_message_chunk", text),
        LivePart::Text { text } => chunk("agent_message_chunk", text),
        LivePart::Thinking { text } => chunk("agent_thought_chunk", text),
        LivePart::Tool { id, name, input, status, .. } => json!({
            "sessionUpdate": "tool_call",
            "toolCallId": id,
            "title": name,
            "kind": "other",
            "status": match status.as_deref() {
                Some("success") => "completed",
                Some(_) => "failed",
                None => "in_progress",
            },
            "rawInput": input,
        }),
    }
}

/// What a session offers, in the protocol's words.
async fn opened(client: &Client, session: &Summary, name: &str) -> anyhow::Result<Opened> {
    let models: Models = client.get("/api/v1/models").await?;
    let models: Vec<Named> =
        models.models.into_iter().map(|model| Named { id: model.id, name: model.label }).collect();
    let all = [Mode::Default, Mode::AutoEdit, Mode::Yolo, Mode::Plan];
    let mode = |mode: Mode| json!({ "id": mode.upstream(), "name": mode.upstream() });
    let original = json!({ "modes": {
        "currentModeId": session.mode.upstream(),
        "availableModes": all.map(mode),
    } });
    let named = |mode: Mode| Named { id: mode.upstream().into(), name: mode.upstream().into() };
    Ok(Opened {
        session_id: name.to_owned(),
        modes: all.map(named).into(),
        mode: Some(session.mode.upstream().to_owned()),
        models,
        model: session.model.clone(),
        original: to_raw_value(&original)?,
    })
}
