//! `pollux attach`: a person looks at the agent's own screen.

use super::find;
use crate::cli::complete::ids;
use crate::config::Config;
use crate::trouble::Trouble;
use anyhow::Context;
use clap_complete::ArgValueCompleter;
use pollux_agent::gemini::terminal::Found;
use pollux_agent::terminal::{SESSION, Socket, give_back};
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

/// Attach to a session's terminal (detach with Ctrl-b d)
///
/// The agent keeps running after you detach.
#[derive(Debug, clap::Args)]
pub(crate) struct Attach {
    /// Session ID, unique prefix, or `latest` (the most recently active terminal session)
    #[arg(add = ArgValueCompleter::new(ids))]
    id: String,
}

impl Attach {
    pub(crate) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        to(&find(&self.id, config).await?)
    }
}

/// Becomes tmux. On a server of ours everybody who looks has a view of their own, so that two people can look at two
/// agents: the view goes when they leave. Not by tmux's option for that (`destroy-unattached`): tmux 3.3a takes the view away under
/// who is about to leave, and dies of it, with all agents.
#[expect(clippy::disallowed_methods, reason = "this process becomes tmux: there is no child")]
pub(super) fn to(found: &Found) -> anyhow::Result<ExitCode> {
    let mut tmux = std::process::Command::new("tmux");
    tmux.args(found.socket.arguments()).env_remove("TMUX");
    // A window that fits somebody's phone fits the desk again.
    tmux.args(give_back(&found.pane)).arg(";");
    // An agent that was adopted is in a session that is somebody else's, on whichever server.
    if found.socket == Socket::Users || found.adopted.is_some() {
        tmux.args(["attach-session", "-t", &found.pane]);
    } else {
        let view = format!("view-{}", std::process::id());
        let gone = format!("kill-session -t ={view}");
        tmux.args(["new-session", "-t", SESSION, "-s", &view, ";"]);
        tmux.args(["set-hook", "-t", &format!("={view}:"), "client-detached", &gone, ";"]);
        tmux.args(["select-window", "-t", &found.pane]);
    }
    Err(tmux.exec()).with_context(|| {
        Trouble::failed("no_tmux", "could not start tmux")
            .hint("install tmux; terminal sessions need it")
    })
}
