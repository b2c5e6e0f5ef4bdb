//! How a process is given what its profile says: by files of its own, or, where its CLI reads none, by files that others
//! read too, for as long as it starts.

use super::agent::{Gemini, Wanted};
use crate::api::Driver;
use crate::daemon::team::badge::{Lent, Terms, tell};
use crate::team::given::Given;
use crate::team::profile::Files;
use crate::team::tools::{OWN_SERVER, Tools};
use pollux_agent::acp::McpServer;
use pollux_agent::gemini::cli::{Cli, Version};
use pollux_agent::gemini::shared::{Known, Loan, Wants};
use pollux_agent::gemini::{apart, policies};
use pollux_agent::model::{Failure, Phase};
use std::io;
use std::time::Duration;
use tokio::sync::OwnedMutexGuard;

/// `--policy` came with this version.
const POLICY: Version = Version::new(0, 30, 0);
/// Since this version a rule can be about all tools, as it must where the rest is refused.
const LIMITS: Version = Version::new(0, 31, 0);
/// Another agent that has not come up in this time waits for somebody: to sign in, or to trust a folder.
const PATIENCE: Duration = Duration::from_mins(2);

/// While it is there, files that others read too say what one agent is. They become what they were when it is dropped.
pub(super) struct Window {
    loan: Option<Loan>,
    _turn: OwnedMutexGuard<()>,
}

impl Drop for Window {
    fn drop(&mut self) {
        match self.loan.take().map(Loan::give_back) {
            Some(Ok(returned)) => returned.iter().for_each(tell),
            Some(Err(error)) => {
                tracing::error!("could not restore the user's configuration files: {error}");
            }
            None => {}
        }
    }
}

impl Gemini {
    /// Lends the process of a session what it was given.
    pub(super) async fn lend(&self, wanted: &Wanted, cli: &Cli) -> Result<Option<Lent>, Failure> {
        let Some(given) = &wanted.given else { return Ok(None) };
        let (files, policy) = (files(given, wanted.driver, cli)?, policy(given, cli)?);
        let settings = wanted.driver != Driver::Acp;
        let known = if settings {
            // It has its servers by settings, and is told none.
            Known::default()
        } else {
            Known::read(&self.home, &wanted.cwd, &self.env).map_err(|error| not_lent(&error))?
        };
        // One of the user's that is called so stays, and is not started in the place of ours or the other way round.
        let own = known.free_name(OWN_SERVER);
        let users = policies::of_user(cli, &self.home, &self.env);
        let terms = Terms { given, files, settings, policy, own: &own, users: &users };
        let mut lent = self.badges.lend(&wanted.id, terms).map_err(|error| not_lent(&error))?;
        match files {
            Files::Own if settings => lent.at_home(&self.home).map_err(|error| not_lent(&error))?,
            Files::Shared if settings => lent.in_settings(cli, &self.env).await?,
            Files::Own | Files::Shared => {
                let names: Vec<&str> = lent.servers.iter().map(McpServer::name).collect();
                let arg = known.let_in(&names);
                lent.args.extend(arg);
            }
        }
        if wanted.driver == Driver::Terminal {
            lent.stay(&wanted.id).map_err(|error| not_lent(&error))?;
        }
        Ok(Some(lent))
    }

    /// Puts what a process is told into files that others read too, where it is told so. To be kept until it has come up.
    pub(super) async fn share(
        &self,
        wanted: &Wanted,
        lent: Option<&Lent>,
    ) -> Result<Option<Window>, Failure> {
        let Some((lent, role)) = lent.and_then(|lent| Some((lent, lent.role.clone()?))) else {
            return Ok(None);
        };
        let turn = tokio::time::timeout(PATIENCE, self.badges.turn()).await;
        let (turn, shared) = turn.map_err(|_late| in_use())?.ok_or_else(in_use)?;
        let wants = Wants {
            home: self.home.clone(),
            cwd: wanted.cwd.clone(),
            role,
            servers: lent.entries.clone(),
        };
        let loan = tokio::task::spawn_blocking(move || shared.lend(&wants)).await;
        let loan = loan.map_err(io::Error::other).and_then(|loan| loan);
        let loan = loan.map_err(|error| not_lent(&error))?;
        lent.called(&loan).map_err(|error| not_lent(&error))?;
        Ok(Some(Window { loan: Some(loan), _turn: turn }))
    }
}

/// By which files a process is told what it is. Its own, if it reads any: over ACP it is told its servers, and else it
/// needs a home of its own for them.
fn files(given: &Given, driver: Driver, cli: &Cli) -> Result<Files, Failure> {
    let servers = given.teams || !given.servers.is_empty();
    let own = driver == Driver::Acp || !servers || apart::is_possible(cli);
    match given.files {
        Some(Files::Shared) => Ok(Files::Shared),
        Some(Files::Own) if !own => {
            let message =
                "this version of Gemini CLI reads MCP servers only from the shared settings file";
            let failure = Failure::new(Phase::Start, "not_in_this_version", message);
            Err(failure
                .hint("update it, use the driver `acp`, or set `files: shared` in the profile"))
        }
        Some(Files::Own) | None => Ok(if own { Files::Own } else { Files::Shared }),
    }
}

/// True where the process can be given a policy.
fn policy(given: &Given, cli: &Cli) -> Result<bool, Failure> {
    if given.tools != Tools::All && !cli.at_least(LIMITS) {
        let message = format!(
            "this version of Gemini CLI cannot restrict an agent's tools: that needs {LIMITS} or newer"
        );
        let failure = Failure::new(Phase::Start, "not_in_this_version", message);
        return Err(failure.hint("update it, or allow every tool in the profile: `tools: ['*']`"));
    }
    Ok(cli.at_least(POLICY))
}

fn in_use() -> Failure {
    let message =
        "another agent is still starting and holds the lock on `GEMINI.md` and `settings.json`";
    let failure = Failure::new(Phase::Start, "files_in_use", message).retryable();
    failure.hint("check if it waits for an answer: `pollux ls`")
}

fn not_lent(error: &io::Error) -> Failure {
    let message = format!("could not write the files that the profile needs: {error}");
    let hint = "check the free disk space, who owns the directory, and that Gemini CLI's settings are valid JSON";
    Failure::new(Phase::Start, "not_lent", message).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::{files, policy};
    use crate::api::Driver;
    use crate::team::given::{Given, given};
    use crate::team::profile::{Files, Profile};
    use pollux_agent::gemini::cli::{Cli, Version};

    fn given_by(fields: &str) -> Given {
        let text = format!("---\nname: a\n{fields}\n---\n");
        given(&Profile::read(&text, "a", &|_| None).unwrap(), "a-1", None).0
    }

    fn cli(minor: u32) -> Cli {
        Cli { path: "gemini".into(), version: Some(Version::new(0, minor, 0)) }
    }

    #[test]
    fn files_of_others_are_touched_only_where_the_cli_reads_no_other_or_somebody_says_so() {
        let all = [Driver::Acp, Driver::Headless, Driver::Terminal];
        for driver in all {
            assert_eq!(files(&given_by(""), driver, &cli(25)).unwrap(), Files::Own);
            let asked = files(&given_by("files: shared"), driver, &cli(61)).unwrap();
            assert_eq!(asked, Files::Shared);
            let alone = given_by("tools: [fs_read]");
            assert_eq!(files(&alone, driver, &cli(24)).unwrap(), Files::Own, "it has no servers");
        }
        let old = |fields: &str, driver| files(&given_by(fields), driver, &cli(24));
        assert_eq!(old("", Driver::Acp).unwrap(), Files::Own);
        assert_eq!(old("", Driver::Terminal).unwrap(), Files::Shared);
        assert!(old("files: own", Driver::Headless).is_err());
    }

    #[test]
    fn an_agent_whose_tools_cannot_be_limited_is_not_started_without_limits() {
        // 0.30 takes a policy, but no rule for all tools.
        assert!(policy(&given_by("role: reviewer"), &cli(30)).is_err());
        assert!(!policy(&given_by("role: developer"), &cli(29)).unwrap());
        assert!(policy(&given_by("role: developer"), &cli(30)).unwrap());
        assert!(policy(&given_by("role: reviewer"), &cli(31)).unwrap());
    }
}
