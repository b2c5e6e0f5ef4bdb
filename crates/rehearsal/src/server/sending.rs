//! Sends an answer step by step, and writes down how it ended.

use super::Show;
use crate::journal::{Ended, Event};
use crate::play::{Step, Steps, collapse};
use crate::record::chunks;
use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// So many pieces of what was said are written down; a benchmark says more.
const WRITTEN_DOWN: usize = 1000;

/// How long it takes for what was said to be on the wire.
const FLUSHED: Duration = Duration::from_millis(2);

/// The note on a reply: it is written when it is dropped, so none is missing whatever happens to the connection.
#[derive(Debug)]
pub(super) struct Note {
    show: Arc<Show>,
    n: u64,
    rule: String,
    status: u16,
    chunks: u64,
    said: Vec<Value>,
    ended: Ended,
    since: Instant,
}

impl Note {
    pub(super) fn new(show: Arc<Show>, n: u64, rule: String) -> Self {
        let (said, since) = (Vec::new(), Instant::now());
        Self { show, n, rule, status: 200, chunks: 0, said, ended: Ended::Left, since }
    }

    pub(super) fn said(&mut self, status: u16, said: Value, ended: Ended) {
        (self.status, self.said, self.ended) = (status, vec![said], ended);
    }

    pub(super) fn refused(&mut self, status: u16, body: &str) {
        self.said(status, said(body), Ended::Done);
    }

    /// Adds the parts of a chunk; text that goes on is put together.
    fn chunk(&mut self, chunk: &Value) {
        self.chunks += 1;
        for part in chunk["candidates"][0]["content"]["parts"].as_array().into_iter().flatten() {
            let full = self.said.len() >= WRITTEN_DOWN;
            let goes_on = |last: &&mut Value| {
                last["text"].is_string()
                    && part["text"].is_string()
                    && last["thought"] == part["thought"]
            };
            match (self.said.last_mut().filter(goes_on), part["text"].as_str()) {
                (Some(last), Some(more)) => append(last, more),
                _ if full => {}
                _ => self.said.push(part.clone()),
            }
        }
    }
}

fn append(part: &mut Value, more: &str) {
    if let Some(Value::String(text)) = part.get_mut("text") {
        text.push_str(more);
    }
}

impl Note {
    /// Passes a reply of a real model on, and writes down what went by.
    pub(super) fn pass(mut self, reply: Response) -> Response {
        let (parts, body) = reply.into_parts();
        self.status = parts.status.as_u16();
        let passing = Passing { note: self, bytes: Vec::new() };
        let state = (body.into_data_stream(), passing);
        let body = stream::unfold(state, |(mut from, mut passing)| async {
            let next = from.next().await;
            passing.sees(next.as_ref());
            Some((next?, (from, passing)))
        });
        Response::from_parts(parts, Body::from_stream(body))
    }
}

/// A reply that goes by. What it said is told when it is over, or when nobody wants the rest.
struct Passing {
    note: Note,
    bytes: Vec<u8>,
}

impl Passing {
    fn sees<E>(&mut self, next: Option<&Result<Bytes, E>>) {
        match next {
            Some(Ok(bytes)) => self.bytes.extend_from_slice(bytes),
            Some(Err(_)) => self.note.ended = Ended::Cut,
            None if self.note.ended == Ended::Cut => {}
            None if self.note.show.stop.is_cancelled() => self.note.ended = Ended::Stopped,
            None => self.note.ended = Ended::Done,
        }
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.bytes);
        if self.note.status < 400 {
            chunks(&text).for_each(|chunk| self.note.chunk(&chunk));
        }
        if self.note.said.is_empty() && !text.is_empty() {
            self.note.said = vec![said(&text)];
        }
    }
}

/// A body as it is written down.
fn said(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_else(|_not_json| json!(body))
}

impl Drop for Note {
    fn drop(&mut self) {
        let event = Event::Reply {
            rule: std::mem::take(&mut self.rule),
            status: self.status,
            chunks: self.chunks,
            said: Value::Array(std::mem::take(&mut self.said)),
            ended: self.ended,
            ms: self.since.elapsed().as_secs_f64() * 1000.0,
        };
        self.show.journal.write(self.n, event);
    }
}

/// An answer on its way.
pub(super) struct Sending {
    steps: Steps,
    note: Note,
    stop: CancellationToken,
}

/// What the next bytes of an answer are.
enum Next {
    Chunk(Value),
    Raw(String),
    /// The connection breaks.
    Broken,
    End,
}

impl Sending {
    pub(super) fn new(steps: Steps, note: Note, stop: CancellationToken) -> Self {
        Self { steps, note, stop }
    }

    async fn next(&mut self) -> Next {
        loop {
            if self.stop.is_cancelled() {
                self.note.ended = Ended::Stopped;
                return Next::Broken;
            }
            match self.steps.next() {
                Some(Step::Chunk(chunk)) => {
                    self.note.chunk(&chunk);
                    return Next::Chunk(chunk);
                }
                Some(Step::Raw(raw)) => return Next::Raw(raw),
                Some(Step::Pause(pause)) => {
                    tokio::select! {
                        () = tokio::time::sleep(pause) => {}
                        () = self.stop.cancelled() => {}
                    }
                }
                Some(Step::Stall) => self.stop.cancelled().await,
                Some(Step::Lost) => {
                    self.note.ended = Ended::Cut;
                    // What was said before is sent while this waits; an error would take it along.
                    tokio::time::sleep(FLUSHED).await;
                    return Next::Broken;
                }
                None => {
                    self.note.ended = Ended::Done;
                    return Next::End;
                }
            }
        }
    }

    /// As events, the way the CLI asks for it.
    pub(super) fn sse(self) -> Response {
        let body = stream::unfold(Some(self), |sending| async {
            let mut sending = sending?;
            match sending.next().await {
                Next::Chunk(chunk) => Some((
                    Ok(Bytes::from(format!("data: {}\r\n\r\n", on_one_line(&chunk)))),
                    Some(sending),
                )),
                Next::Raw(raw) => Some((Ok(Bytes::from(raw)), Some(sending))),
                Next::Broken => Some((Err(broken()), None)),
                Next::End => None,
            }
        });
        ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(body)).into_response()
    }

    /// As one JSON array that grows, for clients that do not ask for events.
    pub(super) fn array(self) -> Response {
        let body = stream::unfold((Some(self), "["), |(sending, before)| async move {
            let mut sending = sending?;
            match sending.next().await {
                Next::Chunk(chunk) => Some((
                    Ok(Bytes::from(format!("{before}{}", on_one_line(&chunk)))),
                    (Some(sending), ",\r\n"),
                )),
                Next::Raw(raw) => {
                    Some((Ok(Bytes::from(format!("{before}{raw}"))), (Some(sending), "")))
                }
                Next::Broken => Some((Err(broken()), (None, ""))),
                Next::End => {
                    let end = if before == "[" { "[]" } else { "]" };
                    Some((Ok(Bytes::from(end)), (None, "")))
                }
            }
        });
        ([(header::CONTENT_TYPE, "application/json")], Body::from_stream(body)).into_response()
    }

    /// All at once.
    pub(super) async fn whole(mut self) -> Response {
        let mut chunks = Vec::new();
        let body = loop {
            match self.next().await {
                Next::Chunk(chunk) => chunks.push(chunk),
                Next::Raw(raw) => break Body::from(raw),
                Next::Broken => break Body::from_stream(stream::iter([Err::<Bytes, _>(broken())])),
                Next::End => break Body::from(collapse(chunks).to_string()),
            }
        };
        ([(header::CONTENT_TYPE, "application/json")], body).into_response()
    }
}

/// Google's JSON escapes the two line ends that JSON does not ask to escape, and its own client relies on it.
fn on_one_line(chunk: &Value) -> String {
    let text = chunk.to_string();
    if !text.contains(['\u{2028}', '\u{2029}']) {
        return text;
    }
    text.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn broken() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the script closes the connection here")
}
