//! The API over HTTP, under `/api/v1`.

mod afar;
mod around;
mod bad;
mod devices;
mod gate;
mod openapi;
mod pages;
mod schedules;
mod sessions;
mod teams;

pub use bad::{Bad, problem};
pub use gate::Local;
pub use openapi::document;
pub use sessions::commanded;

use super::door::{Addresses, Door, Guest};
use super::fits::Fits;
use super::hub::Hub;
use super::push::Push;
use super::server::Seat;
use super::streams::Streams;
use super::team::Teams;
use super::{mcp, socket, web};
use crate::api::{Capabilities, FEATURES, Health, Me, Scope, VERSION};
use crate::daemon::guard::lock;
use crate::trouble::Trouble;
use axum::extract::{DefaultBodyLimit, Extension, State, WebSocketUpgrade};
use axum::response::Response;
use axum::routing::{delete, get, post};
use axum::{Json, Router, middleware};
use std::sync::{Arc, Mutex};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The longest body of a request: a prompt of a megabyte, with its escapes.
const LONGEST_BODY: usize = 4 << 20;
/// The longest event of a session that is brought: as long as a line of the agent may be.
const LONGEST_EVENT: usize = 64 << 20;

/// What all requests share.
#[derive(Debug)]
pub struct Api {
    /// The sessions.
    pub hub: Hub,
    /// Those who work for each other.
    pub teams: Teams,
    /// What goes on by itself: streams of `pollux mcp`, and what was asked for by somebody who may have gone.
    pub tasks: Mutex<JoinSet<()>>,
    /// Who is let in.
    pub door: Door,
    /// By which addresses the daemon is reached.
    pub addresses: Addresses,
    /// The fingerprint of the certificate, where it is our own.
    pub fingerprint: Option<String>,
    /// True where browsers speak TLS to it, or to a proxy in front of it.
    pub secure: bool,
    /// Calls to devices.
    pub push: Arc<Push>,
    /// The streams that devices have open.
    pub streams: Streams,
    /// The windows that were made to fit the screens of clients.
    pub fits: Fits,
    /// Cancelled when the daemon shall end.
    pub stop: CancellationToken,
}

impl Api {
    /// Does something whose end nobody here waits for. It ends with the daemon at the latest.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(work);
    }
}

/// All routes, behind the door.
pub fn router(api: Arc<Api>) -> Router {
    let open = Router::new()
        .route("/api/v1/health", get(health))
        .route("/api/v1/pair", post(devices::claim))
        .route("/api/v1/shared", post(afar::shared))
        .fallback(web::page);
    let closed = Router::new()
        .route("/api/v1/me", get(me))
        .route("/api/v1/capabilities", get(capabilities))
        .route("/api/v1/openapi.json", get(openapi::serve))
        .route("/api/v1/ws", get(upgrade))
        .route("/api/v1/sessions", get(sessions::list).post(sessions::begin))
        .route("/api/v1/sessions/adopt", post(sessions::adopt))
        .route("/api/v1/sessions/bring", get(bring))
        .route("/api/v1/sessions/{id}", get(sessions::show))
        .route("/api/v1/sessions/{id}/commands", get(around::slash).post(sessions::command))
        .route("/api/v1/sessions/{id}/messages", get(pages::messages))
        .route("/api/v1/sessions/{id}/events", get(pages::events))
        .route("/api/v1/sessions/{id}/events/{seq}", get(pages::event))
        .route("/api/v1/sessions/{id}/stream", get(pages::stream))
        .route("/api/v1/sessions/{id}/restore", post(sessions::restore))
        .route("/api/v1/questions", get(sessions::questions))
        .route("/api/v1/projects", get(sessions::projects).post(sessions::trust))
        .route("/api/v1/projects/browse", get(around::browse))
        .route("/api/v1/files", get(around::files))
        .route("/api/v1/models", get(around::models))
        .route("/api/v1/images", post(around::image))
        .route("/api/v1/search", get(pages::search))
        .route("/api/v1/usage", get(pages::usage))
        .route("/api/v1/devices", get(devices::list))
        .route("/api/v1/devices/{id}", delete(devices::revoke))
        .route("/api/v1/pairings", post(devices::pair))
        .route("/api/v1/sessions/{id}/share", post(afar::share).delete(afar::unshare))
        .route("/api/v1/push/key", get(afar::key))
        .route("/api/v1/push/subscription", post(afar::subscribe).delete(afar::unsubscribe))
        .route("/api/v1/push/test", post(afar::test))
        .route("/api/v1/audit", get(devices::audit))
        .route("/api/v1/shutdown", post(shutdown))
        .merge(teams::routes())
        .merge(schedules::routes())
        .route_layer(middleware::from_fn_with_state(Arc::clone(&api), gate::admit));
    let mcp = Router::new()
        .route(mcp::STREAM, get(mcp::stream))
        .route_service(mcp::PATH, mcp::service(&api))
        .route_layer(middleware::from_fn_with_state(Arc::clone(&api), mcp::admit));
    open.merge(closed)
        .merge(mcp)
        .layer(DefaultBodyLimit::max(LONGEST_BODY))
        .layer(middleware::from_fn_with_state(Arc::clone(&api), gate::check))
        .with_state(api)
}

/// What a guest must be allowed.
pub(super) fn need(guest: &Guest, scope: Scope) -> Result<(), Bad> {
    if guest.may(scope) {
        return Ok(());
    }
    let name = serde_json::to_value(scope).ok();
    let name = name.as_ref().and_then(|name| name.as_str()).unwrap_or("more").to_owned();
    let message = format!("this device lacks the scope `{name}`");
    Err(Trouble::refused("not_allowed", message).hint("pair it again with that scope").into())
}

#[utoipa::path(get, path = "/api/v1/health", responses((status = 200, body = Health)))]
async fn health() -> Json<Health> {
    Json(Health { ok: true, api: VERSION })
}

#[utoipa::path(get, path = "/api/v1/me", responses((status = 200, body = Me)))]
async fn me(Extension(guest): Extension<Guest>) -> Json<Me> {
    Json(Me { device: guest.name, scopes: guest.scopes })
}

#[utoipa::path(get, path = "/api/v1/capabilities", responses((status = 200, body = Capabilities)))]
async fn capabilities(State(api): State<Arc<Api>>) -> Json<Capabilities> {
    Json(Capabilities {
        pollux: env!("CARGO_PKG_VERSION").to_owned(),
        api: VERSION,
        features: FEATURES.iter().map(|feature| (*feature).to_owned()).collect(),
        drivers: api.hub.drivers(),
    })
}

/// Stops the daemon. Only the local user may do this.
#[utoipa::path(post, path = "/api/v1/shutdown", responses((status = 200, body = Health)))]
async fn shutdown(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
) -> Result<Json<Health>, Bad> {
    need(&guest, Scope::Admin)?;
    if guest.device.is_some() {
        let message = "only the local user can stop the daemon";
        return Err(Trouble::refused("not_allowed", message).into());
    }
    api.stop.cancel();
    Ok(Json(Health { ok: true, api: VERSION }))
}

/// Takes in a session that lives in another process of the user's. Programs of ours only: it is no part of the document.
async fn bring(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Bad> {
    if guest.device.is_some() {
        let message = "only programs of the local user can register a session";
        return Err(Trouble::refused("not_allowed", message).into());
    }
    let (hub, stop) = (api.hub.clone(), api.stop.clone());
    let upgrade = upgrade.max_message_size(LONGEST_EVENT).max_frame_size(LONGEST_EVENT);
    Ok(upgrade.on_upgrade(move |socket| super::hub::brought(hub, socket, stop)))
}

#[utoipa::path(get, path = "/api/v1/ws", responses((status = 101, description = "Switches to WebSocket frames")))]
async fn upgrade(
    State(api): State<Arc<Api>>,
    Extension(guest): Extension<Guest>,
    Extension(seat): Extension<Seat>,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Bad> {
    need(&guest, Scope::View)?;
    let open = api.streams.open(&guest)?;
    let upgrade = upgrade.max_message_size(socket::LONGEST).max_frame_size(socket::LONGEST);
    Ok(upgrade.on_upgrade(move |socket| async move {
        socket::talk(api, guest, socket).await;
        drop((seat, open));
    }))
}
