//! Listening: on a port, with or without TLS, and on the user's own socket. Every connection is a task that we own.

use super::door::tls::Tls;
use super::impatient::Impatient;
use super::routes::Local;
use axum::Extension;
use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// How long a client may take to say what it wants, and to shake hands.
const HEADERS: Duration = Duration::from_secs(10);
/// How long a client may take to read something of what it is sent, before its seat is another's.
const READS: Duration = Duration::from_secs(20);
/// How many connections there may be; one more waits.
const CONNECTIONS: usize = 512;
/// How long open connections may take to end.
const CLOSING: Duration = Duration::from_secs(2);

/// The seat of a connection among those that there may be; none on the user's own socket. A WebSocket keeps the seat of
/// the connection that it was.
#[derive(Debug, Clone)]
pub struct Seat(
    #[expect(dead_code, reason = "it is held, not looked at")] Option<Arc<OwnedSemaphorePermit>>,
);

/// Serves a port until it is stopped.
pub async fn port(
    listener: TcpListener,
    tls: Option<Tls>,
    router: Router,
    stop: CancellationToken,
) {
    let acceptor = tls.map(|tls| tokio_rustls::TlsAcceptor::from(tls.config));
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let permit = tokio::select! {
            permit = Arc::clone(&room).acquire_owned() => permit,
            () = stop.cancelled() => break,
        };
        let Ok(permit) = permit else { break };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            () = stop.cancelled() => break,
        };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors, most likely: others must end first.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        // Small frames go out at once.
        let _unset = stream.set_nodelay(true);
        let (router, stop, acceptor) = (router.clone(), stop.clone(), acceptor.clone());
        let seat = Seat(Some(Arc::new(permit)));
        let stream = Impatient::new(stream, HEADERS, READS);
        connections.spawn(async move {
            match acceptor {
                None => connection(stream, router, seat, stop).await,
                Some(acceptor) => {
                    let shaken = tokio::time::timeout(HEADERS, acceptor.accept(stream)).await;
                    if let Ok(Ok(stream)) = shaken {
                        connection(stream, router, seat, stop).await;
                    }
                }
            }
        });
    }
    end(connections).await;
}

/// Listens on the user's own socket. Its directory and the socket are nobody else's.
pub fn bind(path: &Path) -> std::io::Result<UnixListener> {
    use std::os::unix::fs::PermissionsExt;
    if path.exists() {
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Serves the user's own socket until it is stopped.
pub async fn socket(listener: UnixListener, router: Router, stop: CancellationToken) {
    let router = router.layer(Extension(Local));
    let user = rustix::process::getuid().as_raw();
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            () = stop.cancelled() => break,
        };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors, most likely: others must end first.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        // The file's permissions say the same; this says it where they are not looked at.
        if stream.peer_cred().is_ok_and(|peer| peer.uid() == user) {
            connections.spawn(connection(stream, router.clone(), Seat(None), stop.clone()));
        }
    }
    end(connections).await;
}

async fn end(mut connections: JoinSet<()>) {
    let ended = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(CLOSING, ended).await.is_err() {
        connections.shutdown().await;
    }
}

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    router: Router,
    seat: Seat,
    stop: CancellationToken,
) {
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADERS);
    let service = router.map_request(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(seat.clone());
        request
    });
    let service = TowerToHyperService::new(service);
    let served = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
    let mut served = pin!(served);
    // A client that went away or spoke nonsense is no concern of ours.
    tokio::select! {
        _ended = served.as_mut() => return,
        () = stop.cancelled() => served.as_mut().graceful_shutdown(),
    }
    let _ended = served.await;
}
