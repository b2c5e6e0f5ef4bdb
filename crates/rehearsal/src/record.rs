//! Passes requests on to a real model and writes a script that replays what it said.

use crate::ask::{Ask, Asks};
use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use reqwest::redirect::Policy;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// Headers that belong to one connection, not to the request.
const HOP_BY_HOP: [HeaderName; 5] = [
    header::HOST,
    header::CONTENT_LENGTH,
    header::ACCEPT_ENCODING,
    header::CONNECTION,
    header::TRANSFER_ENCODING,
];

/// Stands between the CLI and a real model.
#[derive(Debug)]
pub(crate) struct Recorder {
    client: reqwest::Client,
    upstream: String,
    script: Arc<Mutex<Writing>>,
}

#[derive(Debug)]
struct Writing {
    file: File,
    /// How often the same was asked, for `time`.
    times: HashMap<(Asks, String, u64), u64>,
}

impl Recorder {
    pub(crate) fn new(
        upstream: &str,
        to: &Path,
    ) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        // The first to choose a provider of cryptography wins; that it was chosen already is fine.
        let _chosen = rustls::crypto::ring::default_provider().install_default();
        let upstream = upstream.trim_end_matches('/').to_owned();
        let _valid: reqwest::Url = upstream.parse()?;
        // What somebody recorded before, or wrote, is not ours to empty.
        let mut file = File::create_new(to)?;
        writeln!(file, "# Recorded from {upstream} by `pollux rehearse --record`.")?;
        writeln!(file, "about = \"A recorded conversation\"")?;
        let script = Arc::new(Mutex::new(Writing { file, times: HashMap::new() }));
        // Where an upstream sends somebody else is for the client to see, and nobody else is sent its key.
        let client = reqwest::Client::builder().redirect(Policy::none()).build()?;
        Ok(Self { client, upstream, script })
    }

    /// Passes one request on, and its reply back as it comes.
    pub(crate) async fn pass(
        &self,
        parts: &Parts,
        body: Bytes,
        ask: Option<&Ask>,
        stop: CancellationToken,
    ) -> Response {
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut headers = parts.headers.clone();
        for name in &HOP_BY_HOP {
            headers.remove(name);
        }
        let request = self.client.request(parts.method.clone(), format!("{}{path}", self.upstream));
        let reply = match request.headers(headers).body(body).send().await {
            Ok(reply) => reply,
            Err(error) => {
                // The address may have the key in it.
                let error = error.without_url();
                return (StatusCode::BAD_GATEWAY, format!("upstream: {error}")).into_response();
            }
        };
        let (status, headers) = (reply.status(), reply.headers().clone());
        let taken = ask.map(|ask| Taken::new(ask, status, &headers, Arc::clone(&self.script)));
        let body = Body::from_stream(through(reply.bytes_stream(), taken, stop));
        let mut response = (status, body).into_response();
        for (name, value) in &headers {
            if !HOP_BY_HOP.contains(name) && name != header::CONTENT_ENCODING {
                response.headers_mut().insert(name, value.clone());
            }
        }
        response
    }
}

/// The bytes as they come; each is also kept for the script.
fn through(
    from: impl Stream<Item = reqwest::Result<Bytes>> + Send + 'static,
    taken: Option<Taken>,
    stop: CancellationToken,
) -> impl Stream<Item = reqwest::Result<Bytes>> + Send + 'static {
    let state = (Box::pin(from), taken, stop);
    stream::unfold(state, |(mut from, mut taken, stop)| async move {
        let next = tokio::select! {
            next = from.next() => next,
            // What comes after is not known: this is no end of the answer.
            () = stop.cancelled() => return None,
        };
        match (&next, &mut taken) {
            (Some(Ok(bytes)), Some(taken)) => taken.bytes.extend_from_slice(bytes),
            (Some(Err(_)), Some(taken)) => taken.lost = true,
            (None, Some(taken)) => taken.whole = true,
            (_, None) => {}
        }
        Some((next?, (from, taken, stop)))
    })
}

/// One reply that is being recorded. It becomes a rule when it is dropped, which is when the client has all of it.
#[derive(Debug)]
struct Taken {
    asks: Asks,
    prompt: String,
    step: u64,
    status: StatusCode,
    headers: BTreeMap<String, String>,
    bytes: Vec<u8>,
    /// The upstream broke the connection.
    lost: bool,
    /// The end was seen; else the client went away or the recording was stopped, and the rest is not known.
    whole: bool,
    script: Arc<Mutex<Writing>>,
}

impl Taken {
    fn new(
        ask: &Ask,
        status: StatusCode,
        headers: &HeaderMap,
        script: Arc<Mutex<Writing>>,
    ) -> Self {
        let kept = ["retry-after", "x-ratelimit-reset"].into_iter().filter_map(|name| {
            Some((name.to_owned(), headers.get(name)?.to_str().ok()?.to_owned()))
        });
        Self {
            asks: ask.asks,
            prompt: ask.prompt.clone(),
            step: ask.step,
            status,
            headers: kept.collect(),
            bytes: Vec::new(),
            lost: false,
            whole: false,
            script,
        }
    }

    fn rule(&self, time: u64) -> WrittenRule {
        let text = String::from_utf8_lossy(&self.bytes);
        let asks = Asks::NAMES.iter().find(|(_, asks)| *asks == self.asks).map(|(name, _)| *name);
        let mut rule = WrittenRule {
            asks: asks.filter(|_| self.asks != Asks::Turn),
            prompt_regex: format!("(?s)\\A{}\\z", regex::escape(&self.prompt)),
            step: (self.asks == Asks::Turn).then_some(self.step),
            time,
            ..WrittenRule::default()
        };
        if self.status.is_success() {
            let mut reply = pieces(&text);
            if self.lost {
                reply.push(WrittenPiece { cut: Some("lost"), ..WrittenPiece::default() });
            } else if !self.whole {
                reply.push(WrittenPiece { stall: Some(true), ..WrittenPiece::default() });
            }
            rule.finish = Some("none");
            rule.empty = reply.is_empty().then_some(true);
            rule.reply = Some(reply).filter(|reply| !reply.is_empty());
        } else {
            let (status, headers) = (self.status.as_u16(), self.headers.clone());
            rule.error = Some(WrittenError { status, body: text.into_owned(), headers });
        }
        rule
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if !self.whole && !self.lost && self.bytes.is_empty() {
            return;
        }
        let mut writing = self.script.lock().unwrap_or_else(PoisonError::into_inner);
        let times = writing.times.entry((self.asks, self.prompt.clone(), self.step)).or_default();
        *times += 1;
        let rule = self.rule(*times);
        let Ok(text) = toml::to_string(&Written { rule: [rule] }) else { return };
        // Written at once, so that a recording that is broken off keeps what it has.
        let _unwritten = write!(writing.file, "\n{text}").and_then(|()| writing.file.flush());
    }
}

/// Events of a stream, the objects of an array, or the one object of a plain answer; what is no JSON stays raw.
fn pieces(text: &str) -> Vec<WrittenPiece> {
    let chunk =
        |json: &str| WrittenPiece { chunk: Some(json.to_owned()), ..WrittenPiece::default() };
    let raw = |text: &str| WrittenPiece { raw: Some(text.to_owned()), ..WrittenPiece::default() };
    if let Ok(whole) = serde_json::from_str::<Value>(text) {
        return match whole {
            Value::Array(list) => list.iter().map(|json| chunk(&json.to_string())).collect(),
            _ => vec![chunk(text.trim())],
        };
    }
    let mut pieces = Vec::new();
    for event in text.split_inclusive("\n\n").flat_map(|event| event.split_inclusive("\r\n\r\n")) {
        let data = event.strip_prefix("data:").map(str::trim).filter(|_| event.ends_with('\n'));
        match data.filter(|data| serde_json::from_str::<Value>(data).is_ok()) {
            Some(data) => pieces.push(chunk(data)),
            None if event.trim().is_empty() => {}
            None => pieces.push(raw(event)),
        }
    }
    pieces
}

/// The chunks of a reply as it came.
pub(crate) fn chunks(text: &str) -> impl Iterator<Item = Value> {
    let chunks = pieces(text).into_iter().filter_map(|piece| piece.chunk);
    chunks.filter_map(|chunk| serde_json::from_str(&chunk).ok())
}

#[derive(Debug, Serialize)]
struct Written {
    rule: [WrittenRule; 1],
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
struct WrittenRule {
    #[serde(skip_serializing_if = "Option::is_none")]
    asks: Option<&'static str>,
    prompt_regex: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<u64>,
    time: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    finish: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    empty: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<WrittenError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<Vec<WrittenPiece>>,
}

#[derive(Debug, Default, Serialize)]
struct WrittenPiece {
    #[serde(skip_serializing_if = "Option::is_none")]
    chunk: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stall: Option<bool>,
}

#[derive(Debug, Serialize)]
struct WrittenError {
    status: u16,
    body: String,
    headers: BTreeMap<String, String>,
}
