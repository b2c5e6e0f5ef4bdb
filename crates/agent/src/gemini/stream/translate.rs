//! The lines of stream-json in our words. Pure: lines in, events out.

use super::super::tools::meaning;
use super::super::transcript::{said, string, time};
use super::wire::{self, Json, Line, ModelStats, Row, Stats, Wrong};
use crate::model::{
    At, Event, EventKind, Input, Level, Meaning, Part, Scope, Source, Status, Text, Usage,
};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;

/// Reads the lines of one run, in their order.
///
/// ```
/// use pollux_agent::gemini::stream::Translator;
///
/// let mut translator = Translator::default();
/// let mut events = Vec::new();
/// translator.line(r#"{"type":"message","role":"assistant","content":"Hi ","delta":true}"#, &mut events);
/// translator.line("not JSON at all", &mut events);
/// assert_eq!(serde_json::to_value(&events[0]).unwrap()["type"], "text_grew");
/// assert_eq!(serde_json::to_value(&events[1]).unwrap()["type"], "unread");
/// ```
#[derive(Debug, Default)]
pub struct Translator {
    lines: u64,
    open: HashMap<String, Call>,
    told: Told,
}

/// A call that has begun.
#[derive(Debug)]
struct Call {
    name: String,
    meaning: Option<Meaning>,
}

/// What the lines said about the run as a whole.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// The session.
    pub session_id: Option<String>,
    /// The last line, where there was one.
    pub result: Option<Ended>,
    /// The last thing that the stream called an error.
    pub error: Option<String>,
    /// True where the model said or did something.
    pub answered: bool,
    /// How often the model was asked.
    pub turns: u64,
    /// True where tools have ended and the model was not heard since.
    awaits_model: bool,
}

impl Told {
    /// True where tools have ended and the model was not heard since.
    pub fn awaits_model(&self) -> bool {
        self.awaits_model
    }
}

/// What the line `result` said.
#[derive(Debug, Clone)]
pub struct Ended {
    /// True for `success`.
    pub success: bool,
    /// `error.message`.
    pub message: Option<String>,
    /// `error.type`.
    pub kind: Option<String>,
    /// The whole line.
    line: String,
}

impl Ended {
    /// The whole line, as the CLI has printed it.
    pub fn upstream(&self) -> Option<Box<RawValue>> {
        RawValue::from_string(self.line.clone()).ok()
    }
}

impl Translator {
    /// What the lines said so far about the run as a whole.
    pub fn told(&self) -> &Told {
        &self.told
    }

    /// How many calls have begun and not ended.
    pub fn open_calls(&self) -> usize {
        self.open.len()
    }

    /// Reads one line, without its end.
    pub fn line<'a>(&mut self, line: &'a str, events: &mut Vec<Event<'a>>) {
        self.lines += 1;
        let text = line.strip_suffix('\r').unwrap_or(line);
        if text.trim().is_empty() {
            return;
        }
        let Some(row) = Row::read(text) else {
            let cut = text.trim_start().starts_with('{') && !wire::is_json(text);
            let reason = if cut { "the line is incomplete JSON" } else { "the line is not JSON" };
            return self.unread(reason.to_owned(), text, events);
        };
        if !row.read {
            return self.unread("the line is not an object".to_owned(), text, events);
        }
        let at = time(row.timestamp).map(At);
        let kind = string(row.kind);
        let mut tell = |kind: EventKind<'a>| {
            // The stream counts no thoughts: they are what the total has more than its parts.
            let counted = matches!(kind, EventKind::UsageChanged { .. });
            let mut event = Event::new(Source::Stream, kind).at(at);
            event.derived = counted.then_some("thoughts_tokens from stats.total_tokens");
            events.push(event);
        };
        for (field, value) in &row.unknown {
            let of = kind.as_deref().unwrap_or("a line without a type");
            tell(EventKind::Unread {
                line: Some(self.lines),
                reason: format!("`{of}` has an unknown field: `{field}`"),
                text: value.get().to_owned(),
            });
        }
        match row.line(kind) {
            Line::Init(init) => self.init(&init, &mut tell),
            Line::Message(message) => self.message(&message, text, &mut tell),
            Line::ToolUse(call) => self.tool_use(&call, &mut tell),
            Line::ToolResult(result) => self.tool_result(&result, text, &mut tell),
            Line::Error(error) => self.error(&error, &mut tell),
            Line::Result(result) => self.result(&result, text, &mut tell),
            Line::Unknown(kind) => {
                let reason = match kind {
                    Some(kind) => format!("unknown line type `{kind}`"),
                    None => "the line has no type".to_owned(),
                };
                self.unread(reason, text, events);
            }
        }
    }

    fn unread(&self, reason: String, text: &str, events: &mut Vec<Event<'_>>) {
        let kind = EventKind::Unread { line: Some(self.lines), reason, text: text.to_owned() };
        events.push(Event::new(Source::Stream, kind));
    }

    fn init<'a>(&mut self, init: &wire::Init<'a>, tell: &mut impl FnMut(EventKind<'a>)) {
        self.told.session_id = string(init.session_id).map(Cow::into_owned);
        tell(EventKind::SessionStarted {
            session_id: words(init.session_id),
            project_hash: None,
            started_at: None,
            kind: None,
            model: init.model.and_then(Text::from_raw),
        });
    }

    fn message<'a>(
        &mut self,
        message: &wire::Message<'a>,
        line: &str,
        tell: &mut impl FnMut(EventKind<'a>),
    ) {
        match string(message.role).as_deref() {
            Some("user") => {
                let prompt = self.text(message.content, "`content` of a message", tell);
                tell(EventKind::TurnStarted { prompt: prompt.unwrap_or_else(|| Text::from("")) });
            }
            Some("assistant") => {
                self.model_speaks();
                let text = self.text(message.content, "`content` of a message", tell);
                let text = text.unwrap_or_else(|| Text::from(""));
                tell(EventKind::TextGrew { part: Part::Text, text, message_id: None });
            }
            role => {
                // Nothing more is concluded from `delta`: what a role means that we do not know, it does not tell.
                let delta = if message.delta.is_some() { " (delta)" } else { "" };
                let reason =
                    format!("a message with the unknown role `{}`{delta}", role.unwrap_or("none"));
                let text = line.to_owned();
                tell(EventKind::Unread { line: Some(self.lines), reason, text });
            }
        }
    }

    /// The text of a value. What is no text, and no list of texts, is told as it was written.
    fn text<'a>(
        &self,
        json: Json<'a>,
        what: &str,
        tell: &mut impl FnMut(EventKind<'a>),
    ) -> Option<Text<'a>> {
        let (text, is_whole) = said(json, "");
        if let Some(raw) = json.filter(|_| !is_whole) {
            let reason = format!("{what} is not text");
            let text = raw.get().to_owned();
            tell(EventKind::Unread { line: Some(self.lines), reason, text });
        }
        text
    }

    /// The words of an `error`, which is an object with a message, or the message itself.
    fn wrong<'a>(&self, json: Json<'a>, tell: &mut impl FnMut(EventKind<'a>)) -> Option<Text<'a>> {
        let wrong = read(json).filter(|wrong: &Wrong<'a>| wrong.read);
        match wrong.and_then(|wrong| wrong.message) {
            Some(message) => self.text(Some(message), "the message of an error", tell),
            None => self.text(json, "an error", tell),
        }
    }

    /// The model was heard: for the first time, or after its tools had ended.
    fn model_speaks(&mut self) {
        if self.told.awaits_model || !self.told.answered {
            self.told.turns += 1;
        }
        self.told.answered = true;
        self.told.awaits_model = false;
    }

    fn tool_use<'a>(&mut self, call: &wire::ToolUse<'a>, tell: &mut impl FnMut(EventKind<'a>)) {
        self.model_speaks();
        let name = string(call.tool_name).unwrap_or_default();
        let meaning = meaning::begun(&name, call.parameters);
        let id = string(call.tool_id).unwrap_or_default().into_owned();
        let open = Call { name: name.into_owned(), meaning: meaning.clone() };
        self.open.insert(id, open);
        tell(EventKind::ToolStarted {
            id: words(call.tool_id),
            name: words(call.tool_name),
            input: input(call.parameters),
            meaning: meaning.map(Box::new),
        });
    }

    fn tool_result<'a>(
        &mut self,
        result: &wire::ToolResult<'a>,
        line: &str,
        tell: &mut impl FnMut(EventKind<'a>),
    ) {
        self.told.awaits_model = true;
        let call = self.open.remove(string(result.tool_id).unwrap_or_default().as_ref());
        let output = self.text(result.output, "`output` of a tool", tell);
        let error = self.wrong(result.error, tell);
        let begun = call.as_ref().and_then(|call| call.meaning.as_ref());
        let status = match string(result.status).as_deref() {
            Some("success") => Status::Success,
            Some("cancelled" | "canceled") => Status::Cancelled,
            Some("error") => Status::Error,
            // What is not known to have gone well has not: nothing is told to be done that may not be.
            status => {
                if result.error.is_none() {
                    let status = status.unwrap_or("none");
                    let reason = format!("a tool ended with an unknown status: `{status}`");
                    let text = line.to_owned();
                    tell(EventKind::Unread { line: Some(self.lines), reason, text });
                }
                Status::Error
            }
        };
        let mut meaning = meaning::streamed(begun, output.as_ref());
        if status != Status::Success {
            meaning = meaning.map(meaning::undone);
        }
        tell(EventKind::ToolEnded {
            id: words(result.tool_id),
            name: call.map(|call| Text::from(call.name)),
            status,
            changed: false,
            output,
            error,
            meaning: meaning.map(Box::new),
        });
    }

    fn error<'a>(&mut self, error: &wire::Error<'a>, tell: &mut impl FnMut(EventKind<'a>)) {
        let text = self.text(error.message, "the message of an error", tell);
        let text = text.map(|text| text.to_str().into_owned()).unwrap_or_default();
        let level = match string(error.severity).as_deref() {
            Some("warning") => Level::Warning,
            _ => Level::Error,
        };
        if level == Level::Error {
            self.told.error = Some(text.clone());
        }
        tell(EventKind::Notice { level, text });
    }

    fn result<'a>(
        &mut self,
        result: &wire::Outcome<'a>,
        line: &str,
        tell: &mut impl FnMut(EventKind<'a>),
    ) {
        let wrong = read(result.error).filter(|wrong: &Wrong<'a>| wrong.read);
        self.told.result = Some(Ended {
            success: string(result.status).as_deref() == Some("success"),
            message: self.wrong(result.error, tell).map(|text| text.to_str().into_owned()),
            kind: wrong.as_ref().and_then(|w| string(w.kind)).map(Cow::into_owned),
            line: line.to_owned(),
        });
        let Some(stats) = result.stats.as_ref().filter(|stats| stats.read) else { return };
        for (model, stats) in &stats.models.0 {
            let stats: Option<ModelStats<'_>> = read(Some(stats));
            let Some(stats) = stats.filter(|stats| stats.read) else { continue };
            tell(EventKind::UsageChanged {
                scope: Scope::Model,
                usage: usage_of(
                    stats.input_tokens.0,
                    stats.output_tokens.0,
                    stats.cached.0,
                    stats.total_tokens.0,
                ),
                model: Some(Text::from(model.clone().into_owned())),
                message_id: None,
            });
        }
        tell(EventKind::UsageChanged {
            scope: Scope::Run,
            usage: total(stats),
            model: None,
            message_id: None,
        });
    }

    /// The figures of the line `result`, for the event that ends the turn: how long it took, and how many calls.
    pub fn figures(&self) -> (Option<u64>, Option<u64>) {
        #[derive(serde::Deserialize)]
        struct Head<'a> {
            #[serde(borrow)]
            stats: Option<Stats<'a>>,
        }
        let line = self.told.result.as_ref().map(|result| result.line.as_str());
        let head: Option<Head<'_>> = line.and_then(|line| serde_json::from_str(line).ok());
        let stats = head.and_then(|head| head.stats);
        stats.map_or((None, None), |stats| {
            (stats.duration_ms.map(|count| count.0), stats.tool_calls.map(|count| count.0))
        })
    }
}

fn total(stats: &Stats<'_>) -> Usage {
    usage_of(stats.input_tokens.0, stats.output_tokens.0, stats.cached.0, stats.total_tokens.0)
}

/// The stream counts thoughts only in the total. What the total has more than its parts is thought, or is what tools
/// added, which the stream does not tell apart.
fn usage_of(input: u64, output: u64, cached: u64, total: u64) -> Usage {
    Usage {
        input_tokens: input,
        output_tokens: output,
        total_tokens: total,
        cached_tokens: cached,
        thoughts_tokens: total.saturating_sub(input.saturating_add(output)),
        tool_tokens: 0,
    }
}

fn words(json: Json<'_>) -> Text<'_> {
    json.and_then(Text::from_raw).unwrap_or_else(|| Text::from(""))
}

fn input(json: Json<'_>) -> Input<'_> {
    json.map_or_else(|| Input::Mapped(Vec::new()), |raw| Input::Raw(Cow::Borrowed(raw)))
}

fn read<'a, T: serde::Deserialize<'a>>(json: Json<'a>) -> Option<T> {
    json.and_then(|json| serde_json::from_str(json.get()).ok())
}
