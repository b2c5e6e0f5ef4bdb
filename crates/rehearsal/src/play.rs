//! Turns an answer into steps: chunks of the API, pauses, and the ways in which a stream can break. Pure.

use crate::cue::fill_text;
use crate::script::{Cut, Item, Split, Stream, Usage};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::time::Duration;

/// One step of an answer.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// A chunk of the API.
    Chunk(Value),
    /// Bytes as they are.
    Raw(String),
    Pause(Duration),
    /// Nothing more until the client goes away.
    Stall,
    /// The connection breaks.
    Lost,
}

/// What one item gives, before the chunks around it are known.
enum Piece {
    Parts(Vec<Value>),
    Step(Step),
    /// The end, with nothing after it.
    End,
}

/// The steps of an answer. Long answers are made as they are sent.
pub(crate) struct Steps {
    pieces: Peekable<Box<dyn Iterator<Item = Piece> + Send>>,
    envelope: Envelope,
    finished: bool,
}

/// What every chunk carries besides its parts.
#[derive(Debug, Clone)]
pub(crate) struct Envelope {
    pub(crate) model: String,
    pub(crate) id: String,
    pub(crate) usage: Usage,
    pub(crate) finish: Option<String>,
    pub(crate) more: Map<String, Value>,
}

impl Steps {
    pub(crate) fn new(stream: Stream, model: &str, id: String, more: Map<String, Value>) -> Self {
        let (usage, finish) = (stream.usage, stream.finish);
        let envelope = Envelope { model: model.to_owned(), id, usage, finish, more };
        let pieces: Box<dyn Iterator<Item = Piece> + Send> =
            Box::new(together(stream.items).into_iter().flat_map(pieces));
        Self { pieces: pieces.peekable(), envelope, finished: false }
    }
}

impl Iterator for Steps {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.finished {
            return None;
        }
        let step = match self.pieces.next() {
            Some(Piece::Parts(parts)) => {
                self.finished = self.pieces.peek().is_none();
                self.envelope.chunk(&parts, self.finished)
            }
            // A chunk that was written out whole is sent as it is, and may be the end.
            Some(Piece::Step(Step::Chunk(whole))) => {
                self.finished = self.pieces.peek().is_none();
                Step::Chunk(whole)
            }
            Some(Piece::Step(step)) => step,
            Some(Piece::End) => {
                self.finished = true;
                return None;
            }
            None => {
                self.finished = true;
                self.envelope.finish.is_some().then(|| self.envelope.chunk(&[], true))?
            }
        };
        Some(step)
    }
}

impl Envelope {
    fn chunk(&self, parts: &[Value], last: bool) -> Step {
        let Usage { prompt, answer, thoughts, cached } = self.usage;
        let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
        if let Some(finish) = self.finish.as_ref().filter(|_| last) {
            candidate["finishReason"] = json!(finish);
        }
        for (name, value) in self.more.iter().filter(|_| last) {
            candidate[name] = value.clone();
        }
        Step::Chunk(json!({
            "candidates": [candidate],
            "usageMetadata": {
                "promptTokenCount": prompt,
                "candidatesTokenCount": answer,
                "thoughtsTokenCount": thoughts,
                "cachedContentTokenCount": cached,
                "totalTokenCount": prompt.saturating_add(answer).saturating_add(thoughts),
            },
            "modelVersion": self.model,
            "responseId": self.id,
        }))
    }
}

/// Calls that stand beside each other are made at once, in one chunk.
fn together(items: Vec<Item>) -> Vec<Vec<Item>> {
    let mut groups: Vec<Vec<Item>> = Vec::new();
    for item in items {
        let call = |item: &Item| matches!(item, Item::Call { .. });
        match groups.last_mut() {
            Some(group) if call(&item) && group.first().is_some_and(call) => group.push(item),
            _ => groups.push(vec![item]),
        }
    }
    groups
}

fn pieces(group: Vec<Item>) -> Box<dyn Iterator<Item = Piece> + Send> {
    let one = |piece| Box::new(std::iter::once(piece)) as Box<dyn Iterator<Item = Piece> + Send>;
    if matches!(group.first(), Some(Item::Call { .. })) {
        return one(Piece::Parts(group.into_iter().filter_map(call_part).collect()));
    }
    match group.into_iter().next() {
        Some(Item::Text { texts, split, thought, repeat, pause }) => {
            texts_of(&texts, split, (thought, repeat), pause)
        }
        Some(Item::Pause(pause) | Item::Stall(Some(pause))) => one(Piece::Step(Step::Pause(pause))),
        Some(Item::Stall(None)) => one(Piece::Step(Step::Stall)),
        Some(Item::Raw(raw)) => one(Piece::Step(Step::Raw(raw))),
        Some(Item::Chunk(whole)) => one(Piece::Step(Step::Chunk(whole))),
        Some(Item::Cut(Cut::Lost)) => Box::new([Piece::Step(Step::Lost), Piece::End].into_iter()),
        Some(Item::Cut(Cut::Half)) => {
            let half = "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"cut".to_owned();
            Box::new([Piece::Step(Step::Raw(half)), Piece::End].into_iter())
        }
        Some(Item::Call { .. }) | None => Box::new(std::iter::empty()),
    }
}

fn call_part(item: Item) -> Option<Value> {
    let Item::Call { name, args, id, .. } = item else { return None };
    let mut call = json!({ "name": name, "args": args });
    if let Some(id) = id {
        call["id"] = json!(id);
    }
    Some(json!({ "functionCall": call }))
}

fn texts_of(
    texts: &[String],
    split: Option<Split>,
    (thought, repeat): (bool, u64),
    pause: Duration,
) -> Box<dyn Iterator<Item = Piece> + Send> {
    let numbered = texts.iter().any(|text| text.contains("{{"));
    let chunks: Vec<String> = texts.iter().flat_map(|text| cut(text, split)).collect();
    let all = (1..=repeat).flat_map(move |n| {
        let words = BTreeMap::from([("n".to_owned(), n.to_string())]);
        let fill = |text: &String| if numbered { fill_text(text, &words) } else { text.clone() };
        chunks.iter().map(fill).collect::<Vec<_>>()
    });
    let mut first = true;
    Box::new(all.flat_map(move |text| {
        let part = if thought {
            json!({ "text": text, "thought": true })
        } else {
            json!({ "text": text })
        };
        let before = (!pause.is_zero() && !first).then_some(Piece::Step(Step::Pause(pause)));
        first = false;
        before.into_iter().chain([Piece::Parts(vec![part])])
    }))
}

fn cut(text: &str, split: Option<Split>) -> Vec<String> {
    match split {
        None => vec![text.to_owned()],
        Some(Split::Words) => {
            text.split_inclusive(char::is_whitespace).map(str::to_owned).collect()
        }
        Some(Split::Lines) => text.split_inclusive('\n').map(str::to_owned).collect(),
        Some(Split::Every(size)) => {
            let letters: Vec<char> = text.chars().collect();
            letters.chunks(size).map(|letters| letters.iter().collect()).collect()
        }
    }
}

/// All chunks of an answer as one, for requests that do not stream.
pub(crate) fn collapse(chunks: Vec<Value>) -> Value {
    let parts = |chunk: &Value| {
        chunk["candidates"][0]["content"]["parts"].as_array().cloned().unwrap_or_default()
    };
    let all: Vec<Value> = chunks.iter().flat_map(parts).collect();
    let mut whole = chunks.into_iter().next_back().unwrap_or_else(|| json!({}));
    if whole["candidates"][0].is_object() {
        whole["candidates"][0]["content"]["parts"] = Value::Array(all);
    }
    whole
}
