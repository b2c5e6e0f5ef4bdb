//! Their words: the records of a session file, under the CLI's own names.
//!
//! One type reads every kind of record, because the old format's document, the new format's lines and the content of a
//! `$set` share their keys. Which kind it is, is asked afterwards, in the order in which the CLI's own loader asks.

use super::entry::Piece;
use super::translate::time;
use crate::gemini::loose::{Count, Entries, List, Mend, items, loose_object};
use crate::model::Text;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::marker::PhantomData;

/// A value that is looked at later, if at all. `null` is none.
pub(super) type Json<'a> = Option<&'a RawValue>;

loose_object! {
    /// One record, with as much of its calls as `C` takes.
    Row<C> {
        "$rewindTo" => rewind_to: Json<'a>,
        "$set" => set: Json<'a>,
        "id" => id: Json<'a>,
        "timestamp" => timestamp: Json<'a>,
        "type" => kind: Json<'a>,
        "content" => content: Json<'a>,
        "displayContent" => display_content: Json<'a>,
        "thoughts" => thoughts: List<Thought<'a>>,
        "tokens" => tokens: Option<Tokens<'a>>,
        "model" => model: Json<'a>,
        "toolCalls" => tool_calls: List<C>,
        "sessionId" => session_id: Json<'a>,
        "projectHash" => project_hash: Json<'a>,
        "startTime" => start_time: Json<'a>,
        "lastUpdated" => last_updated: Json<'a>,
        "kind" => session_kind: Json<'a>,
        "summary" => summary: Json<'a>,
        "directories" => directories: Json<'a>,
        "messages" => messages: Json<'a>,
    }
}

loose_object! {
    /// `thoughts[]` of an answer.
    Thought {
        "subject" => subject: Json<'a>,
        "description" => description: Json<'a>,
    }
}

loose_object! {
    /// `tokens` of an answer.
    Tokens {
        "input" => input: Count,
        "output" => output: Count,
        "cached" => cached: Count,
        "thoughts" => thoughts: Count,
        "tool" => tool: Count,
        "total" => total: Option<Count>,
    }
}

loose_object! {
    /// `toolCalls[]` of an answer.
    Call {
        "id" => id: Json<'a>,
        "name" => name: Json<'a>,
        "args" => args: Json<'a>,
        "result" => result: Option<Results<'a>>,
        "status" => status: Json<'a>,
        "resultDisplay" => result_display: Json<'a>,
        "displayName" => display_name: Json<'a>,
    }
}

loose_object! {
    /// A call without what it was given and what it gave, for those who only count.
    Glance {
        "id" => id: Json<'a>,
        "name" => name: Json<'a>,
        "status" => status: Json<'a>,
        "displayName" => display_name: Json<'a>,
    }
}

/// A call, read whole or in part.
pub(super) trait Called<'a>: Deserialize<'a> + Mend<'a> + Default + Clone {
    fn id(&self) -> Json<'a>;
    fn faults(&self) -> Option<&'static str>;
}

impl<'a> Called<'a> for Call<'a> {
    fn id(&self) -> Json<'a> {
        self.id
    }

    fn faults(&self) -> Option<&'static str> {
        match self {
            Self { read: false, .. } => Some("a tool call is not an object"),
            Self { result: Some(Results { read: false, .. }), .. } => {
                Some("a `result` is not a list")
            }
            _ => None,
        }
    }
}

impl<'a> Called<'a> for Glance<'a> {
    fn id(&self) -> Json<'a> {
        self.id
    }

    fn faults(&self) -> Option<&'static str> {
        (!self.read).then_some("a tool call is not an object")
    }
}

loose_object! {
    /// A part of a content, as the Gemini API has it.
    Part {
        "text" => text: Json<'a>,
        "thought" => thought: Json<'a>,
        "functionCall" => function_call: Option<FunctionCall<'a>>,
        "functionResponse" => function_response: Option<FunctionResponse<'a>>,
        "inlineData" => inline_data: Option<Blob<'a>>,
        "fileData" => file_data: Option<Blob<'a>>,
        "executableCode" => executable_code: Json<'a>,
        "codeExecutionResult" => code_execution_result: Json<'a>,
    }
}

loose_object! {
    /// `functionCall` of a part.
    FunctionCall {
        "id" => id: Json<'a>,
        "name" => name: Json<'a>,
        "args" => args: Json<'a>,
    }
}

loose_object! {
    /// `functionResponse` of a part.
    FunctionResponse {
        "id" => id: Json<'a>,
        "name" => name: Json<'a>,
        "response" => response: Option<Entries<'a>>,
        "parts" => parts: List<Part<'a>>,
    }
}

loose_object! {
    /// `inlineData` or `fileData` of a part.
    Blob {
        "mimeType" => mime_type: Json<'a>,
        "data" => data: Json<'a>,
        "fileUri" => file_uri: Json<'a>,
    }
}

/// `result` of a call: parts, or texts where parts could stand, or one of these alone.
#[derive(Debug, Clone, Default)]
pub(super) struct Results<'a> {
    pub(super) items: Vec<Piece<'a>>,
    /// False where something else stands.
    pub(super) read: bool,
}

impl<'a> Results<'a> {
    fn of(items: Vec<Piece<'a>>) -> Self {
        Self { items, read: true }
    }
}

impl<'a> Mend<'a> for Results<'a> {
    fn mend(raw: &'a RawValue) -> Self {
        let raws = items(raw).or_else(|| Text::from_raw(raw).map(|_| vec![raw]));
        raws.map_or_else(Self::default, |raws| {
            Self::of(raws.into_iter().map(Piece::read).collect())
        })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Results<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Given(PhantomData, Results::of))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Piece<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let first = |mut pieces: Vec<Self>| pieces.pop().unwrap_or_default();
        deserializer.deserialize_any(Given(PhantomData, first))
    }
}

/// Reads a text, a part, or a list of these, and makes something of them.
struct Given<'a, T, F: FnOnce(Vec<Piece<'a>>) -> T>(PhantomData<&'a ()>, F);

impl<'de: 'a, 'a, T: Default, F: FnOnce(Vec<Piece<'a>>) -> T> Visitor<'de> for Given<'a, T, F> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<T, A::Error> {
        let mut pieces = Vec::new();
        while let Some(piece) = seq.next_element()? {
            pieces.push(piece);
        }
        Ok((self.1)(pieces))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        let part = Part::deserialize(MapAccessDeserializer::new(map))?;
        Ok((self.1)(vec![Piece::from(part)]))
    }
    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<T, E> {
        Ok((self.1)(vec![Piece::Text(Text::from(text))]))
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        Ok((self.1)(vec![Piece::Text(Text::from(text.to_owned()))]))
    }
    fn visit_bool<E: Error>(self, _: bool) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_i64<E: Error>(self, _: i64) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_u64<E: Error>(self, _: u64) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_f64<E: Error>(self, _: f64) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(T::default())
    }
}

/// The kinds of record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Drop this message and all after it.
    Rewind,
    /// A message; one with the same id is replaced.
    Message,
    /// A change of the session's own fields, or a new list of messages.
    Set,
    /// The session's own fields; in the old format with the messages.
    Header,
    /// Something that this version does not know.
    Unknown,
}

impl<'a, C: Called<'a>> Row<'a, C> {
    /// Reads one record. Fails only where it is not JSON.
    pub(super) fn parse(json: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json).or_else(|error| match serde_json::from_str(json) {
            Ok(raw) => Ok(Self::mend(raw)),
            Err(_) => Err(error),
        })
    }

    /// Which kind of record it is, asked in the order of the CLI's own loader. Looser than that: a message needs no id
    /// and a header no project.
    pub(super) fn what(&self) -> Kind {
        if self.rewind_to.and_then(Text::from_raw).is_some() {
            Kind::Rewind
        } else if self.id.and_then(Text::from_raw).is_some() {
            Kind::Message
        } else if self.set.is_some() {
            Kind::Set
        } else if self.session_id.is_some() || self.messages.is_some() {
            Kind::Header
        } else if self.kind.and_then(Text::from_raw).is_some() && self.content.is_some() {
            Kind::Message
        } else {
            Kind::Unknown
        }
    }

    /// What is wrong with it, in words.
    pub(super) fn faults(&self) -> Vec<&'static str> {
        let string = |json: Json<'a>| json.is_none_or(|raw| Text::from_raw(raw).is_some());
        let mut faults = Vec::new();
        let mut fault = |holds: bool, what| {
            if !holds {
                faults.push(what);
            }
        };
        fault(self.read, "it is not an object");
        fault(string(self.id), "`id` is not a string");
        let is_time = string(self.timestamp) || time(self.timestamp).is_some();
        fault(is_time, "`timestamp` is not a time");
        fault(string(self.kind), "`type` is not a string");
        fault(string(self.model), "`model` is not a string");
        fault(!self.thoughts.wrong, "`thoughts` is not a list");
        fault(self.thoughts.items.iter().all(|thought| thought.read), "a thought is not an object");
        fault(!self.tool_calls.wrong, "`toolCalls` is not a list");
        fault(self.tokens.as_ref().is_none_or(|tokens| tokens.read), "`tokens` is not an object");
        faults.extend(self.tool_calls.items.iter().find_map(Called::faults));
        faults
    }
}
