//! The updates of one session in our words. Pure: updates and permission requests in, events and questions out.

use super::call::{Call, Shown};
use super::dialect::{Dialect, Said};
use super::wire::{self, Json, Offer, Params, Update, text};
use crate::model::{
    Choice, Effect, Event, EventKind, Input, Meaning, Mode, Part, Question, QuestionKind,
    SessionChange, Source, Status, Text,
};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// How much is shown of what cannot be read.
const SHOWN: usize = 2000;

/// Reads the updates of one session, in their order.
///
/// ```
/// use pollux_agent::acp::{Plain, Translator};
/// use serde_json::value::RawValue;
/// use std::sync::Arc;
///
/// let mut translator = Translator::new(Arc::new(Plain));
/// let update = r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hi "}}"#;
/// let update: Box<RawValue> = serde_json::from_str(update).unwrap();
/// let mut events = Vec::new();
/// translator.update(&update, &mut events);
/// assert_eq!(serde_json::to_value(&events[0]).unwrap()["type"], "text_grew");
/// ```
#[derive(Debug)]
pub struct Translator {
    dialect: Arc<dyn Dialect>,
    calls: HashMap<String, Open>,
    told: Told,
}

/// A call of which something was told.
#[derive(Debug, Clone)]
struct Open {
    name: String,
    meaning: Option<Meaning>,
    ended: bool,
}

/// What was told since the turn began.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Told {
    /// How often the model was asked.
    pub(super) turns: u64,
    /// How many calls there were.
    pub(super) calls: u64,
    /// How many chunks of words there were.
    pub(super) chunks: u64,
    /// True where tools have ended and the model was not heard since.
    pub(super) awaits_model: bool,
}

impl Translator {
    /// A translator for one session of an agent.
    pub fn new(dialect: Arc<dyn Dialect>) -> Self {
        Self { dialect, calls: HashMap::new(), told: Told::default() }
    }

    pub(super) fn told(&self) -> Told {
        self.told
    }

    /// A turn begins: what came of calls that are over is forgotten.
    pub(super) fn begin(&mut self) {
        self.told = Told::default();
        self.calls.retain(|_, call| !call.ended);
    }

    /// Reads the member `update` of `session/update`.
    pub fn update<'a>(&mut self, raw: &'a RawValue, out: &mut Vec<Event<'a>>) {
        let update: Update<'a> = wire::object(Some(raw));
        match text(update.kind).as_deref() {
            Some("agent_message_chunk") => self.chunk(Part::Text, &update, raw, out),
            Some("agent_thought_chunk") => self.chunk(Part::Thinking, &update, raw, out),
            Some("tool_call" | "tool_call_update") => match Call::read(Some(raw)) {
                Some(call) => self.call(&call, out),
                None => out.push(unread("a tool call without an id", raw.get())),
            },
            Some("current_mode_update") => match text(update.mode) {
                Some(id) => out.push(mode_named(&id)),
                None => out.push(unread("a mode without a name", raw.get())),
            },
            Some("session_info_update") => {
                let title = update.title.and_then(Text::from_raw);
                let change = SessionChange { title, ..SessionChange::default() };
                out.push(Event::new(Source::Acp, EventKind::SessionChanged(change)));
            }
            // What the person said, told back; lists for menus, which are no news of the session; and what editors draw: what
            // is to be done, and how full the model's window is.
            Some(
                "user_message_chunk"
                | "available_commands_update"
                | "config_option_update"
                | "plan"
                | "usage_update",
            ) => {}
            Some(kind) => out.push(unread(&format!("unknown update `{kind}`"), raw.get())),
            None => out.push(unread("an update without a kind", raw.get())),
        }
    }

    fn chunk<'a>(
        &mut self,
        part: Part,
        update: &Update<'a>,
        raw: &'a RawValue,
        out: &mut Vec<Event<'a>>,
    ) {
        let block: wire::Piece<'a> = wire::object(update.content);
        let Some(words) = block.text.and_then(Text::from_raw) else {
            return out.push(unread("a chunk that is not text", raw.get()));
        };
        if part == Part::Text
            && let Said::Mode(mode) = self.dialect.said(&words.to_str())
        {
            return out.push(mode_is(mode, Some("agent_message_chunk")));
        }
        self.model_speaks();
        self.told.chunks += u64::from(part == Part::Text);
        out.push(Event::new(
            Source::Acp,
            EventKind::TextGrew {
                part,
                text: words,
                message_id: update.message_id.and_then(Text::from_raw),
            },
        ));
    }

    /// The model was heard: for the first time, or after its tools had ended.
    fn model_speaks(&mut self) {
        if self.told.awaits_model || self.told.turns == 0 {
            self.told.turns += 1;
        }
        self.told.awaits_model = false;
    }

    fn call<'a>(&mut self, call: &Call<'a>, out: &mut Vec<Event<'a>>) {
        self.started(call, out);
        let Some(status) = call.ended() else { return };
        self.told.awaits_model = true;
        let Some(open) = self.calls.get_mut(call.id.as_ref()) else { return };
        let changed = std::mem::replace(&mut open.ended, true);
        let output = call.text();
        let meaning = ended_meaning(open, call, output.as_deref());
        open.meaning.clone_from(&meaning);
        let (output, error) = if status == Status::Error { (None, output) } else { (output, None) };
        out.push(Event::new(
            Source::Acp,
            EventKind::ToolEnded {
                id: Text::from(call.id.to_string()),
                name: Some(Text::from(open.name.clone())),
                status,
                changed,
                output: output.map(Text::from),
                error: error.map(Text::from),
                meaning: meaning.map(Box::new),
            },
        ));
    }

    /// Tells that a call has begun, if that was not told: a tool may first be heard of when it has ended already, or
    /// when it wants permission.
    fn started<'a>(&mut self, call: &Call<'a>, out: &mut Vec<Event<'a>>) {
        if self.calls.contains_key(call.id.as_ref()) {
            return;
        }
        self.model_speaks();
        self.told.calls += 1;
        let (name, from) = match self.dialect.tool(call) {
            Some(name) => (name, "toolCallId"),
            None => (call.kind.as_deref().unwrap_or("other").to_owned(), "kind"),
        };
        let title = self.dialect.title(call);
        let meaning = call.meaning(title.as_deref());
        let open = Open { name: name.clone(), meaning: meaning.clone(), ended: false };
        self.calls.insert(call.id.to_string(), open);
        let kind = EventKind::ToolStarted {
            id: Text::from(call.id.to_string()),
            name: Text::from(name),
            input: call
                .input
                .map_or_else(|| Input::Mapped(Vec::new()), |raw| Input::Raw(Cow::Borrowed(raw))),
            meaning: meaning.map(Box::new),
        };
        out.push(Event::new(Source::Acp, kind).derived(from));
    }

    /// Reads the parameters of `session/request_permission`: tells that the call has begun, and gives the question.
    pub fn asked<'a>(
        &mut self,
        id: String,
        params: Json<'a>,
        out: &mut Vec<Event<'a>>,
    ) -> Question<'static> {
        let request = params.and_then(|raw| serde_json::from_str(raw.get()).ok()).map(Box::new);
        let params: Params<'a> = wire::object(params);
        let call = Call::read(params.tool_call);
        if let Some(call) = &call {
            self.started(call, out);
        }
        let call = call.unwrap_or_default();
        let open = self.calls.get(call.id.as_ref());
        let name = open.map(|open| Text::from(open.name.clone()));
        let title = self.dialect.title(&call);
        let meaning = call.meaning(title.as_deref());
        Question {
            id: Text::from(id),
            kind: self.kind(&call),
            tool_id: open.is_some().then(|| Text::from(call.id.to_string())),
            tool: name,
            text: Text::from(call.title.as_deref().unwrap_or("Allow this?").to_owned()),
            meaning: meaning.map(Box::new),
            input: self.dialect.input(&call).map(Box::new),
            request,
            options: params.options.items.iter().filter_map(choice).collect(),
        }
    }

    fn kind(&self, call: &Call<'_>) -> QuestionKind {
        if let Some(kind) = self.dialect.asks(call) {
            return kind;
        }
        match call.kind.as_deref() {
            Some("execute") => QuestionKind::Command,
            Some("edit" | "delete" | "move") => QuestionKind::Edit,
            Some("fetch" | "search") => QuestionKind::Fetch,
            Some("switch_mode") => QuestionKind::Plan,
            _ if call.content.iter().any(|shown| matches!(shown, Shown::Diff { .. })) => {
                QuestionKind::Edit
            }
            _ => QuestionKind::Other,
        }
    }

    /// A call that was turned down, of which the agent may never speak again.
    pub(super) fn rejected(&mut self, id: &str) -> Option<Event<'static>> {
        self.told.awaits_model = true;
        self.end(id, "the answer to its question")
    }

    /// The turn is over: calls that never came to an end are told of.
    pub(super) fn close(&mut self) -> Vec<Event<'static>> {
        let open = self.calls.iter().filter(|(_, call)| !call.ended);
        let mut open: Vec<String> = open.map(|(id, _)| id.clone()).collect();
        open.sort_unstable();
        open.iter().filter_map(|id| self.end(id, "the turn ended before the call did")).collect()
    }

    fn end(&mut self, id: &str, from: &'static str) -> Option<Event<'static>> {
        let call = self.calls.get_mut(id).filter(|call| !call.ended)?;
        call.ended = true;
        let kind = EventKind::ToolEnded {
            id: Text::from(id.to_owned()),
            name: Some(Text::from(call.name.clone())),
            status: Status::Cancelled,
            changed: false,
            output: None,
            error: None,
            meaning: call.meaning.clone().map(Box::new),
        };
        Some(Event::new(Source::Pollux, kind).derived(from))
    }
}

/// What came of a call: what it was about, with what it gave back.
fn ended_meaning(open: &Open, call: &Call<'_>, output: Option<&str>) -> Option<Meaning> {
    match (&open.meaning, call.meaning(None)) {
        (Some(Meaning::Command { command, derived, .. }), _) => {
            let mut derived = derived.clone();
            derived.0.extend(output.is_some().then_some(("output", "toolCall.content")));
            Some(Meaning::Command {
                command: command.clone(),
                output: output.map(|output| Text::from(output.to_owned())),
                exit_code: None,
                derived,
            })
        }
        (_, Some(now @ Meaning::Mutation { .. })) => Some(now),
        (before, _) => before.clone(),
    }
}

/// What can be answered. What has no id cannot: nothing tells it from the next one.
fn choice(offer: &Offer<'_>) -> Option<Choice<'static>> {
    let id = text(offer.id).filter(|id| !id.is_empty())?.into_owned();
    Some(Choice {
        id: Text::from(id),
        label: Text::from(text(offer.name).unwrap_or_default().into_owned()),
        effect: match text(offer.kind).as_deref() {
            Some("allow_once") => Effect::AllowOnce,
            Some("allow_always") => Effect::AllowAlways,
            Some("reject_once") => Effect::RejectOnce,
            Some("reject_always") => Effect::RejectAlways,
            _ => Effect::Other,
        },
    })
}

fn mode_is(mode: Mode, derived: Option<&'static str>) -> Event<'static> {
    let change = SessionChange { mode: Some(mode), ..SessionChange::default() };
    Event { derived, ..Event::new(Source::Acp, EventKind::SessionChanged(change)) }
}

/// The mode is another one now, by the agent's own id of it.
pub(super) fn mode_named(id: &str) -> Event<'static> {
    if let Some(mode) = Mode::named(id) {
        return mode_is(mode, None);
    }
    let change =
        SessionChange { mode_id: Some(Text::from(id.to_owned())), ..SessionChange::default() };
    Event::new(Source::Acp, EventKind::SessionChanged(change))
}

/// Something that cannot be read, with its text: cut where it is long.
pub(super) fn unread(reason: &str, line: &str) -> Event<'static> {
    let mut text: String = line.chars().take(SHOWN).collect();
    if text.len() < line.len() {
        text.push('…');
    }
    let kind = EventKind::Unread { line: None, reason: reason.to_owned(), text };
    Event::new(Source::Acp, kind)
}
