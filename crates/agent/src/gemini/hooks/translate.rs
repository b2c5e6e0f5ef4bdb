//! What hooks were told, in our words. Pure: payloads in, events out.

use super::super::tools::meaning;
use super::super::transcript::{said, string, time};
use super::wire::{Details, Frame, Json, Payload, Response, Wrong};
use crate::model::{
    At, Derived, Event, EventKind, Input, Meaning, Question, QuestionKind, Source, Status,
    StopReason, Text,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Reads what the hooks of one session were told, in their order.
///
/// ```
/// use pollux_agent::gemini::hooks::Translator;
///
/// let mut translator = Translator::default();
/// let events = translator.payload(r#"{"hook_event_name":"BeforeAgent","session_id":"s","prompt":"hello"}"#);
/// assert_eq!(serde_json::to_value(&events[0]).unwrap()["type"], "turn_started");
/// ```
#[derive(Debug, Default)]
pub struct Translator {
    session: Option<String>,
    ended: Option<String>,
    calls: u64,
    questions: u64,
    open: Vec<Call>,
}

/// A call that has begun. Hooks are told no id of it: name, arguments and order tell calls apart.
#[derive(Debug)]
struct Call {
    id: String,
    name: String,
    input: String,
}

impl Translator {
    /// The session that was told of last.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Reads one payload, or one as it was handed over.
    pub fn payload(&mut self, text: &str) -> Vec<Event<'static>> {
        let unread = |reason: &str| {
            let (reason, text) = (reason.to_owned(), text.to_owned());
            vec![Event::new(Source::Hook, EventKind::Unread { line: None, reason, text })]
        };
        let (payload, called_for) = handed_over(text);
        let Some(payload) = payload else {
            return unread("the payload is not JSON");
        };
        if !payload.read {
            return unread("the payload is not an object");
        }
        let Some(event) = string(payload.hook_event_name).or_else(|| string(called_for)) else {
            return unread("the payload has no event name");
        };
        if let Some(session) = string(payload.session_id) {
            self.session = Some(session.into_owned());
        }
        let at = time(payload.timestamp).map(At);
        let told = match &*event {
            "SessionStart" => self.started(&payload, at),
            "SessionEnd" => self.ended(&payload),
            "BeforeAgent" => self.prompted(&payload),
            // What was answered is garbled here: the text of the last chunks comes twice. The session file has it.
            "AfterAgent" => vec![ended().into()],
            "BeforeTool" => vec![self.called(&payload)],
            "AfterTool" => vec![self.returned(&payload)],
            "Notification" => match string(payload.notification_type).as_deref() {
                Some("ToolPermission") => vec![self.asked(&payload)],
                other => {
                    let other = other.unwrap_or("none");
                    return unread(&format!("unknown notification `{other}`"));
                }
            },
            "PreCompress" | "BeforeModel" | "AfterModel" | "BeforeToolSelection" => Vec::new(),
            other => return unread(&format!("unknown event `{other}`")),
        };
        let event = |told: Told| Event {
            derived: told.derived,
            ..Event::new(Source::Hook, told.kind).at(at)
        };
        told.into_iter().map(event).collect()
    }

    fn started(&mut self, payload: &Payload<'_>, at: Option<At>) -> Vec<Told> {
        self.ended = None;
        self.open.clear();
        let started_at = at.filter(|_| string(payload.source).as_deref() == Some("startup"));
        let session_id = owned(payload.session_id);
        vec![
            EventKind::SessionStarted {
                session_id,
                project_hash: None,
                started_at,
                kind: None,
                model: None,
            }
            .into(),
        ]
    }

    fn prompted(&mut self, payload: &Payload<'_>) -> Vec<Told> {
        // A call that was turned down is never told of again.
        self.open.clear();
        let prompt = Text::from(words(payload.prompt).unwrap_or_default());
        vec![EventKind::TurnStarted { prompt }.into()]
    }

    /// The end of a session is told two or three times.
    fn ended(&mut self, payload: &Payload<'_>) -> Vec<Told> {
        if self.ended.is_some() && self.ended == self.session {
            return Vec::new();
        }
        self.ended.clone_from(&self.session);
        let reason = string(payload.reason).map_or_else(|| "exit".to_owned(), Cow::into_owned);
        vec![EventKind::SessionEnded { reason }.into()]
    }

    fn next_call(&mut self) -> String {
        self.calls += 1;
        format!("hook-{}", self.calls)
    }

    fn called(&mut self, payload: &Payload<'_>) -> Told {
        let name = string(payload.tool_name).unwrap_or_default();
        let id = self.next_call();
        let arguments = payload.tool_input.map_or("", RawValue::get).to_owned();
        self.open.push(Call { id: id.clone(), name: name.to_string(), input: arguments });
        let kind = EventKind::ToolStarted {
            id: Text::from(id),
            name: Text::from(name.to_string()),
            input: payload.tool_input.map_or_else(
                || Input::Mapped(Vec::new()),
                |raw| Input::Raw(Cow::Owned(raw.to_owned())),
            ),
            meaning: meaning::begun(&name, payload.tool_input)
                .map(|meaning| Box::new(renamed(meaning))),
        };
        Told { kind, derived: Some("id from the order of hook events") }
    }

    fn returned(&mut self, payload: &Payload<'_>) -> Told {
        let name = string(payload.tool_name).unwrap_or_default();
        let arguments = payload.tool_input.map_or("", RawValue::get);
        let same = |call: &Call| call.name == *name && call.input == arguments;
        let place = self.open.iter().position(same);
        // A hook of somebody else may have changed the arguments in between.
        let place = place.or_else(|| self.open.iter().position(|call| call.name == *name));
        let id = match place {
            Some(place) => self.open.remove(place).id,
            None => self.next_call(),
        };
        let response = payload
            .tool_response
            .and_then(|json| object::<Response<'_>>(json.get()))
            .filter(|response| response.read)
            .unwrap_or_default();
        let output = words(response.llm_content);
        // One without words is an error all the same.
        let error = response.error.filter(|json| json.get() != "false");
        let error = error.map(|json| words(Some(json)).unwrap_or_else(|| json.get().to_owned()));
        let status = if error.is_some() { Status::Error } else { Status::Success };
        let mut meaning = meaning::recorded(
            &name,
            payload.tool_input,
            output.as_deref(),
            response.return_display,
        );
        if status != Status::Success {
            meaning = meaning.map(meaning::undone);
        }
        let kind = EventKind::ToolEnded {
            id: Text::from(id),
            name: Some(Text::from(name.to_string())),
            status,
            changed: false,
            output: output.map(Text::from),
            error: error.map(Text::from),
            meaning: meaning.map(|meaning| Box::new(renamed(meaning))),
        };
        Told { kind, derived: Some("id from the order of hook events") }
    }

    fn asked(&mut self, payload: &Payload<'_>) -> Told {
        let details = payload
            .details
            .and_then(|json| object::<Details<'_>>(json.get()))
            .filter(|details| details.read)
            .unwrap_or_default();
        self.questions += 1;
        let kind = kind(&details);
        let question = Question {
            id: Text::from(format!("hook-{}", self.questions)),
            kind,
            tool_id: None,
            tool: words(details.tool_display_name)
                .or_else(|| words(details.tool_name))
                .map(Text::from),
            text: Text::from(
                words(details.title).or_else(|| words(payload.message)).unwrap_or_default(),
            ),
            meaning: about(&details).map(Box::new),
            // What can be answered is only on the screen.
            input: None,
            request: None,
            options: Vec::new(),
        };
        EventKind::Asked(Box::new(question)).into()
    }
}

/// A fact on its way to become an event.
struct Told {
    kind: EventKind<'static>,
    derived: Option<&'static str>,
}

impl From<EventKind<'static>> for Told {
    fn from(kind: EventKind<'static>) -> Self {
        Self { kind, derived: None }
    }
}

fn ended() -> EventKind<'static> {
    EventKind::TurnEnded {
        stop_reason: StopReason::EndTurn,
        duration_ms: None,
        tool_calls: None,
        error: None,
    }
}

fn kind(details: &Details<'_>) -> QuestionKind {
    match string(details.kind).as_deref().unwrap_or_default() {
        "exec" => QuestionKind::Command,
        "edit" => QuestionKind::Edit,
        "mcp" => QuestionKind::Mcp,
        // So are called all questions that have no form of their own; only those of the web have addresses.
        "info" if words(details.title).as_deref() == Some("Enter Plan Mode") => QuestionKind::Plan,
        "info" if details.urls.is_some() => QuestionKind::Fetch,
        "ask_user" => QuestionKind::Choice,
        "exit_plan_mode" => QuestionKind::Plan,
        _ => QuestionKind::Other,
    }
}

fn about(details: &Details<'_>) -> Option<Meaning> {
    if let Some(command) = words(details.command) {
        let derived = Derived(vec![("command", "details.command")]);
        return Some(Meaning::Command { command, output: None, exit_code: None, derived });
    }
    if let Some(path) = words(details.file_path) {
        let diff = words(details.file_diff);
        let mut facts = vec![("path", "details.filePath")];
        facts.extend(diff.is_some().then_some(("diff", "details.fileDiff")));
        return Some(Meaning::Mutation { path, change: None, diff, derived: Derived(facts) });
    }
    let title = details.urls.and_then(|urls| serde_json::from_str::<Vec<String>>(urls.get()).ok());
    let title = title.map(|urls| urls.join("\n")).filter(|urls| !urls.is_empty());
    title.map(|title| Meaning::Card { title, derived: Derived(vec![("title", "details.urls")]) })
}

/// The table of tools names the places of other sources; these are the places here.
fn renamed(mut meaning: Meaning) -> Meaning {
    let (Meaning::Command { derived, .. }
    | Meaning::Mutation { derived, .. }
    | Meaning::Card { derived, .. }
    | Meaning::Diff { derived, .. }) = &mut meaning;
    for (_, from) in &mut derived.0 {
        *from = match *from {
            "tool_use.parameters" | "toolCalls[].args" => "tool_input",
            "toolCalls[].result" => "tool_response.llmContent",
            "toolCalls[].resultDisplay.filePath" => "tool_response.returnDisplay.filePath",
            "toolCalls[].resultDisplay.isNewFile" => "tool_response.returnDisplay.isNewFile",
            "toolCalls[].resultDisplay" => "tool_response.returnDisplay",
            "toolCalls[].resultDisplay.fileDiff" => "tool_response.returnDisplay.fileDiff",
            other => other,
        };
    }
    meaning
}

/// A payload by itself or as it was handed over, and the event that the hook was called for, where that is said beside it.
pub(super) fn handed_over(text: &str) -> (Option<Payload<'_>>, Json<'_>) {
    let frame = object::<Frame<'_>>(text).filter(|frame| frame.read).unwrap_or_default();
    let inner = frame.payload.map_or(text, RawValue::get);
    (object(inner), frame.event.filter(|_| frame.payload.is_some()))
}

fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    serde_json::from_str(text).ok()
}

fn owned(json: Json<'_>) -> Text<'static> {
    Text::from(string(json).map_or_else(String::new, Cow::into_owned))
}

/// A text, or the texts of a list of parts, or of an object with a message.
fn words(json: Json<'_>) -> Option<String> {
    let wrong =
        json.and_then(|json| object::<Wrong<'_>>(json.get())).and_then(|wrong| wrong.message);
    let (text, _) = said(wrong.or(json), "\n");
    let is_list = json.is_some_and(|json| json.get().starts_with('['));
    let text = text.map(|text| text.to_str().into_owned());
    text.filter(|text| !is_list || !text.is_empty())
}

/// The events of a recording: one payload, payloads one on each line (as they are spooled), or a list of either.
pub fn events(text: &str) -> Vec<Event<'static>> {
    let mut translator = Translator::default();
    if let Ok(list) = serde_json::from_str::<Vec<&RawValue>>(text) {
        return list.iter().flat_map(|payload| translator.payload(payload.get())).collect();
    }
    if serde_json::from_str::<&RawValue>(text).is_ok() {
        return translator.payload(text);
    }
    let lines = text.split('\n').filter(|line| !line.trim().is_empty());
    lines.flat_map(|line| translator.payload(line)).collect()
}
