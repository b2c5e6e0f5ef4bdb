//! `pollux adopt`: an agent that somebody runs already.

use super::{known, tell};
use crate::client::Client;
use crate::config::Config;
use crate::trouble::Trouble;
use pollux_agent::gemini::terminal::Found;
use pollux_agent::terminal::Socket;
use std::process::ExitCode;

/// Take over a Gemini CLI session already running in tmux
///
/// You can then watch and steer it through Pollux; it is not restarted. Prints the session ID.
#[derive(Debug, clap::Args)]
pub(crate) struct Adopt {
    /// tmux pane ID, such as %3; required if several panes run Gemini CLI
    pane: Option<String>,
    /// tmux server name or socket path (default: the server that `tmux` uses)
    #[arg(long, value_name = "NAME|PATH", default_value = "default", hide_default_value = true)]
    socket: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Adopt {
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let socket = match Socket::named(&self.socket) {
            Socket::Path(path) => Socket::Path(config.cwd.join(path)),
            other => other,
        };
        if let Some(pane) = &self.pane {
            let known = known(config).await?;
            let is = |known: &&Found| known.socket == socket && known.pane == *pane;
            if let Some(known) = known.iter().find(is) {
                let id = known.key.as_deref().unwrap_or_default();
                let message = format!("pane {pane} already belongs to session {id}");
                let trouble = Trouble::refused("adopted_already", message);
                return Err(trouble.hint("`pollux ls` lists it").into());
            }
        }
        let home = config.gemini.parent().unwrap_or(&config.gemini);
        let found = config.servers().adopt(&socket, self.pane.as_deref(), home).await?;
        if let Some(client) = Client::running(config).await? {
            tell(&client, &found).await?;
        }
        super::new::begun(&found.key.unwrap_or_default(), self.json)?;
        Ok(ExitCode::SUCCESS)
    }
}
