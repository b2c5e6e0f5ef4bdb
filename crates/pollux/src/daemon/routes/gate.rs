//! What every request passes: its headers are looked at, then who sent it; what goes back carries the rules for browsers.

use super::bad::problem;
use super::{Api, Bad};
use crate::api::Problem;
use crate::daemon::door::{Guest, check as check_headers};
use crate::trouble::Trouble;
use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, Request, State};
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName, HeaderValue,
    ORIGIN, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// On a request that came over the user's own socket, whose file nobody else can open.
#[derive(Debug, Clone, Copy)]
pub struct Local;

/// An answer that is not there after so long is not waited for: a body that trickles in, a disk that hangs. What streams
/// has begun by then; what writes goes on.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest reason that is passed on.
const LONGEST_REASON: usize = 4 << 10;

/// Nothing from elsewhere, nothing inline, nobody's frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    font-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

/// Everybody: where the request thinks it goes, and which page sent it.
pub(super) async fn check(State(api): State<Arc<Api>>, request: Request, next: Next) -> Response {
    let local = request.extensions().get::<Local>().is_some();
    let checked = if local {
        Ok(())
    } else {
        check_headers(request.method(), request.headers(), &api.addresses)
    };
    let path = request.uri().path();
    let is_api = path.starts_with("/api/");
    let has_host = request.headers().get(HOST).is_some_and(|host| !host.as_bytes().contains(&b':'));
    // Who hands work over waits as long as the work takes.
    let waits = path == crate::daemon::mcp::PATH;
    let response = match checked {
        Ok(()) if waits => next.run(request).await,
        Ok(()) => tokio::time::timeout(PATIENCE, next.run(request))
            .await
            .unwrap_or_else(|_| StatusCode::REQUEST_TIMEOUT.into_response()),
        Err(refused) => {
            let (code, message, hint) = refused.say();
            let error = Trouble::refused(code, message).hint(hint).into();
            (StatusCode::FORBIDDEN, Json(problem(&error))).into_response()
        }
    };
    let response = if is_api { shaped(response).await } else { response };
    let mut response = with_rules(response, is_api);
    if api.secure && has_host {
        // Browsers remember it for the whole host, on all its ports: so that must be ours alone.
        let year = HeaderValue::from_static("max-age=31536000");
        response.headers_mut().insert(STRICT_TRANSPORT_SECURITY, year);
    }
    response
}

/// Errors have one shape, also those that are made before anybody of ours is asked: a body that cannot be read, a method
/// that there is not.
async fn shaped(response: Response) -> Response {
    let status = response.status();
    let kind = response.headers().get(CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if is_json || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let text = to_bytes(body, LONGEST_REASON).await.unwrap_or_default();
    let (code, hint) = match status {
        StatusCode::METHOD_NOT_ALLOWED => ("wrong_method", None),
        StatusCode::PAYLOAD_TOO_LARGE => ("too_long", None),
        StatusCode::REQUEST_TIMEOUT => (
            "too_slow",
            Some("the request timed out but may have taken effect: check before you retry"),
        ),
        status if status.is_server_error() => ("failed", Some("see the daemon's log")),
        _ => ("wrong_request", None),
    };
    let reason = String::from_utf8_lossy(&text).trim().to_owned();
    let known = || status.canonical_reason().unwrap_or_default().to_lowercase();
    let message = if reason.is_empty() { known() } else { reason };
    let problem = Problem { code: code.into(), message, hint: hint.map(str::to_owned) };
    let mut shaped = (status, Json(problem)).into_response();
    if let Some(methods) = parts.headers.get(ALLOW) {
        shaped.headers_mut().insert(ALLOW, methods.clone());
    }
    shaped
}

fn with_rules(mut response: Response, is_api: bool) -> Response {
    let rules: [(HeaderName, &'static str); 6] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    let headers = response.headers_mut();
    for (name, value) in rules {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if is_api {
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    }
    response
}

/// Those who want more than the door itself: who they are.
pub(super) async fn admit(
    State(api): State<Arc<Api>>,
    mut request: Request,
    next: Next,
) -> Response {
    let local = request.extensions().get::<Local>().is_some();
    let guest = if local { Some(Guest::owner()) } else { api.door.guest(request.headers()) };
    let Some(guest) = guest else {
        let trouble = Trouble::refused("not_signed_in", "this device is not paired");
        return Bad::from(trouble.hint("pair it with `pollux pair`")).into_response();
    };
    // A browser sends the cookie whoever made it ask; only our own page can say that it did.
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let upgrades = request.headers().contains_key(axum::http::header::UPGRADE);
    if guest.by_cookie && (!reads || upgrades) && !request.headers().contains_key(ORIGIN) {
        let trouble = Trouble::refused("not_allowed", "the request has no `Origin` header");
        return Bad::from(trouble).into_response();
    }
    api.door.seen(&guest, api.hub.now()).await;
    request.extensions_mut().insert(guest);
    if reads { next.run(request).await } else { to_the_end(&api, request, next).await }
}

/// Does what writes to its end, also where whoever asked goes away or waits no longer: it is not left half done, and it is
/// in the audit log.
async fn to_the_end(api: &Api, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let body = match Bytes::from_request(Request::from_parts(parts.clone(), body), &()).await {
        Ok(body) => body,
        Err(rejection) => return rejection.into_response(),
    };
    let request = Request::from_parts(parts, Body::from(body));
    let (tell, told) = oneshot::channel();
    api.spawn(async move {
        // Whoever asked may have gone away.
        drop(tell.send(next.run(request).await));
    });
    told.await.unwrap_or_else(|_gone| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}
