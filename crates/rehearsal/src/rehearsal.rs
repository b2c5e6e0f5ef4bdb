//! A running rehearsal: it owns the server and ends it.

use crate::cue::Cue;
use crate::home::Home;
use crate::journal::Journal;
use crate::record::Recorder;
use crate::script::Script;
use crate::server::{self, Show};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long stopping waits for the server before it is ended.
const STOPPING: Duration = Duration::from_secs(3);

/// How a rehearsal is run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The port on 127.0.0.1; 0 takes a free one.
    pub port: u16,
    /// A file that the journal is appended to, besides being kept in memory.
    pub journal: Option<PathBuf>,
}

/// Why a rehearsal did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The port cannot be had.
    #[error("could not listen on {address}")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The journal cannot be written.
    #[error("could not open the journal {}", path.display())]
    Journal {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// There is a file already where the script is to be recorded.
    #[error("{} already exists", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The script that is recorded cannot be written, or its upstream cannot be reached at all.
    #[error("could not start recording to {}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A scripted model that is listening. Dropping it ends it at once; [`Rehearsal::stop`] ends it in order.
#[derive(Debug)]
pub struct Rehearsal {
    address: SocketAddr,
    show: Arc<Show>,
    stop: CancellationToken,
    server: JoinSet<()>,
}

impl Rehearsal {
    /// Starts on a free port of 127.0.0.1.
    pub async fn start(script: Script) -> Result<Self, StartError> {
        Self::start_with(script, Options::default()).await
    }

    /// Starts as the options say.
    pub async fn start_with(script: Script, options: Options) -> Result<Self, StartError> {
        Self::listen(script, None, options).await
    }

    /// Passes every request on to `upstream` and writes a script to `to`, a new file, that replays the same.
    pub async fn record(upstream: &str, to: &Path, options: Options) -> Result<Self, StartError> {
        Self::listen(Script::default(), Some((upstream, to)), options).await
    }

    async fn listen(
        script: Script,
        record: Option<(&str, &Path)>,
        options: Options,
    ) -> Result<Self, StartError> {
        let journal = Journal::open(options.journal.as_deref()).map_err(|source| {
            StartError::Journal { path: options.journal.clone().unwrap_or_default(), source }
        })?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
        let refused = |source| StartError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        // Last: whoever cannot have the port has no empty script either.
        let recorder = record.map(|(upstream, to)| recorder(upstream, to)).transpose()?;
        let stop = CancellationToken::new();
        let show = Arc::new(Show::new(Cue::new(script), journal, recorder, stop.clone()));
        let mut server = JoinSet::new();
        server.spawn(server::serve(listener, Arc::clone(&show), stop.clone()));
        Ok(Self { address, show, stop, server })
    }

    /// The base address, for `GOOGLE_GEMINI_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The environment that sends a CLI here and into a private home.
    pub fn env(&self, home: &Home) -> Vec<(&'static str, String)> {
        home.env(&self.url())
    }

    /// All that was asked and answered.
    pub fn journal(&self) -> &Journal {
        &self.show.journal
    }

    /// Forgets what was counted and captured, as if newly started.
    pub fn reset(&self) {
        self.show.cue().reset();
    }

    /// Stops: no new connections, streams are broken off, connections are ended.
    pub async fn stop(mut self) {
        self.stop.cancel();
        let ended = async { while self.server.join_next().await.is_some() {} };
        if tokio::time::timeout(STOPPING, ended).await.is_err() {
            self.server.shutdown().await;
        }
    }
}

fn recorder(upstream: &str, to: &Path) -> Result<Recorder, StartError> {
    let path = to.to_path_buf();
    Recorder::new(upstream, to).map_err(|source| {
        let why = source.downcast_ref::<io::Error>().map(io::Error::kind);
        match why {
            Some(io::ErrorKind::AlreadyExists) => StartError::Exists { path },
            _ => StartError::Record { path, source },
        }
    })
}

impl Drop for Rehearsal {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
