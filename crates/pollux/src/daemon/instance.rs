//! One daemon for each user: its place, its lock, its life.

mod place;
mod settings;
mod unrestored;

pub use place::{Address, Place, RUNS_ALREADY};
use settings::Others;
pub use settings::{Serve, Told};
pub use unrestored::Unrestored;

use super::clock::Wall;
use super::door::tls::{self, Tls};
use super::door::{Addresses, Door, Secret};
use super::fits::Fits;
use super::hub::agent::Agents;
use super::hub::{Hub, Settings, Uploads};
use super::log::{Keep, Log, retain};
use super::push::{self, Push, Vapid};
use super::routes::{Api, router};
use super::streams::Streams;
use super::team::badge::Lending;
use super::team::{self, Teams};
use super::{mcp, server};
use crate::ends::Ends;
use crate::team::store::Store;
use crate::trouble::Trouble;
use anyhow::Context;
use jiff::SignedDuration;
use pollux_agent::gemini::hooks::deliver::Place as HookPlace;
use pollux_agent::session::Limits;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// What is old is looked for so often.
const RETAIN: Duration = Duration::from_hours(1);

/// So many ports are tried.
const TRIES: usize = 20;

/// A daemon that is about to run. Its lock is held, its port is bound.
#[derive(Debug)]
pub struct Daemon {
    place: Place,
    _lock: place::Lock,
    listeners: Vec<TcpListener>,
    tls: Option<Tls>,
    api: Arc<Api>,
    keep: Keep,
    hooks: Option<HookPlace>,
    /// Where it is reached.
    pub address: Address,
}

/// What a daemon needs besides its settings.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Where it keeps its things.
    pub place: Place,
    /// The agent's own directory.
    pub gemini: PathBuf,
    /// The index of the agent's files.
    pub index: Option<PathBuf>,
    /// How agents are started.
    pub agents: Agents,
    /// Where hooks hand over what they were told.
    pub hooks: Option<HookPlace>,
    /// Where profiles are.
    pub profiles: Store,
}

impl Daemon {
    /// Takes the lock, opens the log and binds the port. Fails where another daemon runs.
    pub async fn open(serve: &Serve, around: Surroundings) -> anyhow::Result<Self> {
        let Surroundings { place, gemini, index, agents, hooks, profiles } = around;
        place.make()?;
        let lock = place.lock()?;
        if let Some(before) = place.announced() {
            // It was killed. What it had started knows nobody any more who would answer it, and two agents on one session
            // would undo each other's work.
            pollux_agent::process::end_strays_of(before.pid);
        }
        if let Some(Unrestored { found, hint }) = Unrestored::read(&place.shared()) {
            tracing::warn!("{found}; {hint}");
        }
        let log = Log::open(&place.log())?;
        let keep = Keep {
            age: SignedDuration::from_hours(24 * i64::from(serve.keep_days)),
            bytes: u64::from(serve.keep_megabytes) << 20,
        };
        let limits = Limits {
            yolo: SignedDuration::from_mins(i64::from(serve.yolo_minutes)),
            stall: SignedDuration::from_secs(i64::from(serve.stall_seconds)),
            ..Limits::default()
        };
        let uploads = Uploads::new(place.uploads());
        let settings = Settings { gemini, index, limits, uploads };
        let hub = Hub::open(log.clone(), agents, settings)?;
        let (listeners, others) = listen(serve).await?;
        let bound = listeners.first().context("no listener is bound")?.local_addr()?;
        let names = serve.names(bound.ip(), others);
        let loopback = bound.ip().is_loopback();
        let tls = match (&serve.certificate, serve.is_proxied() || loopback) {
            (Some((certificate, key)), _) => Some(tls::from_files(certificate, key)?),
            (None, true) => None,
            (None, false) => Some(tls::own(&place.tls(), &bare(&names))?),
        };
        let mut addresses = Addresses::new(&names, bound.port(), tls.is_some());
        if let Some(origin) = &serve.behind_proxy {
            addresses.add(origin);
        }
        let any = bound.ip().is_unspecified();
        let host = if any { "127.0.0.1".to_owned() } else { settings::written(bound.ip()) };
        let url = format!("http://{host}:{}{}", bound.port(), mcp::PATH);
        let reached = tls.is_none() && (loopback || any);
        hub.badges().open(Lending {
            directory: place.lent(),
            url: reached.then_some(url),
            program: std::env::current_exe()
                .context("cannot determine the path of this program")?,
            socket: place.socket(),
        })?;
        let settings = team::Settings { store: profiles, limits: serve.team, trees: place.trees() };
        let teams = Teams::open(hub.clone(), settings)?;
        let owner = Secret::in_file(&place.token()).context("could not create the token file")?;
        let door = Door::new(log, &owner, format!("pollux_{}", bound.port()))?;
        let address = Address {
            pid: std::process::id(),
            origins: addresses.origins(),
            fingerprint: tls
                .as_ref()
                .filter(|_| serve.certificate.is_none())
                .map(|tls| tls.fingerprint.clone()),
        };
        let fingerprint = address.fingerprint.clone();
        let secure = tls.is_some() || serve.is_proxied();
        let stop = CancellationToken::new();
        let push = Arc::new(Push::new(Vapid::in_file(&place.vapid())?));
        let tasks = std::sync::Mutex::default();
        let (streams, fits) = (Streams::default(), Fits::default());
        let api = Arc::new(Api {
            hub,
            teams,
            tasks,
            door,
            addresses,
            fingerprint,
            secure,
            push,
            streams,
            fits,
            stop,
        });
        Ok(Self { place, _lock: lock, listeners, tls, api, keep, hooks, address })
    }

    /// What the requests share, for tests that look inside.
    pub fn api(&self) -> Arc<Api> {
        Arc::clone(&self.api)
    }

    /// Serves until somebody says stop: a signal, or a request.
    pub async fn run(self) -> anyhow::Result<()> {
        self.api.hub.will_follow_files();
        let stop = self.api.stop.clone();
        let socket = server::bind(&self.place.socket())
            .with_context(|| format!("could not listen on {}", self.place.socket().display()))?;
        let router = router(Arc::clone(&self.api));
        let hub = self.api.hub.clone();
        // Whoever asks finds the agents that live.
        let mut tasks = JoinSet::new();
        if hub.take_up_all().await {
            hub.sweep();
        } else {
            tasks.spawn(hub.clone().take_up_late());
        }
        if let Some(hooks) = self.hooks {
            tasks.spawn(hub.clone().hear_hooks(hooks));
        }
        for listener in self.listeners {
            let tls = self.tls.clone();
            tasks.spawn(server::port(listener, tls, router.clone(), stop.clone()));
        }
        tasks.spawn(server::socket(socket, router, stop.clone()));
        tasks.spawn(push::watch(hub.clone(), Arc::clone(&self.api.push), stop.clone()));
        tasks.spawn(hub.clone().mend());
        tasks.spawn(self.api.teams.clone().run(stop.clone()));
        tasks.spawn(self.api.teams.clone().keep_schedules(stop.clone()));
        tasks.spawn(hub.clone().follow_files());
        tasks.spawn(keep(self.api.teams.clone(), self.keep, stop.clone()));
        self.place.announce(&self.address)?;
        tracing::info!(origins = ?self.address.origins, "serving");
        let (mut interrupt, mut ends) = (signal(SignalKind::interrupt())?, Ends::new()?);
        tokio::select! {
            _ = interrupt.recv() => {}
            () = ends.told() => {}
            () = stop.cancelled() => {}
        }
        tracing::info!("stopping");
        self.place.leave();
        stop.cancel();
        hub.stop().await;
        while tasks.join_next().await.is_some() {}
        Ok(())
    }
}

async fn keep(teams: Teams, keep: Keep, stop: CancellationToken) {
    let hub = teams.hub().clone();
    let mut wall = Wall::start(hub.list().iter().map(|summary| summary.updated_at).max());
    loop {
        // One session at a time: those who write something meanwhile get their turn.
        while let Some(now) = wall.now() {
            match hub.log().write(move |connection| retain(connection, keep, now)).await {
                Ok(Some(gone)) => {
                    let (events, rows, members) = (gone.events, gone.rows, gone.members.len());
                    tracing::info!(events, rows, members, "deleted old events");
                    teams.forget(&gone.members);
                }
                Ok(None) => break,
                Err(error) => {
                    tracing::error!("{error:#}");
                    break;
                }
            }
        }
        if let Some(now) = wall.now() {
            let uploads = hub.uploads().clone();
            let forgot = tokio::task::spawn_blocking(move || uploads.forget(keep.age, now)).await;
            if let Ok(Err(error)) = forgot {
                tracing::error!("could not delete old images: {error}");
            }
        }
        tokio::select! {
            () = tokio::time::sleep(RETAIN) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// Binds the port; of loopback both addresses, where that goes. Says what became of the second one.
async fn listen(serve: &Serve) -> anyhow::Result<(Vec<TcpListener>, Others)> {
    let wanted = SocketAddr::new(serve.bind, serve.port.unwrap_or(settings::PORT));
    let any = SocketAddr::new(serve.bind, 0);
    let in_use = |error: &std::io::Error| error.kind() == std::io::ErrorKind::AddrInUse;
    let mut bound = match TcpListener::bind(wanted).await {
        // Nobody asked for this very port: any other will do.
        Err(error) if serve.port.is_none() && in_use(&error) => TcpListener::bind(any).await,
        other => other,
    };
    for _ in 0..TRIES {
        let listener = bound.map_err(|error| {
            let trouble = Trouble::failed("no_port", format!("could not listen on {wanted}"));
            anyhow::Error::new(error).context(trouble.hint("choose another port with `--port N`"))
        })?;
        let Some(other) = settings::twin(serve.bind) else {
            return Ok((vec![listener], Others::Elsewhere));
        };
        match TcpListener::bind((other, listener.local_addr()?.port())).await {
            Ok(other) => return Ok((vec![listener, other], Others::Ours)),
            Err(error) if !in_use(&error) => return Ok((vec![listener], Others::Nobody)),
            Err(_) if serve.port.is_some_and(|port| port != 0) => {
                return Ok((vec![listener], Others::Elsewhere));
            }
            // Somebody has half of it.
            Err(_) => bound = TcpListener::bind(any).await,
        }
    }
    anyhow::bail!("no port is free on both IPv4 and IPv6")
}

/// Names as a certificate has them: an IPv6 address without its brackets.
fn bare(names: &[String]) -> Vec<String> {
    names.iter().map(|name| name.trim_matches(['[', ']']).to_owned()).collect()
}
