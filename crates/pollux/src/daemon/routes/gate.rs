//! What every request passes: its headers are looked at, then who sent it; what goes back carries the rules for browsers.

use super::bad::problem;
use super::{Api, Bad};
use crate::daemon::door::{Guest, check as check_headers};
use crate::trouble::Trouble;
use axum::Json;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, ORIGIN, REFERRER_POLICY,
    STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use std::time::Duration;

/// On a request that came over the user's own socket, whose file nobody else can open.
#[derive(Debug, Clone, Copy)]
pub struct Local;

/// An answer that is not there after so long is not coming: a body that trickles in, a disk that hangs. What streams has
/// begun by then.
const PATIENCE: Duration = Duration::from_secs(30);

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
    with_rules(response, is_api, &api)
}

fn with_rules(mut response: Response, is_api: bool, api: &Api) -> Response {
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
    if api.secure {
        headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
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
        let trouble = Trouble::refused("not_signed_in", "this device is not known here");
        return Bad::from(trouble.hint("let it in with `pollux pair`")).into_response();
    };
    // A browser sends the cookie whoever made it ask; only our own page can say that it did.
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let upgrades = request.headers().contains_key(axum::http::header::UPGRADE);
    if guest.by_cookie && (!reads || upgrades) && !request.headers().contains_key(ORIGIN) {
        let trouble = Trouble::refused("not_allowed", "a browser says which page sent a request");
        return Bad::from(trouble).into_response();
    }
    api.door.seen(&guest, api.hub.now()).await;
    request.extensions_mut().insert(guest);
    next.run(request).await
}
