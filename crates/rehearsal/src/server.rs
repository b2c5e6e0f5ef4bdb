//! The part of the Gemini API that the CLI uses, over HTTP on loopback.

use crate::ask::Ask;
use crate::cue::{Cue, Picked};
use crate::journal::{Ended, Event, Journal};
use crate::play::Steps;
use crate::record::Recorder;
use crate::script::{Answer, Refused};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

mod sending;

use sending::{Note, Sending};

/// The longest body that is read: a prompt with images fits, a runaway does not.
const LONGEST_BODY: usize = 64 * 1024 * 1024;

/// How long open connections may take to end once their streams are broken off.
const CLOSING: Duration = Duration::from_secs(1);

/// What the handlers share.
#[derive(Debug)]
pub(crate) struct Show {
    cue: Mutex<Cue>,
    pub(crate) journal: Journal,
    recorder: Option<Recorder>,
    stop: CancellationToken,
    count: AtomicU64,
}

impl Show {
    pub(crate) fn new(
        cue: Cue,
        journal: Journal,
        recorder: Option<Recorder>,
        stop: CancellationToken,
    ) -> Self {
        Self { cue: Mutex::new(cue), journal, recorder, stop, count: AtomicU64::new(0) }
    }

    pub(crate) fn cue(&self) -> MutexGuard<'_, Cue> {
        self.cue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Accepts until it is stopped, then sees every connection end.
pub(crate) async fn serve(listener: TcpListener, show: Arc<Show>, stop: CancellationToken) {
    let router = Router::new().fallback(handle).with_state(show);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(connection(stream, router.clone(), stop.clone()))),
                // Out of file descriptors, most likely: others must end first.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            () = stop.cancelled() => break,
        }
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(CLOSING, ended).await.is_err() {
        connections.shutdown().await;
    }
}

async fn connection(stream: TcpStream, router: Router, stop: CancellationToken) {
    // Small chunks go out at once.
    let _unset = stream.set_nodelay(true);
    let builder = Builder::new(TokioExecutor::new()).http1_only();
    let served = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut served = pin!(served);
    // A client that went away or spoke nonsense is no concern of ours.
    tokio::select! {
        _ended = served.as_mut() => return,
        () = stop.cancelled() => served.as_mut().graceful_shutdown(),
    }
    let _ended = served.await;
}

async fn handle(State(show): State<Arc<Show>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let n = show.count.fetch_add(1, Ordering::Relaxed) + 1;
    let Ok(body) = to_bytes(body, LONGEST_BODY).await else {
        let message = "the request body is longer than 64 MiB or incomplete";
        let status = StatusCode::PAYLOAD_TOO_LARGE;
        show.journal.write(n, request_event(&parts, None, &Value::Null));
        Note::new(show, n, "refused".to_owned()).said(status.as_u16(), json!(message), Ended::Done);
        return refuse(status, message);
    };
    let read: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let target = Target::read(parts.uri.path());
    let ask = match &target {
        Target::Words { model, streamed } => Some(Ask::read(model, &read, *streamed)),
        _ => None,
    };
    show.journal.write(n, request_event(&parts, ask.as_ref(), &read));
    match (&show.recorder, &ask) {
        (Some(recorder), _) => {
            let note = Note::new(Arc::clone(&show), n, "recorded".to_owned());
            let reply = recorder.pass(&parts, body, ask.as_ref(), show.stop.clone()).await;
            note.pass(reply)
        }
        (None, Some(ask)) => perform(&show, n, ask, Framing::of(&target, &parts)).await,
        (None, None) => plain(&show, n, &target, &read),
    }
}

/// What a path asks for.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    Words { model: String, streamed: bool },
    CountTokens,
    Embed { many: bool },
    Models,
    Model(String),
    Unknown(String),
}

impl Target {
    /// Whatever stands before `models/` is a matter of version (`v1beta`, `v1`) and of auth (a gateway, Vertex).
    fn read(path: &str) -> Self {
        let unknown = || Self::Unknown(path.to_owned());
        let below = path.rsplit_once("/models/").map(|(_, rest)| rest);
        let Some(rest) = below.or_else(|| path.ends_with("/models").then_some("")) else {
            return unknown();
        };
        let (model, method) =
            rest.split_once(':').map_or((rest, None), |(model, method)| (model, Some(method)));
        let model = model.to_owned();
        match method {
            None if model.is_empty() => Self::Models,
            None => Self::Model(model),
            Some("streamGenerateContent") => Self::Words { model, streamed: true },
            Some("generateContent") => Self::Words { model, streamed: false },
            Some("countTokens") => Self::CountTokens,
            Some("embedContent") => Self::Embed { many: false },
            Some("batchEmbedContents") => Self::Embed { many: true },
            Some(_) => unknown(),
        }
    }
}

/// How the chunks of an answer are put on the wire.
#[derive(Debug, Clone, Copy)]
enum Framing {
    Events,
    Array,
    Whole,
}

impl Framing {
    fn of(target: &Target, parts: &Parts) -> Self {
        let events = || {
            parts.uri.query().is_some_and(|query| query.split('&').any(|pair| pair == "alt=sse"))
        };
        match target {
            Target::Words { streamed: true, .. } if events() => Self::Events,
            Target::Words { streamed: true, .. } => Self::Array,
            _ => Self::Whole,
        }
    }
}

/// Words from the script.
async fn perform(show: &Arc<Show>, n: u64, ask: &Ask, framing: Framing) -> Response {
    let Picked { rule, answer, more } = show.cue().pick(ask);
    let note = Note::new(Arc::clone(show), n, rule);
    match answer {
        Answer::Error(refused) => error(refused, note),
        Answer::Stream(stream) => {
            let steps = Steps::new(stream, &ask.model, format!("rehearsal-{n}"), more);
            let sending = Sending::new(steps, note, show.stop.clone());
            match framing {
                Framing::Events => sending.sse(),
                Framing::Array => sending.array(),
                Framing::Whole => sending.whole().await,
            }
        }
    }
}

fn error(refused: Refused, mut note: Note) -> Response {
    let status = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    note.refused(refused.status, &refused.body);
    let mut response =
        (status, [(header::CONTENT_TYPE, "application/json")], refused.body).into_response();
    for (name, value) in refused.headers {
        if let (Ok(name), Ok(value)) = (header::HeaderName::try_from(name), value.parse()) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// What is answered without words.
fn plain(show: &Arc<Show>, n: u64, target: &Target, read: &Value) -> Response {
    let (rule, status, said) = match target {
        Target::CountTokens => {
            ("count-tokens", 200, json!({ "totalTokens": read.to_string().len() / 4 }))
        }
        Target::Embed { many: false } => {
            ("embed", 200, json!({ "embedding": { "values": [0.0, 1.0] } }))
        }
        Target::Embed { many: true } => {
            let wanted = read["requests"].as_array().map_or(0, Vec::len);
            let each = vec![json!({ "values": [0.0, 1.0] }); wanted];
            ("embed", 200, json!({ "embeddings": each }))
        }
        Target::Models => ("models", 200, json!({ "models": MODELS.map(model) })),
        Target::Model(name) => ("models", 200, model(name)),
        Target::Unknown(_) | Target::Words { .. } => {
            let message = "unknown route";
            (
                "unknown",
                404,
                json!({ "error": { "code": 404, "message": message, "status": "NOT_FOUND" } }),
            )
        }
    };
    let mut note = Note::new(Arc::clone(show), n, rule.to_owned());
    note.said(status, said.clone(), Ended::Done);
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    (status, [(header::CONTENT_TYPE, "application/json")], said.to_string()).into_response()
}

/// Names that the CLI's versions know; any other name is answered just as well.
const MODELS: [&str; 5] = [
    "gemini-2.5-flash-lite",
    "gemini-2.5-flash",
    "gemini-2.5-pro",
    "gemini-3-flash-preview",
    "gemini-3.1-pro-preview",
];

fn model(name: &str) -> Value {
    json!({
        "name": format!("models/{name}"),
        "displayName": name,
        "inputTokenLimit": 1_048_576,
        "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    })
}

fn refuse(status: StatusCode, message: &str) -> Response {
    let body = json!({ "error": { "code": status.as_u16(), "message": message, "status": "INVALID_ARGUMENT" } });
    (status, [(header::CONTENT_TYPE, "application/json")], Body::from(body.to_string()))
        .into_response()
}

fn request_event(parts: &Parts, ask: Option<&Ask>, body: &Value) -> Event {
    Event::Request {
        method: parts.method.to_string(),
        path: without_key(parts),
        headers: without_secrets(&parts.headers),
        asks: ask.map(|ask| ask.asks),
        body: body.clone(),
    }
}

fn without_key(parts: &Parts) -> String {
    let path = parts.uri.path();
    let Some(query) = parts.uri.query() else { return path.to_owned() };
    let kept: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("key=")).collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}

fn without_secrets(headers: &HeaderMap) -> BTreeMap<String, String> {
    let secret = |name: &str| {
        ["x-goog-api-key", "authorization", "cookie", "proxy-authorization"].contains(&name)
    };
    let text = |(name, value): (&header::HeaderName, &header::HeaderValue)| {
        let shown = if secret(name.as_str()) {
            "(hidden)".into()
        } else {
            String::from_utf8_lossy(value.as_bytes())
        };
        (name.to_string(), shown.into_owned())
    };
    headers.iter().map(text).collect()
}
