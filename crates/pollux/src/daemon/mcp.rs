//! Our MCP server: what an agent of a team can ask for. The same over Streamable HTTP, behind the door, and over a
//! stream that `pollux mcp` carries to stdin and stdout. Who asks is known by a credential that one session has.

mod tools;

use super::routes::Api;
use super::team::Caller;
use axum::RequestExt;
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, CONNECTION, UPGRADE};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper_util::rt::TokioIo;
use pollux_agent::session::By;
use rmcp::ServiceExt;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
pub use tools::Server;

/// Where the server is.
pub const PATH: &str = "/mcp";
/// Where the stream for `pollux mcp` begins.
pub const STREAM: &str = "/mcp/stream";
/// What that stream is called.
const PROTOCOL: &str = "mcp";

/// Where `pollux mcp` was started.
#[derive(Debug, Default, Deserialize)]
struct Place {
    cwd: Option<PathBuf>,
}

/// The server over HTTP. Who asks was found out before: by [`admit`].
pub fn service(api: &Arc<Api>) -> StreamableHttpService<Server, LocalSessionManager> {
    let teams = api.teams.clone();
    let mut config = StreamableHttpServerConfig::default();
    // The door looks at both, for every request.
    config.allowed_hosts = Vec::new();
    // Each request stands for itself: a daemon that was started again needs no new greeting. And no event without data
    // comes first, over which the client in Gemini CLI (0.61) stumbles.
    config.legacy_session_mode = false;
    config.sse_retry = None;
    config.cancellation_token = api.stop.child_token();
    let manager = Arc::new(LocalSessionManager::default());
    StreamableHttpService::new(move || Ok(Server::new(teams.clone(), None, None)), manager, config)
}

/// Cancelled when the credential is good for nothing any more by which somebody was let in.
#[derive(Debug, Clone)]
struct Good(CancellationToken);

/// Lets in an agent by its credential, and the user of this machine.
pub async fn admit(State(api): State<Arc<Api>>, mut request: Request, next: Next) -> Response {
    let headers = request.headers();
    let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let badge = bearer.and_then(|value| value.strip_prefix("Bearer ")).map(str::trim);
    let agent = badge.and_then(|badge| api.hub.badges().holder(badge));
    let local = request.extensions().get::<super::routes::Local>().is_some();
    let owner = match badge {
        // Whoever shows a credential is nobody else.
        Some(_) => api.door.guest(headers).is_some_and(|guest| guest.device.is_none()),
        None => local,
    };
    let caller = match agent {
        Some((session, ends)) => {
            request.extensions_mut().insert(Good(ends));
            Caller::Agent(session)
        }
        None if owner => Caller::Person(By::owner()),
        None => return StatusCode::UNAUTHORIZED.into_response(),
    };
    request.extensions_mut().insert(caller);
    // The server would take a body of any length.
    next.run(request.with_limited_body()).await
}

/// A stream in both directions over which the server speaks, one message on each line.
pub async fn stream(State(api): State<Arc<Api>>, mut request: Request) -> Response {
    let caller = request.extensions().get::<Caller>().cloned();
    let wanted = request.headers().get(UPGRADE).is_some_and(|wanted| wanted == PROTOCOL);
    let place = Query::<Place>::try_from_uri(request.uri()).map(|Query(place)| place.cwd);
    let upgrade = request.extensions_mut().remove::<hyper::upgrade::OnUpgrade>();
    let (Some(caller), true, Some(upgrade)) = (caller, wanted, upgrade) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let (teams, stop) = (api.teams.clone(), api.stop.clone());
    let ends = request.extensions_mut().remove::<Good>().map_or_else(|| stop.clone(), |it| it.0);
    api.spawn(async move {
        let Ok(upgraded) = upgrade.await else { return };
        let (read, write) = tokio::io::split(TokioIo::new(upgraded));
        let serving = async {
            // A client that went away is no concern of ours.
            if let Ok(running) =
                Server::new(teams, Some(caller), place.ok().flatten()).serve((read, write)).await
            {
                let _ended = running.waiting().await;
            }
        };
        tokio::select! {
            () = serving => {}
            () = stop.cancelled() => {}
            () = ends.cancelled() => {}
        }
    });
    let headers = [(UPGRADE, PROTOCOL), (CONNECTION, "upgrade")];
    (StatusCode::SWITCHING_PROTOCOLS, headers).into_response()
}
