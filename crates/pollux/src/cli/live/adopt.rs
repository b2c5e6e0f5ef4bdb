//! `pollux adopt`: an agent that somebody runs already.

use super::{known, tell};
use crate::client::Client;
use crate::config::Config;
use crate::trouble::Trouble;
use pollux_agent::gemini::terminal::Found;
use pollux_agent::terminal::Socket;
use std::process::ExitCode;

/// Take an agent under watch that somebody runs in tmux, without restarting it; prints its session's id
#[derive(Debug, clap::Args)]
pub(crate) struct Adopt {
    /// tmux's name of its pane, such as %3; needed where there are several
    pane: Option<String>,
    /// The tmux server: a name or a path; without this the one that your own `tmux` talks to
    #[arg(long, value_name = "NAME|PATH", default_value = "default", hide_default_value = true)]
    socket: String,
    /// One object
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
                let message = format!("the agent in {pane} is known already: {id}");
                let trouble = Trouble::refused("adopted_already", message);
                return Err(trouble.hint("`pollux ls` shows it").into());
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
