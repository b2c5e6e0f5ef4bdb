//! `pollux stop`: the end of an agent.

use super::{daemon, done, find, order, trouble};
use crate::cli::complete::ids;
use crate::cli::session::change;
use crate::client::{Client, Until, Waited, wait};
use crate::config::Config;
use crate::trouble::Trouble;
use clap_complete::ArgValueCompleter;
use pollux_agent::gemini::terminal::Found;
use pollux_agent::session::Command;
use pollux_agent::terminal::{Pane, Server};
use std::process::ExitCode;
use std::time::Duration;

/// So long may an agent take to end.
const ENDS: Duration = Duration::from_secs(30);

/// Stop a session (its history is kept)
#[derive(Debug, clap::Args)]
pub(crate) struct Stop {
    /// Session ID, unique prefix, or `latest` (the most recently active session, preferably a running one)
    #[arg(add = ArgValueCompleter::new(ids))]
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Stop {
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        if let Some(client) = daemon(&self.id, &[], config).await? {
            return over_daemon(&client, &self.id, self.json).await;
        }
        let found = find(&self.id, config).await?;
        if found.dead {
            remove(&found).await?;
            done(self.json)?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut live = super::join(&self.id, config).await?;
        let orders = live.orders();
        order(&mut live, orders.stop(), drop).await?;
        drop(live);
        // tmux may keep a window whose program has just ended.
        if let Ok(left) = find(&self.id, config).await
            && left.dead
        {
            remove(&left).await?;
        }
        done(self.json)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Ends an agent of the daemon's. Done when it is gone, so that who stops the daemon next leaves nobody behind.
async fn over_daemon(client: &Client, id: &str, json: bool) -> anyhow::Result<ExitCode> {
    let session = client.session(id).await?.id;
    let reply = client.command(&session, Command::Stop).await?;
    let gone = wait(client, &session, &[Until::Exit]);
    let Ok(gone) = tokio::time::timeout(ENDS, gone).await else {
        if client.session(&session).await?.unwritten_since.is_some() {
            let message = format!(
                "cannot tell whether session {session} has stopped: the daemon cannot write its log"
            );
            let trouble = Trouble::failed("log_unwritten", message);
            return Err(trouble.hint("free space on the disk that stores Pollux's data").into());
        }
        let message = format!("session {session} did not stop within {} s", ENDS.as_secs());
        let trouble = Trouble::failed("not_stopped", message);
        return Err(trouble.hint(format!("check with `pollux screen {session}`")).into());
    };
    if gone? == Waited::Gone {
        return Err(client.gone().into());
    }
    change::told(&reply, json)?;
    Ok(ExitCode::SUCCESS)
}

/// Takes away the window of an agent, with what is left in it. One that is somebody else's stays.
pub(in crate::cli) async fn remove(found: &Found) -> anyhow::Result<()> {
    if found.adopted.is_some() {
        return Ok(());
    }
    let server = Server::join(&found.socket, &found.pane).await.map_err(trouble)?;
    let pane = Pane::find(&server, &found.pane).await.map_err(trouble)?;
    pane.kill().await.map_err(trouble)
}
