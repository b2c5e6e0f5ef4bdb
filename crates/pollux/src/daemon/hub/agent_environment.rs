//! Prepares what one agent's process gets from its profile: system prompt, policy, MCP servers.

use super::agent::{Gemini, Wanted};
use crate::api::Driver;
use crate::daemon::team::badge::{Lent, Terms};
use crate::team::tools::OWN_SERVER;
use pollux_agent::acp::McpServer;
use pollux_agent::gemini::cli::Cli;
use pollux_agent::gemini::mcp_names::Known;
use pollux_agent::gemini::policies;
use pollux_agent::model::{Failure, Phase};
use std::io;

impl Gemini {
    /// Lends the process of a session what it was given.
    pub(super) fn lend(&self, wanted: &Wanted, cli: &Cli) -> Result<Option<Lent>, Failure> {
        self.try_lend(wanted, cli).map_err(|error| not_lent(&error))
    }

    fn try_lend(&self, wanted: &Wanted, cli: &Cli) -> io::Result<Option<Lent>> {
        let Some(given) = &wanted.given else { return Ok(None) };
        let users = policies::of_user(cli, &self.home, &self.env);
        let terms = |own| Terms { given, own, users: &users };
        if wanted.driver == Driver::Acp {
            // The user may have a server with the name of ours: theirs keeps it.
            let known = Known::read(&self.home, &wanted.cwd, &self.env)?;
            let own = known.free_name(OWN_SERVER);
            let mut lent = self.badges.lend(&wanted.id, terms(&own))?;
            let names: Vec<&str> = lent.servers.iter().map(McpServer::name).collect();
            let arg = known.let_in(&names);
            lent.args.extend(arg);
            return Ok(Some(lent));
        }
        let mut lent = self.badges.lend(&wanted.id, terms(OWN_SERVER))?;
        lent.at_home(&self.home)?;
        if wanted.driver == Driver::Terminal {
            lent.stay(&wanted.id)?;
        }
        Ok(Some(lent))
    }
}

fn not_lent(error: &io::Error) -> Failure {
    let message = format!("could not write the files that the profile needs: {error}");
    let hint = "check the free disk space, who owns the directory, and that Gemini CLI's settings are valid JSON";
    Failure::new(Phase::Start, "not_lent", message).hint(hint)
}
