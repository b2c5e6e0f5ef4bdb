//! A recorded conversation with an agent, as events. Pure: the lines of the recording in, events out.
//!
//! A recording has one object on each line: `{"dir":"out"|"in"|"meta","t":seconds,"msg":{…}}`, `raw` instead of `msg`
//! where a line was no JSON.

use super::about::{About, Opened};
use super::config::Step;
use super::dialect::Dialect;
use super::stop::{End, why};
use super::translate::Translator;
use super::wire::{Frame, Json, Params, RpcError, object, text};
use super::wrong;
use crate::loose::{List, loose_object};
use crate::model::{
    Answer, Effect, Event, EventKind, Level, Mode, Question, SessionChange, Source, StopReason,
    Text,
};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::Arc;

loose_object! {
    /// One line of a recording.
    Line {
        "dir" => dir: Json<'a>,
        "msg" => msg: Json<'a>,
        "raw" => raw: Json<'a>,
    }
}

loose_object! {
    /// What a client sends with a request or an answer.
    Sent {
        "sessionId" => session_id: Json<'a>,
        "prompt" => prompt: List<Block<'a>>,
        "modeId" => mode: Json<'a>,
        "modelId" => model: Json<'a>,
        "outcome" => outcome: Option<Outcome<'a>>,
    }
}

loose_object! {
    /// A block of a prompt.
    Block {
        "text" => text: Json<'a>,
    }
}

loose_object! {
    /// What was answered to a permission request.
    Outcome {
        "outcome" => kind: Json<'a>,
        "optionId" => option: Json<'a>,
    }
}

/// The events of a recorded conversation.
///
/// ```
/// use pollux_agent::acp::{Plain, recorded};
/// use std::sync::Arc;
///
/// let lines = r#"{"dir":"out","t":0,"msg":{"id":2,"method":"session/new","params":{}}}
/// {"dir":"in","t":0,"msg":{"id":2,"result":{"sessionId":"s"}}}
/// {"dir":"in","t":1,"raw":"Loaded cached credentials."}"#;
/// let events = recorded(lines, Arc::new(Plain));
/// let types: Vec<_> = events.iter().map(|e| serde_json::to_value(e).unwrap()["type"].clone()).collect();
/// assert_eq!(types, ["session_started", "session_changed", "unread"]);
/// ```
pub fn recorded(lines: &str, dialect: Arc<dyn Dialect>) -> Vec<Event<'static>> {
    let mut player = Player::new(dialect);
    for line in lines.split('\n').filter(|line| !line.trim().is_empty()) {
        player.line(line);
    }
    player.events
}

/// What a request of the client was for.
enum Asked {
    Hello,
    New,
    Load(String),
    Prompt(String),
    Mode(String, Option<Mode>),
    Model(String),
    Other,
}

struct Session {
    translator: Translator,
    questions: u64,
    replays: bool,
    cancelled: bool,
    mode: Option<Mode>,
}

struct Player {
    dialect: Arc<dyn Dialect>,
    events: Vec<Event<'static>>,
    asked: HashMap<String, Asked>,
    sessions: HashMap<String, Session>,
    /// Open questions, by the id of the agent's request.
    questions: HashMap<String, (String, Question<'static>)>,
    about: Option<About>,
}

impl Player {
    fn new(dialect: Arc<dyn Dialect>) -> Self {
        Self {
            dialect,
            events: Vec::new(),
            asked: HashMap::new(),
            sessions: HashMap::new(),
            questions: HashMap::new(),
            about: None,
        }
    }

    fn say(&mut self, source: Source, kind: EventKind<'static>) {
        self.events.push(Event::new(source, kind));
    }

    fn line(&mut self, line: &str) {
        let read: Line<'_> = serde_json::from_str(line).unwrap_or_default();
        let message = read.msg.map(RawValue::get);
        match (text(read.dir).as_deref(), message) {
            (Some("out"), Some(message)) => self.sent(message),
            (Some("in"), Some(message)) => self.received(message),
            (Some("in"), None) => {
                let text = text(read.raw).unwrap_or_default().into_owned();
                let reason = "the line is not JSON".to_owned();
                self.say(Source::Acp, EventKind::Unread { line: None, reason, text });
            }
            (Some("out" | "meta"), _) => {}
            _ => {
                let reason = "the line is not part of a recording".to_owned();
                let text = line.to_owned();
                self.say(Source::Pollux, EventKind::Unread { line: None, reason, text });
            }
        }
    }

    fn session(&mut self, id: &str) -> &mut Session {
        let dialect = Arc::clone(&self.dialect);
        self.sessions.entry(id.to_owned()).or_insert_with(|| Session {
            translator: Translator::new(dialect),
            questions: 0,
            replays: false,
            cancelled: false,
            mode: None,
        })
    }

    fn sent(&mut self, message: &str) {
        match Frame::read(message) {
            Ok(Frame::Request { id, method, params }) => {
                let sent: Sent<'_> = object(params);
                let session = text(sent.session_id).unwrap_or_default().into_owned();
                let asked = match method.as_ref() {
                    "initialize" => Asked::Hello,
                    "session/new" => Asked::New,
                    "session/load" => {
                        self.session(&session).replays = self.dialect.has_own_history();
                        Asked::Load(session)
                    }
                    "session/prompt" => {
                        self.prompted(&session, &sent);
                        Asked::Prompt(session)
                    }
                    "session/set_mode" => {
                        Asked::Mode(session, text(sent.mode).as_deref().and_then(Mode::named))
                    }
                    "session/set_model" => {
                        Asked::Model(text(sent.model).unwrap_or_default().into_owned())
                    }
                    _ => Asked::Other,
                };
                self.asked.insert(id.get().to_owned(), asked);
            }
            Ok(Frame::Response { id, outcome }) => self.answered(id, outcome),
            Ok(Frame::Notification { method, params }) if method == "session/cancel" => {
                let sent: Sent<'_> = object(params);
                let session = text(sent.session_id).unwrap_or_default();
                self.session(&session).cancelled = true;
            }
            _ => {}
        }
    }

    fn prompted(&mut self, id: &str, sent: &Sent<'_>) {
        let words: Vec<_> = sent.prompt.items.iter().filter_map(|block| text(block.text)).collect();
        let session = self.session(id);
        session.replays = false;
        session.cancelled = false;
        session.translator.begin();
        let prompt = Text::from(words.join("\n"));
        self.say(Source::Pollux, EventKind::TurnStarted { prompt });
    }

    /// The client answered a question.
    fn answered(&mut self, id: &RawValue, outcome: Result<Json<'_>, RpcError<'_>>) {
        let Some((session, question)) = self.questions.remove(id.get()) else { return };
        let sent: Sent<'_> = object(outcome.ok().flatten());
        let outcome = sent.outcome.unwrap_or_default();
        let choice =
            text(outcome.option).filter(|_| text(outcome.kind).as_deref() == Some("selected"));
        let effect = choice.as_deref().and_then(|choice| {
            question.options.iter().find(|option| option.id == *choice).map(|option| option.effect)
        });
        let answer = match choice {
            Some(choice) => {
                Answer::Chosen { choice: Text::from(choice.into_owned()), reason: None }
            }
            None => Answer::Cancelled,
        };
        let kind = EventKind::Answered { question_id: question.id.clone(), answer };
        self.say(Source::Pollux, kind);
        let turned_down = matches!(effect, None | Some(Effect::RejectOnce | Effect::RejectAlways));
        let tool = question.tool_id.as_ref().map(ToString::to_string).filter(|_| turned_down);
        if let Some(tool) = tool {
            let ended = self.session(&session).translator.rejected(&tool);
            self.events.extend(ended);
        }
    }

    fn received(&mut self, message: &str) {
        match Frame::read(message) {
            Ok(Frame::Notification { method, params }) if method == "session/update" => {
                self.update(params, message);
            }
            Ok(Frame::Request { id, method, params }) if method == "session/request_permission" => {
                self.permission(id, params);
            }
            Ok(Frame::Request { .. }) => {}
            Ok(Frame::Response { id, outcome }) => self.response(id, outcome, message),
            Ok(Frame::Notification { method, .. }) => {
                self.unread(format!("unknown notification `{method}`"), message);
            }
            Err(reason) => self.unread(reason.to_owned(), message),
        }
    }

    fn unread(&mut self, reason: String, message: &str) {
        let text = message.to_owned();
        self.say(Source::Acp, EventKind::Unread { line: None, reason, text });
    }

    fn update(&mut self, params: Json<'_>, message: &str) {
        let params: Params<'_> = object(params);
        let (Some(id), Some(update)) = (text(params.session_id), params.update) else {
            return self.unread("an update without a session id".to_owned(), message);
        };
        let session = self.session(&id);
        if session.replays {
            return;
        }
        let mut events = Vec::new();
        session.translator.update(update, &mut events);
        for event in &events {
            if let EventKind::SessionChanged(SessionChange { mode: Some(mode), .. }) = event.kind {
                session.mode = Some(mode);
            }
        }
        self.events.extend(events.into_iter().map(Event::into_owned));
    }

    fn permission(&mut self, id: &RawValue, params: Json<'_>) {
        let read: Params<'_> = object(params);
        let of = text(read.session_id).unwrap_or_default().into_owned();
        let session = self.session(&of);
        session.questions += 1;
        let mut events = Vec::new();
        let name = format!("q{}", session.questions);
        let question = session.translator.asked(name, params, &mut events);
        self.events.extend(events.into_iter().map(Event::into_owned));
        self.say(Source::Acp, EventKind::Asked(Box::new(question.clone())));
        self.questions.insert(id.get().to_owned(), (of, question));
    }

    fn response(&mut self, id: &RawValue, outcome: Result<Json<'_>, RpcError<'_>>, message: &str) {
        let Some(asked) = self.asked.remove(id.get()) else {
            return self.unread("a response without a matching request".to_owned(), message);
        };
        match (asked, outcome) {
            (Asked::Hello, Ok(json)) => self.about = Some(About::read(json, None)),
            (Asked::New, Ok(json)) => self.opened(json, None),
            (Asked::Load(id), Ok(json)) => self.opened(json, Some(&id)),
            (Asked::Prompt(id), outcome) => self.ended(&id, outcome),
            (Asked::Mode(id, Some(mode)), Ok(_)) => {
                // The agent has told already where it can.
                if self.session(&id).mode.replace(mode) != Some(mode) {
                    let change = SessionChange { mode: Some(mode), ..SessionChange::default() };
                    self.say(Source::Acp, EventKind::SessionChanged(change));
                }
            }
            (Asked::Model(model), Ok(_)) => {
                let change =
                    SessionChange { model: Some(Text::from(model)), ..SessionChange::default() };
                self.say(Source::Acp, EventKind::SessionChanged(change));
            }
            (asked, Err(error)) => {
                let step = match asked {
                    Asked::Hello => Step::Handshake,
                    Asked::New => Step::New,
                    Asked::Load(_) => Step::Load,
                    _ => Step::Control,
                };
                let failure = self.failure(step, &error);
                self.say(
                    Source::Acp,
                    EventKind::Notice { level: Level::Error, text: failure.message },
                );
            }
            (Asked::Mode(_, None) | Asked::Other, Ok(_)) => {}
        }
    }

    fn failure(&self, step: Step, error: &RpcError<'_>) -> crate::model::Failure {
        self.dialect.failure(step, wrong::said(step, error, "", self.about.as_ref()))
    }

    fn opened(&mut self, json: Json<'_>, loaded: Option<&str>) {
        let Some(opened) = Opened::read(json, loaded) else {
            return self.unread("a session without an id".to_owned(), "");
        };
        let model = opened.model.map(Text::from);
        let mode = opened.mode.as_deref().and_then(Mode::named);
        self.session(&opened.session_id).mode = mode;
        let started = EventKind::SessionStarted {
            session_id: Text::from(opened.session_id),
            project_hash: None,
            started_at: None,
            kind: None,
            model: model.clone().filter(|_| loaded.is_none()),
        };
        self.say(Source::Acp, started);
        let change = SessionChange { mode, model, ..SessionChange::default() };
        self.say(Source::Acp, EventKind::SessionChanged(change));
    }

    fn ended(&mut self, id: &str, outcome: Result<Json<'_>, RpcError<'_>>) {
        let closed = self.session(id).translator.close();
        self.events.extend(closed);
        let failure = outcome.as_ref().err().map(|error| self.failure(Step::Prompt, error));
        let answer = outcome.ok().flatten().unwrap_or(RawValue::NULL);
        let told = self.session(id).translator.told();
        let end = match &failure {
            _ if self.session(id).cancelled => {
                End::Stopped(StopReason::Cancelled, failure.is_none().then_some(answer))
            }
            Some(failure) => End::Failed(failure),
            None => End::Answered(answer),
        };
        let (stop_reason, error, notice) = why(&end, told, &*self.dialect);
        if let Some(text) = notice {
            self.say(Source::Acp, EventKind::Notice { level: Level::Warning, text });
        }
        for counted in self.dialect.usage(answer) {
            let kind = EventKind::UsageChanged {
                scope: counted.scope,
                usage: counted.usage,
                model: counted.model.map(Text::from),
                message_id: None,
            };
            self.say(Source::Acp, kind);
        }
        let kind = EventKind::TurnEnded {
            stop_reason,
            duration_ms: None,
            tool_calls: Some(told.calls),
            error: error.map(Box::new),
        };
        self.say(Source::Pollux, kind);
    }
}
