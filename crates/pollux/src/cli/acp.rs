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

/// Be an ACP agent for editors: Gemini CLI with what its own ACP lacks
#[derive(Debug, clap::Args)]
#[command(
    after_help = "An editor starts it as it would start `gemini --acp`. Sessions can be listed, loaded, resumed, forked and \
    closed; docs/editor.md has the settings of editors.\n\nExamples:\n  pollux acp\n  pollux acp --agent-command \"opencode acp\""
)]
pub(crate) struct Acp {
    /// The agent's program
    #[arg(long, value_name = "FILE")]
    agent_path: Option<PathBuf>,
    /// Another agent: a command that speaks the Agent Client Protocol on its stdin and stdout
    #[arg(long, value_name = "COMMAND", conflicts_with = "agent_path")]
    agent_command: Option<String>,
    /// The model
    #[arg(long, short, conflicts_with = "agent_command")]
    model: Option<String>,
    /// A variable for the agent
    #[arg(long, value_name = "NAME=VALUE", value_parser = super::run::prompt::variable)]
    env: Vec<(String, String)>,
}

impl Acp {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        super::session::runtime().context("could not start")?.block_on(async {
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

/// There is no agent: that is told with what to do about it.
fn not_found(error: anyhow::Error) -> anyhow::Result<ExitCode> {
    let failure = error.downcast::<Failure>()?;
    report::failure(&failure);
    Ok(ExitCode::from(2))
}
