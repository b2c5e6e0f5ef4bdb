//! Reading by page: messages, events, one event whole, what was found, what was used.
#![expect(unused_qualifications, reason = "in what utoipa makes of `params`")]

use super::{Api, Bad, need};
use crate::api::{Events, FRAME_BYTES, Messages, Problem, Scope, Search, UsageBody};
use crate::daemon::door::Guest;
use crate::daemon::{log, sse};
use crate::trouble::Trouble;
use axum::Json;
use axum::extract::{Extension, Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

const MOST: usize = 500;
/// How much of one text is given at once.
const PIECE: usize = 64 << 10;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Before {
    /// Return messages before this position; defaults to the newest.
    before: Option<u64>,
    /// Maximum number of results.
    limit: Option<usize>,
}

#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/messages", params(("id" = String, Path), Before),
    responses((status = 200, body = Messages), (status = 404, body = Problem))
)]
pub(super) async fn messages(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Path(id): Path<String>,
    Query(page): Query<Before>,
) -> Result<Json<Messages>, Bad> {
    need(&guest, Scope::View)?;
    let id = api.hub.find(&id)?;
    // What is only in the session's file so far is read now.
    api.hub.snapshot(&id).await?;
    let (no, feed) = api.hub.feed(&id)?;
    let most = page.limit.unwrap_or(50).clamp(1, MOST);
    let read = move |connection: &rusqlite::Connection| {
        log::messages(connection, no, page.before, most, FRAME_BYTES)
    };
    let found = api.hub.log().read(read).await?;
    let epoch = feed.head().1;
    let (messages, before, facts) = (found.messages, found.before, found.facts);
    Ok(Json(Messages { messages, before, facts, epoch }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct After {
    /// Return events after this number.
    #[serde(default)]
    after: u64,
    /// Maximum number of results.
    limit: Option<usize>,
}

#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/events", params(("id" = String, Path), After),
    responses((status = 200, body = Events), (status = 404, body = Problem))
)]
pub(super) async fn events(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Path(id): Path<String>,
    Query(page): Query<After>,
) -> Result<Json<Events>, Bad> {
    need(&guest, Scope::View)?;
    let id = api.hub.find(&id)?;
    let (no, feed) = api.hub.feed(&id)?;
    let most = page.limit.unwrap_or(MOST).clamp(1, MOST);
    let (entries, floor) = api
        .hub
        .log()
        .read(move |connection| {
            let entries = log::events(connection, no, page.after, most, FRAME_BYTES)?;
            Ok((entries, log::floor(connection, no)?))
        })
        .await?;
    let (seq, epoch) = feed.head();
    let events = entries.iter().map(|entry| entry.numbered()).collect();
    Ok(Json(Events { events, seq, floor, epoch }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Place {
    /// Return only the text at this JSON pointer, as listed in `cut`.
    path: Option<String>,
    /// Byte offset at which to start.
    #[serde(default)]
    offset: usize,
}

/// Part of a long text.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Piece {
    /// The text.
    text: String,
    /// Byte offset of this part.
    offset: usize,
    /// Size of the full text in bytes.
    bytes: usize,
    /// Byte offset of the next part, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<usize>,
}

#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/events/{seq}",
    params(("id" = String, Path), ("seq" = u64, Path), Place),
    responses((status = 200, body = Piece, description = "The full event, or part of one of its texts"),
        (status = 404, body = Problem))
)]
pub(super) async fn event(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Path((id, seq)): Path<(String, u64)>,
    Query(place): Query<Place>,
) -> Result<Response, Bad> {
    need(&guest, Scope::View)?;
    let id = api.hub.find(&id)?;
    let (no, _) = api.hub.feed(&id)?;
    let whole = api.hub.log().read(move |connection| log::whole(connection, no, seq)).await?;
    let unknown = |what: String| Trouble::refused("unknown_event", what);
    let whole = whole.ok_or_else(|| unknown(format!("no event {seq}")))?;
    let Some(path) = place.path else {
        return Ok((StatusCode::OK, [(CONTENT_TYPE, "application/json")], whole).into_response());
    };
    let value: Value = serde_json::from_str(&whole)?;
    let text = value.pointer(&path).and_then(Value::as_str);
    let text = text.ok_or_else(|| unknown(format!("no text at `{path}`")))?;
    let from = text.floor_char_boundary(place.offset.min(text.len()));
    let to = text.floor_char_boundary((from + PIECE).min(text.len()));
    let piece = Piece {
        text: text.get(from..to).unwrap_or_default().to_owned(),
        offset: from,
        bytes: text.len(),
        next: (to < text.len()).then_some(to),
    };
    Ok(Json(piece).into_response())
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Seen {
    /// Number of the last event that the client handled.
    after: Option<u64>,
    /// Epoch of that event.
    epoch: Option<u64>,
}

#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/stream", params(("id" = String, Path), Seen),
    responses((status = 200, description = "Frames as server-sent events", content_type = "text/event-stream"),
        (status = 404, body = Problem))
)]
pub(super) async fn stream(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Path(id): Path<String>,
    Query(seen): Query<Seen>,
    headers: HeaderMap,
) -> Result<Response, Bad> {
    need(&guest, Scope::View)?;
    let id = api.hub.find(&id)?;
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let seen = last.and_then(sse::place).or(seen.after.zip(seen.epoch));
    Ok(sse::follow(api, guest, &id, seen).await?)
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Words {
    /// Words to search for. The last one may be incomplete.
    q: String,
    /// Maximum number of results.
    limit: Option<usize>,
}

#[utoipa::path(get, path = "/api/v1/search", params(Words), responses((status = 200, body = Search)))]
pub(super) async fn search(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Query(query): Query<Words>,
) -> Result<Json<Search>, Bad> {
    need(&guest, Scope::View)?;
    let most = query.limit.unwrap_or(50).clamp(1, MOST);
    let read = move |connection: &rusqlite::Connection| log::search(connection, &query.q, most);
    Ok(Json(Search { found: api.hub.log().read(read).await? }))
}

#[utoipa::path(get, path = "/api/v1/usage", responses((status = 200, body = UsageBody)))]
pub(super) async fn usage(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
) -> Result<Json<UsageBody>, Bad> {
    need(&guest, Scope::View)?;
    Ok(Json(UsageBody { models: api.hub.log().read(log::usage).await? }))
}
