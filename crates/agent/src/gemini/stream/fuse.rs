//! Two sources of one run made one: the stream, which is early and lossy, and the session file, which is late and whole.
//!
//! Pure: events of both in, events of both out, each told once, and what can only be concluded from the two together:
//! which text was of an attempt that failed, and what could not be completed.

use super::super::loose::{List, loose_object};
use super::super::tools::meaning;
use super::super::transcript::string;
use super::failure::without_colour;
use super::whole::Assembly;
use crate::model::{
    Block, Event, EventKind, Level, Message, Part, ResultContent, Rewrite, Role, Scope, Source,
    Status, Text, Usage,
};
use serde_json::value::RawValue;
use std::collections::{HashMap, HashSet, VecDeque};

loose_object! {
    /// As much of a recorded answer as its calls need.
    Original {
        "toolCalls" => tool_calls: List<Call<'a>>,
    }
}

loose_object! {
    /// `toolCalls[]`.
    Call {
        "id" => id: Option<&'a RawValue>,
        "name" => name: Option<&'a RawValue>,
        "args" => args: Option<&'a RawValue>,
        "resultDisplay" => result_display: Option<&'a RawValue>,
    }
}

/// The events of a run, from both of its sources.
#[derive(Debug, Default)]
pub struct Fusion {
    /// Calls that have begun in the stream: true where they have ended there.
    calls: HashMap<String, Shown>,
    /// Calls that the session file has told of.
    completed: HashSet<String>,
    /// What was told of each recorded answer: how many thoughts, and which tokens.
    told: HashMap<String, (usize, Option<Usage>)>,
    /// Events of the session file that are ahead of the stream.
    ahead: VecDeque<Event<'static>>,
    /// What the stream showed of each answer of the model, until the session file has it.
    turns: VecDeque<Turn>,
    /// The texts of recorded answers that no turn has been found for.
    kept: VecDeque<String>,
    /// The messages of this run, as the session file has them.
    messages: Vec<Message<'static>>,
    /// The same, made of the stream alone.
    assembly: Assembly,
    /// How often history was rewritten: by the file, or because an answer was tried again.
    epoch: u64,
    /// The stream tells thoughts by itself.
    thinks: bool,
}

/// What the stream showed of one answer of the model.
#[derive(Debug, Default)]
struct Turn {
    text: String,
    /// The model has said all of it.
    closed: bool,
    /// Where it stands in the assembly.
    place: usize,
}

impl Fusion {
    /// For a stream that tells thoughts by itself, as ACP does.
    pub fn thinking() -> Self {
        Self { thinks: true, ..Self::default() }
    }

    /// The next turn of the same session: what was told of the earlier ones is not told again.
    #[must_use]
    pub fn next_turn(self) -> Self {
        let Self { completed, told, epoch, thinks, .. } = self;
        Self { completed, told, epoch, thinks, ..Self::default() }
    }

    /// Takes calls for told that a session had before.
    #[must_use]
    pub fn knowing(mut self, calls: impl IntoIterator<Item = String>) -> Self {
        self.completed.extend(calls);
        self
    }

    /// True where a message has what came of a call of which nothing was told yet.
    pub fn is_news(&self, message: &Message<'_>) -> bool {
        message.blocks().iter().any(|block| match block {
            Block::ToolResult { tool_use_id, .. } => {
                !self.completed.contains(tool_use_id.to_str().as_ref())
            }
            _ => false,
        })
    }

    /// True where a message has what came of a call of which the stream has said nothing yet.
    pub fn is_unheard_of(&self, message: &Message<'_>) -> bool {
        message.blocks().iter().any(|block| match block {
            Block::ToolResult { tool_use_id, .. } => {
                let id = tool_use_id.to_str();
                !self.completed.contains(id.as_ref()) && !self.calls.contains_key(id.as_ref())
            }
            _ => false,
        })
    }

    /// True where the stream has shown what the session file does not have yet.
    pub fn is_behind(&self) -> bool {
        let ended =
            |(id, shown): (&String, &Shown)| *shown == Shown::Ended && !self.completed.contains(id);
        let unheard = |turn: &Turn| {
            let shown = plain(&turn.text);
            let heard = |kept: &String| !kept.is_empty() && shown.ends_with(kept.as_str());
            !shown.is_empty() && !self.kept.iter().any(heard)
        };
        self.calls.iter().any(ended) || self.turns.iter().any(unheard)
    }

    /// Takes an event of the stream.
    pub fn stream(&mut self, event: Event<'static>, out: &mut Vec<Event<'static>>) {
        match &event.kind {
            EventKind::TextGrew { part: Part::Text, text, .. } => self.grew(&text.to_str()),
            EventKind::ToolStarted { id, .. } => {
                self.calls.insert(id.to_string(), Shown::Begun);
                if self.turns.back().is_none_or(|turn| turn.closed) {
                    self.grew("");
                }
            }
            EventKind::ToolEnded { id, status, .. } => {
                self.calls.insert(id.to_string(), Shown::ended(*status));
                self.close();
            }
            _ => {}
        }
        self.assembly.add(&event.kind);
        if let EventKind::ToolStarted { id, .. } = &event.kind
            && self.completed.contains(id.to_str().as_ref())
        {
            // The file was faster.
            self.assembly.has_recorded_call(&id.to_str());
        }
        out.push(event);
        self.catch_up(false, out);
    }

    fn grew(&mut self, text: &str) {
        if let Some(turn) = self.turns.back_mut().filter(|turn| !turn.closed) {
            turn.text.push_str(text);
            return;
        }
        let place = self.assembly.next_answer();
        self.turns.push_back(Turn { text: text.to_owned(), closed: false, place });
    }

    fn close(&mut self) {
        if let Some(turn) = self.turns.back_mut() {
            turn.closed = true;
        }
    }

    /// Takes an event of the session file.
    pub fn session(&mut self, event: Event<'static>, out: &mut Vec<Event<'static>>) {
        self.ahead.push_back(event);
        self.catch_up(false, out);
    }

    /// Tells what the session file said, as far as the stream has come: a call ends in the stream first.
    fn catch_up(&mut self, all: bool, out: &mut Vec<Event<'static>>) {
        while let Some(event) = self.ahead.pop_front() {
            if !all && self.is_ahead(&event) {
                self.ahead.push_front(event);
                break;
            }
            self.tell(event, out);
        }
    }

    fn is_ahead(&self, event: &Event<'_>) -> bool {
        let EventKind::MessageRecorded { message, .. } = &event.kind else { return false };
        message.blocks().iter().any(|block| match block {
            Block::ToolResult { tool_use_id, .. } => {
                self.calls.get(tool_use_id.to_str().as_ref()) == Some(&Shown::Begun)
            }
            _ => false,
        })
    }

    fn tell(&mut self, mut event: Event<'static>, out: &mut Vec<Event<'static>>) {
        match &mut event.kind {
            EventKind::MessageRecorded { message, .. } => {
                if message.role == Role::Assistant {
                    self.answer(message, out);
                }
                self.keep(message.as_ref().clone());
            }
            EventKind::HistoryRewritten { epoch, removed, .. } => {
                self.epoch += 1;
                *epoch = self.epoch;
                self.messages.retain(|message| !removed.contains(&message.id));
            }
            // The file is gone, and not the agent.
            EventKind::SessionEnded { reason } => {
                let text = reason.clone();
                event.kind = EventKind::Notice { level: Level::Warning, text };
            }
            _ => {}
        }
        out.push(event);
    }

    fn keep(&mut self, message: Message<'static>) {
        match self.messages.iter_mut().find(|known| known.id == message.id) {
            Some(known) => *known = message,
            None => self.messages.push(message),
        }
    }

    /// True for an answer that was written once more under a new id, with this of the earlier record: it was told.
    fn is_copy(&self, message: &Message<'_>, field: &'static str) -> bool {
        let is_it = |known: &Message<'_>| {
            let is_other = known.role == Role::Assistant && known.id != message.id;
            is_other && said(known) == said(message)
        };
        let is_restored = message.restored.contains(&field);
        message.copied && (is_restored || self.messages.iter().any(is_it))
    }

    /// What an answer has that the stream does not show.
    fn answer(&mut self, message: &Message<'static>, out: &mut Vec<Event<'static>>) {
        let id = message.id.to_string();
        let fact = |kind| Event::new(Source::SessionFile, kind);
        let first = !self.told.contains_key(&id);
        let was_thought = self.is_copy(message, "thoughts");
        let was_counted = self.is_copy(message, "usage");
        let was_said = self.is_copy(message, "model");
        let told = self.told.entry(id).or_default();
        let thoughts = message.blocks().iter().filter_map(|block| match block {
            Block::Thinking { thinking } => Some(thinking),
            _ => None,
        });
        for thought in thoughts.skip(told.0) {
            told.0 += 1;
            if self.thinks || was_thought {
                continue;
            }
            out.push(fact(EventKind::TextGrew {
                part: Part::Thinking,
                text: thought.clone().into_owned(),
                message_id: Some(message.id.clone()),
            }));
        }
        if message.usage.is_some() && told.1 != message.usage {
            told.1 = message.usage;
            let kind = EventKind::UsageChanged {
                scope: Scope::Message,
                usage: message.usage.unwrap_or_default(),
                model: message.model.clone(),
                message_id: Some(message.id.clone()),
            };
            out.extend((!was_counted).then(|| fact(kind)));
        }
        if first && !was_said {
            self.kept.push_back(said(message));
        }
        self.calls_of(message, out);
        // An answer whose calls have ended was said to its end.
        if message.blocks().iter().any(|block| matches!(block, Block::ToolResult { .. })) {
            self.settle(out);
        }
    }

    /// The calls of an answer, with all that came of them.
    fn calls_of(&mut self, message: &Message<'static>, out: &mut Vec<Event<'static>>) {
        let original: Original<'_> = serde_json::from_str(&message.original).unwrap_or_default();
        for block in message.blocks() {
            let Block::ToolResult { tool_use_id, content, status, .. } = block else { continue };
            let id = tool_use_id.to_str();
            if !self.completed.insert(id.clone().into_owned()) {
                continue;
            }
            self.assembly.has_recorded_call(&id);
            let mut calls = original.tool_calls.items.iter();
            let is_it = |call: &&Call<'_>| call.read && string(call.id).as_deref() == Some(&*id);
            let call = calls.find(is_it).filter(|_| original.read);
            let call = call.cloned().unwrap_or_default();
            let name = string(call.name);
            let output = text_of(content);
            let mut meaning = meaning::recorded(
                name.as_deref().unwrap_or_default(),
                call.args,
                output.as_deref(),
                call.result_display,
            );
            if *status != Status::Success {
                meaning = meaning.map(meaning::undone);
            }
            let failed = *status == Status::Error;
            let (output, error) = if failed { (None, output) } else { (output, None) };
            out.push(Event::new(
                Source::SessionFile,
                EventKind::ToolEnded {
                    id: tool_use_id.clone().into_owned(),
                    name: name.map(|name| Text::from(name.into_owned())),
                    status: *status,
                    changed: self.calls.contains_key(id.as_ref()),
                    output: output.map(Text::from),
                    error: error.map(Text::from),
                    meaning: meaning.map(Box::new),
                },
            ));
        }
    }

    /// Finds for each recorded answer what the stream showed of it. What the stream showed besides was of attempts that
    /// failed. Some versions record every attempt: then the answers together are what was shown.
    fn settle(&mut self, out: &mut Vec<Event<'static>>) {
        while let Some(kept) = self.kept.pop_front() {
            let has =
                |turn: &Turn| turn.closed && !kept.is_empty() && plain(&turn.text).ends_with(&kept);
            let Some(at) = self.turns.iter().position(has) else { continue };
            let turn = self.turns.remove(at).unwrap_or_default();
            self.assembly.is_recorded(turn.place);
            let shown = plain(&turn.text);
            let mut rest = shown.strip_prefix(kept.as_str()).unwrap_or_default().trim_start();
            let mut more = 0;
            while let Some(after) = self
                .kept
                .get(more)
                .and_then(|next| rest.strip_prefix(next.as_str()).filter(|_| !next.is_empty()))
            {
                rest = after.trim_start();
                more += 1;
            }
            let all = rest.is_empty() && shown.starts_with(kept.as_str());
            if all {
                self.kept.drain(..more);
                continue;
            }
            let before = shown.strip_suffix(kept.as_str()).unwrap_or_default().trim().to_owned();
            out.push(self.superseded(before));
        }
    }

    fn superseded(&mut self, text: String) -> Event<'static> {
        self.epoch += 1;
        let kind = EventKind::HistoryRewritten {
            epoch: self.epoch,
            reason: Rewrite::Retried,
            removed: Vec::new(),
            superseded: Some(Text::from(text)),
        };
        Event::new(Source::Pollux, kind).derived("stream and session_file: the file has less text")
    }

    /// The run is over. `followed` is false where no session file was found, `done` where the CLI did not come to an
    /// end of its own.
    pub fn finish(&mut self, followed: bool, done: Done, out: &mut Vec<Event<'static>>) {
        self.close();
        self.catch_up(true, out);
        self.settle(out);
        let text: Vec<String> = self.turns.iter().map(|turn| plain(&turn.text)).collect();
        let text = text.iter().filter(|text| !text.is_empty());
        if followed && done == Done::Failed {
            // The CLI takes back what a failed prompt has said.
            for text in text.cloned().collect::<Vec<_>>() {
                out.push(self.superseded(text));
            }
            self.turns.drain(..).for_each(|turn| self.assembly.is_recorded(turn.place));
        }
        let missing = self.missing(followed);
        out.extend(missing.map(|text| {
            let kind = EventKind::Notice { level: Level::Warning, text };
            Event::new(Source::Pollux, kind).derived("stream and session_file")
        }));
    }

    /// What could not be completed, in words.
    fn missing(&self, followed: bool) -> Option<String> {
        let what = "thoughts, full tool results, diffs, exit codes and tokens per message";
        if !followed {
            return Some(format!("no session file found: {what} are missing"));
        }
        if self.messages.is_empty() && self.assembly.next_answer() > 0 {
            // A disk that is full, for one.
            return Some(format!(
                "the session file has no records of this run: {what} are missing"
            ));
        }
        let ended = self
            .calls
            .iter()
            .filter(|(id, shown)| **shown == Shown::Ended && !self.completed.contains(*id));
        let mut ids: Vec<&str> = ended.map(|(id, _)| id.as_str()).collect();
        ids.sort_unstable();
        (!ids.is_empty()).then(|| {
            format!("the session file has no results for {}: they are incomplete", ids.join(", "))
        })
    }

    /// The calls that began and never ended.
    pub fn open_calls(&self) -> Vec<String> {
        let open = self
            .calls
            .iter()
            .filter(|(id, shown)| **shown == Shown::Begun && !self.completed.contains(*id));
        let mut open: Vec<String> = open.map(|(id, _)| id.clone()).collect();
        open.sort_unstable();
        open
    }

    /// The messages of the run: as the session file has them, and where it has none, as the stream showed them.
    pub fn messages(&self) -> Vec<Message<'static>> {
        let answered = self.messages.iter().any(|message| message.role == Role::Assistant);
        let asked = self.messages.iter().any(|message| message.role == Role::User && !message.meta);
        let mut messages = self.messages.clone();
        messages.extend(self.assembly.messages(!asked && !answered));
        messages
    }
}

/// What the stream has shown of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Begun,
    /// The session file will have what came of it.
    Ended,
    /// Somebody said no, or stop: there may be nothing to write down.
    Cancelled,
}

impl Shown {
    fn ended(status: Status) -> Self {
        if status == Status::Cancelled { Self::Cancelled } else { Self::Ended }
    }
}

/// How a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// With a result.
    Succeeded,
    /// With an error of the agent's own.
    Failed,
    /// Somebody stopped it.
    Stopped,
}

/// The text of a result.
fn text_of(content: &ResultContent<'_>) -> Option<String> {
    match content {
        ResultContent::Text(text) => Some(text.to_string()).filter(|text| !text.is_empty()),
        ResultContent::Blocks(blocks) => {
            let texts = blocks.iter().filter_map(|block| match block {
                Block::Text { text } => Some(text.to_string()),
                _ => None,
            });
            Some(texts.collect::<Vec<_>>().join("\n")).filter(|text| !text.is_empty())
        }
    }
}

/// What an answer says, for comparing: its texts joined as the stream joins them.
fn said(message: &Message<'_>) -> String {
    let texts = message.blocks().iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.to_str()),
        _ => None,
    });
    plain(&texts.collect::<String>())
}

/// A text for comparing: the stream takes out escapes, and the file takes off the space around.
fn plain(text: &str) -> String {
    without_colour(text).trim().to_owned()
}
