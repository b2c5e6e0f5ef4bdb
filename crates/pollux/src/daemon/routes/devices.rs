//! Devices: letting in, listing, sending away; and who did what.
#![expect(unused_qualifications, reason = "in what utoipa makes of `params`")]

use super::sessions::{note, noted};
use super::{Api, Bad, need};
use crate::api::{
    AuditEntry, Device, Devices, Health, Me, Pair, Paired, Pairing, Problem, Scope, VERSION,
};
use crate::daemon::door::{Guest, MOST_MINUTES};
use crate::daemon::log;
use crate::trouble::Trouble;
use axum::Json;
use axum::extract::{Extension, Path, Query, State};
use axum::http::HeaderMap;
use axum::http::header::SET_COOKIE;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

const LONGEST_NAME: usize = 64;
/// Somebody who has not been let in, in the audit log.
const STRANGER: &str = "(not let in)";
/// Names that are not for devices: the user's, Pollux's own, and a stranger's.
const TAKEN: [&str; 3] = ["owner", "pollux", STRANGER];
/// A browser keeps its cookie for a year, unless it is sent away before.
const COOKIE_SECONDS: u32 = 31_536_000;

#[utoipa::path(
    post, path = "/api/v1/pairings", request_body = Pairing,
    responses((status = 200, body = Pair), (status = 403, body = Problem))
)]
pub(super) async fn pair(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Json(pairing): Json<Pairing>,
) -> Result<Json<Pair>, Bad> {
    need(&guest, Scope::Admin)?;
    // Nobody passes on more than he has.
    for scope in &pairing.scopes {
        need(&guest, *scope)?;
    }
    let pairing = Pairing { name: pairing.name.trim().to_owned(), ..pairing };
    if pairing.minutes.is_some_and(|minutes| !(1..=MOST_MINUTES).contains(&minutes)) {
        let message = format!("a pairing code can be valid for 1 to {MOST_MINUTES} minutes");
        return Err(Trouble::refused("wrong_request", message).into());
    }
    if !is_name(&pairing.name) || pairing.scopes.is_empty() {
        let message = "a device needs an unused name of at most 64 bytes and at least one scope";
        return Err(Trouble::refused("wrong_request", message).into());
    }
    let detail = json!({ "name": pairing.name, "scopes": pairing.scopes });
    noted(&api, &guest, "pair", None, detail).await?;
    let (code, expires_at) = api.door.pairings.open(pairing, api.hub.now());
    let origins = api.addresses.origins().into_iter();
    let urls = origins.map(|origin| format!("{origin}/#pair={code}")).collect();
    let fingerprint = api.fingerprint.clone();
    Ok(Json(Pair { code, urls, fingerprint, expires_at }))
}

/// True for a name under which nobody in the audit log is taken for somebody else.
fn is_name(name: &str) -> bool {
    let is_taken = TAKEN.iter().any(|taken| name.eq_ignore_ascii_case(taken));
    !name.is_empty() && name.len() <= LONGEST_NAME && !name.contains(char::is_control) && !is_taken
}

/// The result of pairing a device.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LetIn {
    /// The device.
    #[serde(flatten)]
    me: Me,
    /// The credential, for programs. Browsers get it as an `HttpOnly` cookie instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

/// Pairs this device with a code. Needs no credential: the code is the credential.
#[utoipa::path(
    post, path = "/api/v1/pair", request_body = Paired,
    responses((status = 200, body = LetIn), (status = 401, body = Problem))
)]
pub(super) async fn claim(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    Json(Paired { code, name: own }): Json<Paired>,
) -> Result<Response, Bad> {
    let now = api.hub.now();
    let stranger = Guest { name: STRANGER.into(), scopes: Vec::new(), ..Guest::owner() };
    let open = api.door.pairings.is_open(now);
    let Some(Pairing { name, scopes, .. }) = api.door.pairings.claim(&code, now) else {
        // Where no code could be guessed, nobody who is not let in can fill the disk either.
        if open {
            note(&api, &stranger, "wrong_code", None, json!({})).await;
        }
        let trouble = Trouble::refused("wrong_code", "this code is wrong, already used or expired");
        return Err(trouble.hint("create a new one with `pollux pair`").into());
    };
    let own = own.map(|own| own.trim().to_owned()).filter(|own| is_name(own));
    let name = own.unwrap_or(name);
    let id = uuid::Uuid::new_v4().to_string();
    let device = Device {
        id: id.clone(),
        name: name.clone(),
        scopes: scopes.clone(),
        created_at: now,
        seen_at: Some(now),
    };
    noted(&api, &stranger, "let_in", None, json!({ "device": name, "id": id })).await?;
    let secret = api.door.admit(device).await?;
    let me = Me { device: name, scopes };
    if !headers.contains_key("origin") {
        let token = Some(secret.expose().to_owned());
        return Ok(Json(LetIn { me, token }).into_response());
    }
    let secure = if api.secure { "; Secure" } else { "" };
    let cookie = format!(
        "{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={COOKIE_SECONDS}{secure}",
        api.door.cookie(),
        secret.expose(),
    );
    Ok(([(SET_COOKIE, cookie)], Json(LetIn { me, token: None })).into_response())
}

#[utoipa::path(get, path = "/api/v1/devices", responses((status = 200, body = Devices)))]
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
) -> Result<Json<Devices>, Bad> {
    need(&guest, Scope::Admin)?;
    Ok(Json(Devices { devices: api.door.list() }))
}

#[utoipa::path(
    delete, path = "/api/v1/devices/{id}", params(("id" = String, Path)),
    responses((status = 200, body = Health), (status = 404, body = Problem))
)]
pub(super) async fn revoke(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Path(id): Path<String>,
) -> Result<Json<Health>, Bad> {
    need(&guest, Scope::Admin)?;
    let known = api.door.list().iter().any(|device| device.id == id);
    if known {
        noted(&api, &guest, "revoke", None, json!({ "id": id })).await?;
    }
    if !known || !api.door.revoke(&id).await? {
        let message = format!("no device `{id}`");
        let trouble = Trouble::refused("unknown_device", message);
        return Err(trouble.hint("list devices with `pollux devices`").into());
    }
    Ok(Json(Health { ok: true, api: VERSION }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Last {
    /// Maximum number of entries.
    limit: Option<usize>,
}

/// The audit log.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Audit {
    /// Entries, newest first.
    entries: Vec<AuditEntry>,
}

#[utoipa::path(get, path = "/api/v1/audit", params(Last), responses((status = 200, body = Audit)))]
pub(super) async fn audit(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Query(last): Query<Last>,
) -> Result<Json<Audit>, Bad> {
    need(&guest, Scope::Admin)?;
    let most = last.limit.unwrap_or(100).clamp(1, 1000);
    let read = move |connection: &rusqlite::Connection| log::audited(connection, most);
    Ok(Json(Audit { entries: api.hub.log().read(read).await? }))
}
