//! `pollux adopt`: an agent that somebody runs already.

use super::{known, trouble};
use crate::config::Config;
use crate::report;
use crate::trouble::Trouble;
use pollux_agent::gemini::terminal::{Found, adoptable};
use pollux_agent::terminal::Socket;
use std::io::Write;
use std::process::ExitCode;

/// Take an agent under watch that somebody runs in tmux, without restarting it; prints its session's id
#[derive(Debug, clap::Args)]
pub(crate) struct Adopt {
    /// tmux's name of its pane, such as %3; needed where there are several
    pane: Option<String>,
    /// The tmux server: a name or a path; without this the one that your own `tmux` talks to
    #[arg(long, value_name = "NAME|PATH", default_value = "default", hide_default_value = true)]
    socket: String,
}

impl Adopt {
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let socket = Socket::named(&self.socket);
        let mut found = adoptable(&socket).await.map_err(trouble)?;
        if let Some(pane) = &self.pane {
            let known = known(config).await?;
            if known.iter().any(|known| known.socket == socket && known.pane == *pane) {
                let message = format!("the agent in {pane} has a name already");
                return Err(Trouble::refused("adopted_already", message).into());
            }
            found.retain(|found| found.pane == *pane);
        }
        let mut found = match found.len() {
            1 => found.remove(0),
            0 => {
                let message = "no agent was found in your tmux".to_owned();
                let hint = "run `gemini` in a pane of tmux, or `pollux new`";
                return Err(Trouble::refused("no_agent", message).hint(hint).into());
            }
            _ => return Err(several(&found)),
        };
        let home = config.gemini.parent().unwrap_or(&config.gemini);
        found.adopt(home).await.map_err(trouble)?;
        let mut out = report::out();
        writeln!(out, "{}", found.key.unwrap_or_default())?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

fn several(found: &[Found]) -> anyhow::Error {
    let panes: Vec<String> =
        found.iter().map(|found| format!("{} ({})", found.pane, found.cwd.display())).collect();
    let message = "there is more than one agent in your tmux".to_owned();
    let hint = format!("name one of the panes: {}", panes.join(", "));
    Trouble::refused("several_agents", message).hint(hint).into()
}
