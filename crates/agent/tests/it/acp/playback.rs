//! Every recorded conversation from the agent's side: a player says what the CLI said, the client says what the recorder
//! said as far as it would ever say it, and the events are those of the recording.

use super::outline;
use super::player::{Player, config, connect, pipe};
use crate::test_data::recordings;
use pollux_agent::acp::{Agent, Open, Prompt, Session, recorded};
use pollux_agent::gemini::acp::Quirks;
use pollux_agent::model::{Event, EventKind, Mode};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tokio::task::JoinSet;

/// What a recorder did that this client never does: an empty prompt, a prompt without parameters, a second prompt while
/// the first one runs, a line of garbage, a mode or a session that is not there, files offered and refused in odd ways.
const NEVER: [&str; 17] = [
    // A question is left unanswered, and the turn goes on: here that is a cancel of the turn.
    "permission_cancelled",
    "prompt_empty",
    "prompt_empty_first",
    "prompt_noparams",
    "double_prompt",
    "garbage_line",
    "set_mode",
    "set_model",
    "cancel_idle",
    "cancel_unknown",
    "load_missing",
    "fs_client",
    "fs_client_enoent",
    "content_blocks",
    "odd_calls",
    // Two at once are heard one after the other here; the real CLI is tried with two in `pollux-e2e`.
    "two_sessions",
    "_initialize",
];

/// One line of a recording.
struct Line {
    out: bool,
    message: Value,
}

fn lines(path: &Path) -> Vec<Line> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let messages = lines.filter(|line| line["dir"] != "meta" && line.get("msg").is_some());
    messages.map(|line| Line { out: line["dir"] == "out", message: line["msg"].clone() }).collect()
}

#[tokio::test]
async fn every_recorded_conversation_can_be_had_again() {
    let (mut played, mut wrong) = (0, Vec::new());
    for version in ["0.34.0", "0.47.0", "0.61.0"] {
        let files = fs::read_dir(recordings().join(version).join("acp")).unwrap();
        for file in files {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let recording = lines(&path);
            if NEVER.contains(&name.as_str()) || !begins(&recording) {
                continue;
            }
            played += 1;
            let (events, whole) = play(&recording).await;
            let text = fs::read_to_string(&path).unwrap();
            let expected = recorded(&text, Arc::new(Quirks::default()));
            let (had, wanted) = (told(&events), told(&expected));
            let alike = if whole { had == wanted } else { wanted.starts_with(&had) };
            if !alike {
                wrong.push(format!("{version} {name}:\n{had}\n\ninstead of\n\n{wanted}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(played > 100, "only {played} conversations were played");
}

/// Some recordings are the middle of a process that served many scenarios.
fn begins(recording: &[Line]) -> bool {
    let ours = |line: &Line| {
        let method = line.message["method"].as_str();
        !line.out || method.is_none_or(|method| SAID.contains(&method))
    };
    recording.first().is_some_and(|line| line.message["method"] == "initialize")
        && recording.iter().all(ours)
}

/// All that this client says. The recorder also tried methods that no version has.
const SAID: [&str; 8] = [
    "initialize",
    "initialized",
    "authenticate",
    "session/new",
    "session/load",
    "session/prompt",
    "session/cancel",
    "session/set_mode",
];

/// What both ways of reading tell alike: not how long it took, nor how the session stands for whoever holds it.
fn told(events: &[Event<'_>]) -> String {
    let told = events.iter().filter(|event| !is_own(event)).cloned().map(|mut event| {
        event.derived = None;
        if let EventKind::SessionChanged(change) = &mut event.kind {
            change.status = None;
        }
        if let EventKind::TurnEnded { duration_ms, error, .. } = &mut event.kind {
            *duration_ms = None;
            if let Some(error) = error {
                error.stderr = Box::default();
            }
        }
        event
    });
    outline(&told.collect::<Vec<_>>())
}

fn is_own(event: &Event<'_>) -> bool {
    match &event.kind {
        EventKind::SessionChanged(change) => {
            change.mode.is_none() && change.model.is_none() && change.title.is_none()
        }
        EventKind::SessionStarted { .. }
        | EventKind::Unread { .. }
        | EventKind::SessionEnded { .. } => true,
        // A session that cannot be opened is an error of whoever opens it, and no event.
        EventKind::Notice { .. } => true,
        _ => false,
    }
}

/// What the client was made to do, and what it told.
struct Client {
    agent: Option<Agent>,
    sessions: HashMap<String, Session>,
    events: Vec<Event<'static>>,
}

/// The events of a conversation that is had again; false where the recorder went on with a session that had not been
/// opened, which cannot be done here.
async fn play(recording: &[Line]) -> (Vec<Event<'static>>, bool) {
    let (player, ours) = pipe();
    let script = as_we_do(recording);
    let mut task = JoinSet::new();
    task.spawn(speak(player, script.clone()));
    let mut client = Client { agent: None, sessions: HashMap::new(), events: Vec::new() };
    let mut ours = Some(ours);
    for (at, (out, message)) in script.iter().enumerate() {
        let id = message["params"]["sessionId"].as_str();
        let of_session = ["session/prompt", "session/cancel", "session/set_mode"];
        let of_session = message["method"].as_str().is_some_and(|it| of_session.contains(&it));
        if *out && of_session && id.is_none_or(|id| !client.sessions.contains_key(id)) {
            task.abort_all();
            went_well(task).await;
            return (client.events, false);
        }
        if *out {
            client.does(message, &script[..at], &script[at + 1..], &mut ours).await;
        }
    }
    client.agent.unwrap().close().await;
    went_well(task).await;
    // Of a session that had no prompt nothing was heard yet.
    if client.events.is_empty() {
        for (_, mut session) in client.sessions {
            while let Some(event) = session.next().await {
                client.events.push(event);
            }
        }
    }
    (client.events, true)
}

/// Fails where the played agent was told something else than the CLI was.
async fn went_well(mut task: JoinSet<()>) {
    while let Some(done) = task.join_next().await {
        if let Err(error) = done
            && error.is_panic()
        {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}

/// The script as this client does it: open questions are answered before a cancel, and where nothing is to be cancelled
/// nothing is said.
fn as_we_do(recording: &[Line]) -> Vec<(bool, Value)> {
    let mut script: Vec<(bool, Value)> = Vec::new();
    let mut prompts = Vec::new();
    for line in recording {
        let message = &line.message;
        match (line.out, message["method"].as_str()) {
            (true, Some("session/prompt")) => prompts.push(message["id"].clone()),
            (true, Some("session/cancel")) if prompts.is_empty() => continue,
            (false, None) => prompts.retain(|id| *id != message["id"]),
            _ => {}
        }
        let cancelled = message["result"]["outcome"]["outcome"] == "cancelled";
        let cancel = script.iter().rposition(|(out, m)| *out && m["method"] == "session/cancel");
        match cancel.filter(|_| line.out && cancelled) {
            Some(at) => script.insert(at, (true, message.clone())),
            None => script.push((line.out, message.clone())),
        }
    }
    script
}

/// The agent's side: waits for each thing that the recorder said, and says what the CLI said then.
async fn speak(mut player: Player, script: Vec<(bool, Value)>) {
    let mut ids: HashMap<String, Value> = HashMap::new();
    for (out, message) in script {
        if out {
            let heard = loop {
                let Some(heard) = player.hears().await else { return };
                if heard["method"] != "initialized" {
                    break heard;
                }
            };
            assert_eq!(meant(&heard), meant(&message), "{heard} instead of {message}");
            if message.get("method").is_some() {
                ids.insert(message["id"].to_string(), heard["id"].clone());
            }
        } else {
            let mut line = message.clone();
            if message.get("method").is_none() {
                line["id"] = ids.get(&message["id"].to_string()).cloned().unwrap_or_default();
            }
            // The client goes when it has heard enough.
            if !player.writes(format!("{line}\n").as_bytes()).await {
                return;
            }
        }
    }
}

/// What the CLI makes of what it is told.
fn meant(message: &Value) -> (&Value, &Value, &Value, String) {
    let params = &message["params"];
    let (mode, answer) = (&params["modeId"], &message["result"]["outcome"]);
    (&message["method"], mode, answer, words(params))
}

/// The words of a prompt.
fn words(params: &Value) -> String {
    let blocks = params["prompt"].as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

impl Client {
    /// Does what the recorder did.
    async fn does(
        &mut self,
        message: &Value,
        before: &[(bool, Value)],
        after: &[(bool, Value)],
        ours: &mut Option<tokio::io::DuplexStream>,
    ) {
        let params = &message["params"];
        let id = params["sessionId"].as_str().unwrap_or_default().to_owned();
        match message["method"].as_str() {
            Some("initialize") => {
                self.agent = connect(config(), ours.take().unwrap()).await.ok();
            }
            Some("authenticate") => {
                let method = params["methodId"].as_str().unwrap();
                drop(self.agent.as_ref().unwrap().authenticate(method, None).await);
            }
            Some("session/new" | "session/load") => {
                let mut open = Open::new("/");
                open.load = (!id.is_empty()).then_some(id);
                if let Ok(session) = self.agent.as_ref().unwrap().open(open).await {
                    self.sessions.insert(session.opened().session_id.clone(), session);
                }
            }
            Some("session/prompt") => {
                let session = self.sessions.get_mut(&id).unwrap();
                let prompted = session.control().prompt(Prompt::text(words(params))).await;
                prompted.unwrap_or_else(|error| panic!("{message}: {error}"));
                self.listen(&id, message, after).await;
            }
            Some("session/set_mode") => {
                let mode = Mode::named(params["modeId"].as_str().unwrap()).unwrap();
                self.sessions[&id].control().set_mode(mode).await.unwrap();
            }
            Some("session/cancel") => {
                self.sessions[&id].control().cancel().await.unwrap();
                let prompt = before.iter().rev().find(|(_, m)| m["method"] == "session/prompt");
                self.listen(&id, &prompt.unwrap().1, after).await;
            }
            // The client says it by itself.
            Some("initialized") => {}
            Some(other) => panic!("the recorder said {other}"),
            None => self.answers(message, before, after).await,
        }
    }

    /// Answers a question as the recorder did.
    async fn answers(
        &mut self,
        message: &Value,
        before: &[(bool, Value)],
        after: &[(bool, Value)],
    ) {
        let asked =
            before.iter().filter(|(out, m)| !out && m["method"] == "session/request_permission");
        let asked: Vec<&Value> = asked.map(|(_, m)| m).collect();
        let Some(request) = asked.iter().rev().find(|m| m["id"] == message["id"]) else {
            panic!("nobody asked for {message}");
        };
        let id = request["params"]["sessionId"].as_str().unwrap().to_owned();
        let of = asked.iter().filter(|m| m["params"]["sessionId"] == id.as_str());
        let number = of.take_while(|m| m["id"] != message["id"]).count() + 1;
        let control = self.sessions[&id].control();
        match message["result"]["outcome"]["optionId"].as_str() {
            Some(option) => control.answer(format!("q{number}"), option, None).await.unwrap(),
            // A cancel answers them all.
            None => return,
        }
        let prompt = before.iter().rev().find(|(out, m)| *out && m["method"] == "session/prompt");
        self.listen(&id, &prompt.unwrap().1, after).await;
    }

    /// Hears what the session tells until the recorder did the next thing: an answer, a cancel, or nothing more.
    async fn listen(&mut self, id: &str, prompt: &Value, after: &[(bool, Value)]) {
        let next = after.iter().position(|(out, _)| *out).unwrap_or(after.len());
        let until = &after[..next];
        let ends = until.iter().any(|(_, m)| m["id"] == prompt["id"] && m.get("method").is_none());
        let asks =
            until.iter().filter(|(_, m)| m["method"] == "session/request_permission").count();
        let grew = ["agent_message_chunk", "agent_thought_chunk"];
        let kind = |m: &Value| m["params"]["update"]["sessionUpdate"].as_str().map(str::to_owned);
        let grows = |m: &Value| kind(m).is_some_and(|kind| grew.contains(&kind.as_str()));
        let updates = until.iter().filter(|(_, m)| grows(m)).count();
        let session = self.sessions.get_mut(id).unwrap();
        let (mut asked, mut heard) = (0, 0);
        while ends || asked < asks || (asks == 0 && heard < updates) {
            let Some(event) = session.next().await else { return };
            asked += usize::from(matches!(event.kind, EventKind::Asked(_)));
            heard += usize::from(matches!(event.kind, EventKind::TextGrew { .. }));
            let ended = matches!(event.kind, EventKind::TurnEnded { .. });
            self.events.push(event);
            if ended {
                return;
            }
        }
    }
}
