//! `pollux acp`: an ACP agent on stdin and stdout, for editors. Gemini CLI with what its own ACP lacks, or any other agent
//! with the same in front of it.

mod agents;
mod editor;
mod frame;
mod hub;
mod joined;
mod lines;
mod session;
mod steer;

use crate::config::Config;
use crate::report;
use anyhow::Context;
use editor::Editor;
use pollux_agent::model::Failure;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run as an Agent Client Protocol (ACP) agent for editors like Zed
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Editors start this command in place of `gemini --acp`. Compared with Gemini CLI's own ACP, it can also list, \
    resume, fork and close sessions. See docs/editor.md for editor settings.\n\nExamples:\n  pollux acp\n  \
    pollux acp --agent-command \"opencode acp\""
)]
pub(crate) struct Acp {
    /// Gemini CLI executable
    #[arg(long, value_name = "FILE")]
    agent_path: Option<PathBuf>,
    /// Use another agent: a command that speaks the Agent Client Protocol on stdio
    #[arg(long, value_name = "COMMAND", conflicts_with = "agent_path")]
    agent_command: Option<String>,
    /// Model to use
    #[arg(long, short, conflicts_with = "agent_command")]
    model: Option<String>,
    /// Environment variable for the agent
    #[arg(long, value_name = "NAME=VALUE", value_parser = super::run::prompt::variable)]
    env: Vec<(String, String)>,
}

impl Acp {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        super::session::runtime().context("could not start the async runtime")?.block_on(async {
            let (lines, desk) = lines::open();
            let agents = match agents::Agents::new(self, config).await {
                Ok(agents) => agents,
                Err(error) => return not_found(error),
            };
            Editor::new(agents, desk).run(lines).await?;
            Ok(ExitCode::SUCCESS)
        })
    }
}

/// Reports that no agent was found, with a hint.
fn not_found(error: anyhow::Error) -> anyhow::Result<ExitCode> {
    let failure = error.downcast::<Failure>()?;
    report::failure(&failure);
    Ok(ExitCode::from(2))
}
