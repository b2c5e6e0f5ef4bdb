//! Server-sent events: the same frames, for clients that only listen.

use super::door::Guest;
use super::log::Bell;
use super::reader::Reader;
use super::routes::Api;
use super::streams::Open;
use crate::api::{HEARTBEAT_SECONDS, ServerFrame};
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream::unfold;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

struct Stream {
    api: Arc<Api>,
    guest: Guest,
    reader: Reader,
    bell: Arc<Bell>,
    first: Option<String>,
    _open: Open,
}

/// Follows one session. The id of each event is `epoch:seq`, which a browser sends back by itself when it reconnects.
pub async fn follow(
    api: Arc<Api>,
    guest: Guest,
    id: &str,
    seen: Option<(u64, u64)>,
) -> anyhow::Result<Response> {
    let open = api.streams.open(&guest)?;
    let bell = Arc::default();
    let (reader, first) = Reader::open(&api.hub, id, seen, &bell).await?;
    let stream = Stream { api, guest, reader, bell, first: Some(first), _open: open };
    let body = unfold(stream, |mut stream| async move {
        let frame = stream.next().await?;
        let (seq, epoch) = stream.reader.place();
        let text = format!("id: {epoch}:{seq}\ndata: {frame}\n\n");
        Some((Ok::<_, Infallible>(Bytes::from(text)), stream))
    });
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(body)).into_response())
}

/// The place in `Last-Event-ID`.
pub fn place(text: &str) -> Option<(u64, u64)> {
    let (epoch, seq) = text.split_once(':')?;
    Some((seq.parse().ok()?, epoch.parse().ok()?))
}

impl Stream {
    async fn next(&mut self) -> Option<String> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            // Before anything else: an agent that never pauses would have it told for ever.
            if self.guest.revoked.is_cancelled() || self.api.stop.is_cancelled() {
                return None;
            }
            match self.reader.next().await {
                Ok(Some(frame)) => return Some(frame),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!("{error:#}");
                    return None;
                }
            }
            tokio::select! {
                () = self.api.stop.cancelled() => return None,
                () = self.guest.revoked.cancelled() => return None,
                _ = self.bell.heard() => {}
                () = tokio::time::sleep(Duration::from_secs(HEARTBEAT_SECONDS)) => {
                    let beat = ServerFrame::Heartbeat { at: self.api.hub.now() };
                    return serde_json::to_string(&beat).ok();
                }
            }
        }
    }
}
