//! Their records into our messages. Pure.

use super::entry::{Content as Said, Entry, Piece};
use super::wire::{Blob, Call, FunctionCall, FunctionResponse, Json, Part, Thought, Tokens};
use crate::gemini::tools;
use crate::model::{
    Agent, Block, Content, ImageSource, Level, Message, ResultContent, Status, Text, Usage,
};
use std::borrow::Cow;
use std::collections::HashMap;

/// The function responses of a session by the call that they answer.
///
/// Since 0.44 the CLI writes what a tool gave back twice, with the call and as a record of the user. The record is not
/// what anybody said: it is folded into its call, and speaks only where the call itself has no result.
#[derive(Debug, Default)]
pub(super) struct Folded<'e, 'a> {
    /// The ids of all calls; with the response that a later record brings, if the call has none of its own.
    calls: HashMap<Cow<'e, str>, Option<&'e FunctionResponse<'a>>>,
}

impl<'e, 'a> Folded<'e, 'a> {
    /// Looks through all messages.
    pub(super) fn over(entries: impl Iterator<Item = &'e Entry<'a>> + Clone) -> Self {
        let mut calls = HashMap::new();
        let ids = entries.clone().flat_map(|entry| calls_of(entry).map(|(id, ..)| id));
        calls.extend(ids.filter_map(string).map(|id| (id, None)));
        for response in entries.flat_map(|entry| entry.content.responses()) {
            if let Some(call) = string(response.id).and_then(|id| calls.get_mut(&id)) {
                call.get_or_insert(response);
            }
        }
        Self { calls }
    }

    /// Learns of calls that are told of elsewhere.
    pub(super) fn know(
        &mut self,
        responses: impl Iterator<Item = &'e FunctionResponse<'a>>,
        is_known: impl Fn(&str) -> bool,
    ) {
        let ids = responses.filter_map(|response| string(response.id));
        for id in ids.filter(|id| is_known(id)) {
            self.calls.entry(id).or_insert(None);
        }
    }

    /// True where a response answers a call that we have.
    fn has_call(&self, response: &FunctionResponse<'a>) -> bool {
        string(response.id).is_some_and(|id| self.calls.contains_key(&id))
    }
}

/// A call of an answer: from `toolCalls`, or from a part of the content where it stands only there.
type CallOf<'e, 'a> = (Json<'a>, Json<'a>, Json<'a>, Option<&'e Call<'a>>);

fn calls_of<'e, 'a>(entry: &'e Entry<'a>) -> impl Iterator<Item = CallOf<'e, 'a>> {
    let listed = &entry.row.tool_calls.items;
    let known = move |call: &FunctionCall<'a>| {
        listed.iter().any(|listed| match (string(listed.id), string(call.id)) {
            (Some(a), Some(b)) => a == b,
            _ => string(listed.name) == string(call.name),
        })
    };
    let in_parts = entry.in_parts().filter(move |call| call.read && !known(call));
    let listed = listed.iter().filter(|call| call.read);
    listed
        .map(|call| (call.id, call.name, call.args, Some(call)))
        .chain(in_parts.map(|call| (call.id, call.name, call.args, None)))
}

/// One record as a message; none where it only answers calls that are told elsewhere.
pub(super) fn message<'a>(
    id: &str,
    entry: &Entry<'a>,
    folded: &Folded<'_, 'a>,
) -> Option<Message<'a>> {
    let mut blocks = thinking(entry);
    for call in calls_of(entry) {
        tool(call, folded, &mut blocks);
    }
    let folded_away = said(entry, folded, &mut blocks);
    if folded_away && blocks.is_empty() {
        return None;
    }
    let row = &entry.row;
    let kind = string(row.kind);
    Some(Message {
        id: row.id.and_then(Text::from_raw).unwrap_or_else(|| Text::from(id.to_owned())),
        role: entry.role(),
        content: content(entry, blocks),
        timestamp: time(row.timestamp),
        tool: Agent::Gemini,
        model: row.model.and_then(Text::from_raw),
        usage: row.tokens.as_ref().filter(|tokens| tokens.read).map(usage),
        meta: entry.is_meta(),
        level: match kind.as_deref() {
            Some("warning") => Some(Level::Warning),
            Some("error") => Some(Level::Error),
            _ => None,
        },
        restored: entry.restored.clone(),
        copied: entry.is_copied(),
        recovered: false,
        original: Cow::Borrowed(entry.original),
    })
}

fn content<'a>(entry: &Entry<'a>, blocks: Vec<Block<'a>>) -> Content<'a> {
    match &entry.content {
        _ if !blocks.is_empty() => Content::Blocks(blocks),
        Said::Text(text) => Content::Raw(text.clone()),
        _ => Content::Raw(Text::from("")),
    }
}

/// The thoughts of an answer. A checkpoint writes them as parts too; those count only where the list is gone.
fn thinking<'a>(entry: &Entry<'a>) -> Vec<Block<'a>> {
    let thoughts = entry.row.thoughts.items.iter().filter(|thought| thought.read);
    let listed: Vec<Block<'a>> = thoughts
        .map(thought_of)
        .filter(|thought| !thought.trim().is_empty())
        .map(|thought| Block::Thinking { thinking: Text::from(thought) })
        .collect();
    if !listed.is_empty() {
        return listed;
    }
    let parts = entry.content.parts().filter(|part| part.is_thought());
    let texts = parts.filter_map(|part| string(part.text));
    texts.map(|text| Block::Thinking { thinking: Text::from(thought(&text)) }).collect()
}

/// A thought of the list: `subject: description`.
pub(super) fn thought_of(thought: &Thought<'_>) -> String {
    match (string(thought.subject), string(thought.description)) {
        (Some(subject), Some(description)) if !subject.is_empty() => {
            format!("{subject}: {description}")
        }
        (subject, description) => description.or(subject).unwrap_or_default().into_owned(),
    }
}

/// A thought as the model writes it, `**Subject** description`, in the shape of the list.
fn thought(text: &str) -> String {
    let parts = text.trim().strip_prefix("**").and_then(|rest| rest.split_once("**"));
    match parts {
        Some((subject, rest)) => format!("{}: {}", subject.trim(), rest.trim()),
        None => text.trim().to_owned(),
    }
}

/// A call and its result.
fn tool<'a>(
    (id, name, args, call): CallOf<'_, 'a>,
    folded: &Folded<'_, 'a>,
    blocks: &mut Vec<Block<'a>>,
) {
    let id = id.and_then(Text::from_raw).unwrap_or_else(|| Text::from(""));
    let name = string(name).unwrap_or_default();
    let display = call.and_then(|call| string(call.display_name));
    blocks.push(Block::ToolUse {
        id: id.clone(),
        input: tools::input(&name, args),
        name: tools::claude_name(name, display.as_deref()),
    });
    blocks.extend(result(id, call, folded));
}

/// What became of a call; nothing where it is still open.
fn result<'a>(id: Text<'a>, call: Option<&Call<'a>>, folded: &Folded<'_, 'a>) -> Option<Block<'a>> {
    let mut pieces = Vec::new();
    let mut failed = false;
    for piece in own_results(call) {
        match piece {
            Piece::Part(part) => failed |= part_of_result(part, &mut pieces),
            Piece::Text(text) => pieces.push(Block::Text { text: text.clone() }),
        }
    }
    let mut answered = !pieces.is_empty();
    if !answered && let Some(response) = folded_response(&id, folded) {
        failed |= response_of_result(response, &mut pieces);
        answered = true;
    }
    let status = match call.and_then(|call| string(call.status)).as_deref() {
        Some("success") => Status::Success,
        Some("error") => Status::Error,
        Some("cancelled" | "canceled") => Status::Cancelled,
        // Still running or waiting when this was written, unless somebody wrote down what came of it.
        _ if !answered => return None,
        _ if failed && is_cancelled(&pieces) => Status::Cancelled,
        _ if failed => Status::Error,
        _ => Status::Success,
    };
    if pieces.is_empty() {
        let shown = call.and_then(|call| call.result_display).and_then(Text::from_raw);
        pieces.extend(shown.map(|text| Block::Text { text }));
    }
    Some(Block::ToolResult {
        tool_use_id: id,
        content: result_content(pieces),
        is_error: status == Status::Error || (failed && status != Status::Cancelled),
        status,
    })
}

/// The parts of a call's result that are its own: of calls that ran side by side, each has the responses of all.
fn own_results<'c, 'a>(call: Option<&'c Call<'a>>) -> impl Iterator<Item = &'c Piece<'a>> {
    let id = call.and_then(|call| string(call.id));
    let pieces = call.and_then(|call| call.result.as_ref());
    let pieces = pieces.map_or([].as_slice(), |result| &result.items);
    let answers = move |piece: &Piece<'a>| match piece {
        Piece::Part(part) => Some(string(part.function_response.as_ref()?.id) == id),
        Piece::Text(_) => None,
    };
    let any_own = pieces.iter().any(|piece| answers(piece) == Some(true));
    pieces.iter().filter(move |piece| !any_own || answers(piece) != Some(false))
}

/// How the CLI words a call that somebody stopped or turned down, for where its status is lost.
fn is_cancelled(pieces: &[Block<'_>]) -> bool {
    pieces.iter().any(|piece| match piece {
        Block::Text { text } => {
            let text = text.to_str();
            let denied = text.starts_with("Tool \"") && text.ends_with("was canceled by the user.");
            denied || text.starts_with("[Operation Cancelled]")
        }
        _ => false,
    })
}

fn folded_response<'e, 'a>(
    id: &Text<'a>,
    folded: &Folded<'e, 'a>,
) -> Option<&'e FunctionResponse<'a>> {
    folded.calls.get(id.to_str().as_ref()).copied().flatten()
}

fn result_content(mut pieces: Vec<Block<'_>>) -> ResultContent<'_> {
    match pieces.pop() {
        None => ResultContent::Text(Text::from("")),
        Some(Block::Text { text }) if pieces.is_empty() => ResultContent::Text(text),
        Some(last) => {
            pieces.push(last);
            ResultContent::Blocks(pieces)
        }
    }
}

/// One part of a result. True where it tells of an error.
fn part_of_result<'a>(part: &Part<'a>, pieces: &mut Vec<Block<'a>>) -> bool {
    let mut failed = false;
    if let Some(response) = &part.function_response {
        failed = response_of_result(response, pieces);
    }
    pieces.extend(part.text.and_then(Text::from_raw).map(|text| Block::Text { text }));
    pieces.extend(attachment(part));
    failed
}

fn response_of_result<'a>(response: &FunctionResponse<'a>, pieces: &mut Vec<Block<'a>>) -> bool {
    let mut failed = false;
    let mut rest = serde_json::Map::new();
    for (key, value) in response.response.iter().flat_map(|entries| &entries.0) {
        failed |= key == "error" && value.get() != "null";
        match (key.as_ref(), Text::from_raw(value)) {
            ("output" | "error", Some(text)) => pieces.push(Block::Text { text }),
            ("output" | "error", None) if value.get() == "null" => {}
            ("output" | "error", None) => {
                pieces.push(Block::Text { text: Text::from(value.get().to_owned()) });
            }
            (key, _) => {
                let value = serde_json::from_str(value.get()).unwrap_or_default();
                rest.insert(key.to_owned(), value);
            }
        }
    }
    if !rest.is_empty() {
        pieces.push(Block::Text { text: Text::from(serde_json::Value::Object(rest).to_string()) });
    }
    for part in &response.parts.items {
        failed |= part_of_result(part, pieces);
    }
    failed
}

/// What is said in a record. True where responses were left out because their calls tell of them.
fn said<'a>(entry: &Entry<'a>, folded: &Folded<'_, 'a>, blocks: &mut Vec<Block<'a>>) -> bool {
    let mut left_out = false;
    match &entry.content {
        Said::None => {}
        Said::Text(text) if text.is_blank() => {}
        Said::Text(text) => blocks.push(Block::Text { text: text.clone() }),
        Said::Parts(pieces) => {
            for piece in pieces {
                left_out |= piece_said(piece, folded, blocks);
            }
        }
    }
    left_out
}

fn piece_said<'a>(piece: &Piece<'a>, folded: &Folded<'_, 'a>, blocks: &mut Vec<Block<'a>>) -> bool {
    let part = match piece {
        Piece::Text(text) if text.is_blank() => return false,
        Piece::Text(text) => {
            blocks.push(Block::Text { text: text.clone() });
            return false;
        }
        Piece::Part(part) => part,
    };
    let told = part.function_response.as_ref().is_some_and(|response| folded.has_call(response));
    if let Some(response) = part.function_response.as_ref().filter(|_| !told) {
        blocks.push(orphan(response));
    }
    if !part.is_thought() {
        let text = part.text.and_then(Text::from_raw).filter(|text| !text.is_blank());
        blocks.extend(text.map(|text| Block::Text { text }));
        blocks.extend(attachment(part));
    }
    told
}

/// A response to a call that is nowhere: what it says is kept.
fn orphan<'a>(response: &FunctionResponse<'a>) -> Block<'a> {
    let mut pieces = Vec::new();
    let failed = response_of_result(response, &mut pieces);
    let status = match failed {
        true if is_cancelled(&pieces) => Status::Cancelled,
        true => Status::Error,
        false => Status::Success,
    };
    Block::ToolResult {
        tool_use_id: response.id.and_then(Text::from_raw).unwrap_or_else(|| Text::from("")),
        content: result_content(pieces),
        is_error: status == Status::Error,
        status,
    }
}

/// A picture as a picture; another file, or code that the model ran, as a text that says what it is.
fn attachment<'a>(part: &Part<'a>) -> Option<Block<'a>> {
    let describe = |blob: &Blob<'a>| {
        let kind = string(blob.mime_type).unwrap_or("unknown type".into());
        let place = string(blob.file_uri).map(|uri| format!(" at {uri}")).unwrap_or_default();
        Block::Text { text: Text::from(format!("[attached file, {kind}{place}]")) }
    };
    let blobs = [part.inline_data.as_ref(), part.file_data.as_ref()].into_iter().flatten();
    if let Some(blob) = blobs.into_iter().find(|blob| blob.read) {
        let is_image = string(blob.mime_type).is_some_and(|kind| kind.starts_with("image/"));
        let text = |json: Json<'a>| json.and_then(Text::from_raw);
        return Some(match (text(blob.mime_type), text(blob.data), text(blob.file_uri)) {
            (Some(media_type), Some(data), _) if is_image => {
                Block::Image { source: ImageSource::Base64 { media_type, data } }
            }
            (_, _, Some(url)) if is_image => Block::Image { source: ImageSource::Url { url } },
            _ => describe(blob),
        });
    }
    let code = part.executable_code.or(part.code_execution_result)?;
    Some(Block::Text { text: Text::from(code.get().to_owned()) })
}

/// Tokens as Gemini counts them. The total is theirs; the sum stands in where they give none.
pub(super) fn usage(tokens: &Tokens<'_>) -> Usage {
    let counts = [tokens.input, tokens.output, tokens.thoughts, tokens.tool];
    let sum = counts.iter().fold(0, |sum: u64, count| sum.saturating_add(count.0));
    Usage {
        input_tokens: tokens.input.0,
        output_tokens: tokens.output.0,
        total_tokens: tokens.total.map_or(sum, |total| total.0),
        cached_tokens: tokens.cached.0,
        thoughts_tokens: tokens.thoughts.0,
        tool_tokens: tokens.tool.0,
    }
}

/// The text of a JSON string.
pub(in crate::gemini) fn string(json: Json<'_>) -> Option<Cow<'_, str>> {
    let raw = json?.get();
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    Text::from_raw(json?).map(|text| Cow::Owned(text.to_str().into_owned()))
}

/// A point in time, in milliseconds since 1970: an ISO string, or already that number, where there is such a time.
pub(in crate::gemini) fn time(json: Json<'_>) -> Option<i64> {
    let time = match string(json) {
        Some(text) => text.parse().ok(),
        None => jiff::Timestamp::from_millisecond(json?.get().parse().ok()?).ok(),
    };
    time.map(jiff::Timestamp::as_millisecond)
}
