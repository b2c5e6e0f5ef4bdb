//! A daemon for the rehearsal alone: one that runs already has another model, and one that is started has it no longer when the
//! rehearsal is over.

use crate::cli::live::stop::remove;
use crate::client::Client;
use crate::config::Config;
use crate::daemon::instance::Place;
use pollux_agent::gemini::hooks::SOCKET;
use pollux_agent::gemini::terminal::all;
use pollux_agent::terminal::Socket;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long it may take to end.
const ENDING: Duration = Duration::from_secs(10);
/// How often it is looked for meanwhile.
const LOOK: Duration = Duration::from_millis(50);

/// Where such a daemon has its data and its terminals.
pub(super) struct Apart {
    data: PathBuf,
    tmux: PathBuf,
    hooks: PathBuf,
}

impl Apart {
    /// Below a private home.
    pub(super) fn new(home: &Path) -> Self {
        Self { data: home.join("data"), tmux: home.join("tmux"), hooks: home.join("hooks.sock") }
    }

    /// What leads Pollux there.
    pub(super) fn env(&self) -> [(&'static str, String); 3] {
        let [data, tmux, hooks] =
            [&self.data, &self.tmux, &self.hooks].map(|path| path.display().to_string());
        [("XDG_DATA_HOME", data), ("POLLUX_TMUX", tmux), (SOCKET, hooks)]
    }

    /// Stops the daemon and its agents, if the rehearsal started one.
    pub(super) async fn end(&self) -> anyhow::Result<()> {
        let config = Config { data: self.data.join("pollux"), ..Config::read()? };
        if let Some(client) = Client::running(&config).await? {
            let _ends: Value = client.post("/api/v1/shutdown", &json!({})).await?;
            let (place, begun) = (Place::new(&config.data), Instant::now());
            // Until then it may still write to what is removed after this.
            while begun.elapsed() < ENDING && !place.is_free() {
                tokio::time::sleep(LOOK).await;
            }
        }
        if self.tmux.exists() {
            for found in all(&Socket::Path(self.tmux.clone())).await.unwrap_or_default() {
                // It may be gone already.
                drop(remove(&found).await);
            }
        }
        Ok(())
    }
}
