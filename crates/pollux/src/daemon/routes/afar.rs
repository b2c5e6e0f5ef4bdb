//! What reaches out of the daemon: links that show a session, and calls to devices.

use super::sessions::note;
use super::{Api, Bad, need};
use crate::api::{
    Call, CallKind, Called, Health, Problem, PushKey, Scope, Share, ShareLink, Shared, Subscribe,
    Unsubscribe, VERSION, Watched,
};
use crate::daemon::door::{Guest, Secret, hash};
use crate::daemon::log::{self, Subscription};
use crate::daemon::push;
use crate::render::redact;
use crate::trouble::Trouble;
use axum::Json;
use axum::extract::{Extension, Path, State};
use jiff::SignedDuration;
use serde_json::{Value, json};
use std::sync::Arc;

/// A link lasts a day unless somebody says otherwise, and a month at most.
const HOURS: u32 = 24;
const MOST_HOURS: u32 = 24 * 31;
/// A page of a session that is shown.
const MESSAGES: usize = 50;
const BYTES: usize = 64 << 10;

/// Creates a share link: a read-only view of one session with secrets removed.
#[utoipa::path(
    post, path = "/api/v1/sessions/{id}/share", params(("id" = String, Path)), request_body = Share,
    responses((status = 200, body = ShareLink), (status = 403, body = Problem))
)]
pub(super) async fn share(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Path(id): Path<String>,
    Json(share): Json<Share>,
) -> Result<Json<ShareLink>, Bad> {
    need(&guest, Scope::Admin)?;
    let id = api.hub.find(&id)?;
    let hours = share.hours.unwrap_or(HOURS).clamp(1, MOST_HOURS);
    let now = api.hub.now();
    let until = now.saturating_add(SignedDuration::from_hours(hours.into())).unwrap_or(now);
    let secret = Secret::random();
    let (hash, session) = (hash(secret.expose()), id.clone());
    api.hub
        .log()
        .write(move |connection| log::share(connection, &hash, &session, (now, until)))
        .await?;
    note(&api, &guest, "share", Some(&id), json!({ "hours": hours })).await;
    let origins = api.addresses.origins().into_iter();
    let urls = origins.map(|origin| format!("{origin}/#/shared/{}", secret.expose())).collect();
    Ok(Json(ShareLink { urls, expires_at: until }))
}

/// Revokes all share links of a session.
#[utoipa::path(
    delete, path = "/api/v1/sessions/{id}/share", params(("id" = String, Path)),
    responses((status = 200, body = Health), (status = 404, body = Problem))
)]
pub(super) async fn unshare(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Path(id): Path<String>,
) -> Result<Json<Health>, Bad> {
    need(&guest, Scope::Admin)?;
    let id = api.hub.find(&id)?;
    let session = id.clone();
    let gone = api.hub.log().write(move |connection| log::unshare(connection, &session)).await?;
    note(&api, &guest, "unshare", Some(&id), json!({ "links": gone })).await;
    Ok(Json(Health { ok: true, api: VERSION }))
}

/// Shows a session to a client with a share link. Needs no pairing: the token in the link is the credential.
#[utoipa::path(
    post, path = "/api/v1/shared", request_body = Watched,
    responses((status = 200, body = Shared), (status = 401, body = Problem))
)]
pub(super) async fn shared(
    State(api): State<Arc<Api>>,
    Json(Watched { token, before }): Json<Watched>,
) -> Result<Json<Shared>, Bad> {
    let (hash, now) = (hash(&token), api.hub.now());
    let found = api.hub.log().read(move |connection| log::shared(connection, &hash, now)).await?;
    let Some((id, expires_at)) = found else {
        let trouble = Trouble::refused("wrong_code", "this link is invalid or has expired");
        return Err(trouble.hint("ask for a new link").into());
    };
    // What is only in the session's file so far is read now.
    let summary = api.hub.snapshot(&id).await?.summary;
    let (no, _) = api.hub.feed(&id)?;
    let read = move |connection: &rusqlite::Connection| {
        // Looked through as a whole, and cut then: half a key does not look like one.
        log::messages_by(connection, no, before, (MESSAGES, BYTES), Some(clean_texts))
    };
    let page = api.hub.log().read(read).await?;
    let title = summary.title.as_deref().map(redact);
    Ok(Json(Shared { title, messages: page.messages, before: page.before, expires_at }))
}

/// Texts only: a number that stands after the word `tokens` is no secret. The name of a field says what its text is.
fn clean_texts(value: &mut Value) {
    match value {
        Value::String(text) => *text = redact(text),
        Value::Array(values) => values.iter_mut().for_each(clean_texts),
        Value::Object(fields) => {
            for (name, value) in fields {
                clean_texts(value);
                if let Value::String(text) = value {
                    let named = format!("{name}: ");
                    let clean = redact(&format!("{named}{text}"));
                    clean.strip_prefix(&named).unwrap_or("[redacted]").clone_into(text);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[utoipa::path(get, path = "/api/v1/push/key", responses((status = 200, body = PushKey)))]
pub(super) async fn key(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
) -> Result<Json<PushKey>, Bad> {
    need(&guest, Scope::View)?;
    Ok(Json(PushKey { key: api.push.key() }))
}

/// Subscribes this device to push notifications.
#[utoipa::path(
    post, path = "/api/v1/push/subscription", request_body = Subscribe,
    responses((status = 200, body = Health), (status = 400, body = Problem))
)]
pub(super) async fn subscribe(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Json(new): Json<Subscribe>,
) -> Result<Json<Health>, Bad> {
    need(&guest, Scope::View)?;
    push::checked(&new.endpoint, &new.keys.p256dh, &new.keys.auth)?;
    let subscription = Subscription {
        device: guest.id().to_owned(),
        endpoint: new.endpoint,
        p256dh: new.keys.p256dh,
        auth: new.keys.auth,
    };
    api.hub.log().write(move |connection| log::subscribe(connection, &subscription)).await?;
    note(&api, &guest, "subscribe", None, json!({})).await;
    Ok(Json(Health { ok: true, api: VERSION }))
}

/// Unsubscribes this device from push notifications.
#[utoipa::path(
    delete, path = "/api/v1/push/subscription", request_body = Unsubscribe,
    responses((status = 200, body = Health))
)]
pub(super) async fn unsubscribe(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Json(Unsubscribe { endpoint }): Json<Unsubscribe>,
) -> Result<Json<Health>, Bad> {
    need(&guest, Scope::View)?;
    api.hub.log().write(move |connection| log::unsubscribe(connection, &endpoint)).await?;
    Ok(Json(Health { ok: true, api: VERSION }))
}

/// Sends a test notification to this device.
#[utoipa::path(post, path = "/api/v1/push/test", responses((status = 200, body = Called)))]
pub(super) async fn test(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
) -> Result<Json<Called>, Bad> {
    need(&guest, Scope::View)?;
    let body = "This is a test notification.".to_owned();
    let call = Call { kind: CallKind::Test, title: "Pollux".into(), body, session_id: None };
    let called = api.push.call(&api.hub, &call, Some(guest.id())).await?;
    Ok(Json(Called { called }))
}

#[cfg(test)]
mod tests {
    use super::clean_texts;
    use serde_json::json;

    #[test]
    fn a_message_keeps_its_numbers_and_loses_its_secrets() {
        let mut message = json!({
            "content": [
                { "type": "text", "text": "the key is GEMINI_API_KEY=abcdef123456" },
                { "type": "tool_use", "name": "login", "input": { "password": "hunter2hunter2", "user": "ada" } },
            ],
            "usage": { "input_tokens": 161_400, "total_tokens": 184_220 },
        });
        clean_texts(&mut message);
        assert_eq!(
            message,
            json!({
                "content": [
                    { "type": "text", "text": "the key is GEMINI_API_KEY=[redacted]" },
                    { "type": "tool_use", "name": "login", "input": { "password": "[redacted]", "user": "ada" } },
                ],
                "usage": { "input_tokens": 161_400, "total_tokens": 184_220 },
            })
        );
    }
}
