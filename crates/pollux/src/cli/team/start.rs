//! `pollux launch`, `pollux handoff`, `pollux assign`.

use super::jobs;
use crate::api::team::{Give, Job, Launch as Body, Teams, Worktree};
use crate::api::{Driver, Summary};
use crate::cli::run;
use crate::client::Client;
use crate::config::Config;
use crate::report;
use crate::team::job::Kind;
use crate::team::limits::Budget;
use pollux_agent::model::Mode;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Start an agent from a profile and print its session ID
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  pollux launch supervisor \"fix the failing tests\"\n  pollux team\n  pollux message supervisor-1a2b \"also update the docs\""
)]
pub(crate) struct Launch {
    /// Agent profile (see `pollux profiles list`)
    profile: String,
    /// First prompt
    prompt: Option<String>,
    /// Working directory of the agent (default: the current directory)
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Override the profile's mode: default, auto-edit, yolo or plan
    #[arg(long, value_parser = run::mode, long_help = run::modes_help("Override the profile's mode"))]
    mode: Option<Mode>,
    /// Override the profile's model
    #[arg(long, short)]
    model: Option<String>,
    /// Override the profile's driver (how Pollux runs the agent)
    #[arg(long)]
    driver: Option<Driver>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Launch {
    pub(super) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let client = Client::connect(config).await?;
        let body = Body {
            client_id: Some(uuid::Uuid::new_v4().to_string()),
            profile: self.profile,
            prompt: self.prompt,
            cwd: place(self.cwd, config),
            mode: self.mode,
            model: self.model,
            driver: self.driver,
        };
        let summary: Summary = client.post("/api/v1/team/launch", &body).await?;
        let members = client.get::<Teams>("/api/v1/team").await?.members;
        let member = members.into_iter().find(|member| member.session == summary.id);
        let name = member.map(|member| member.name);
        if self.json {
            let mut object = serde_json::to_value(&summary)?;
            object["name"] = name.into();
            report::json(&object)?;
        } else {
            report::text(&format!("{}\n", summary.id))?;
            if let Some(name) = name {
                report::note(&format!("agent name: {name}"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Debug, clap::Args)]
struct Work {
    /// Agent profile (see `pollux profiles list`)
    profile: String,
    /// Task for the agent; include everything it needs to know
    message: String,
    /// Working directory of the agent (default: the current directory)
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Work in a new git worktree, then keep or merge its branch
    #[arg(long, value_name = "keep|merge")]
    worktree: Option<Worktree>,
    /// Token budget; the job pauses and asks when it is used up
    #[arg(long)]
    tokens: Option<u64>,
    /// Time budget, such as 90s, 10m or 1h; the job pauses and asks when it is used up
    #[arg(long, value_name = "TIME", value_parser = run::span)]
    budget: Option<Duration>,
    /// Override the profile's driver (how Pollux runs the agent)
    #[arg(long)]
    driver: Option<Driver>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Work {
    async fn give(
        self,
        kind: Kind,
        (timeout, keep): (Option<Duration>, Option<bool>),
        config: &Config,
    ) -> anyhow::Result<(Client, Job)> {
        let client = Client::connect(config).await?;
        let budget = Budget { tokens: self.tokens, seconds: self.budget.map(run::seconds) };
        let give = Give {
            client_id: Some(uuid::Uuid::new_v4().to_string()),
            kind,
            profile: self.profile,
            message: self.message,
            cwd: Some(place(self.cwd, config)),
            timeout: timeout.map(run::seconds),
            budget,
            worktree: self.worktree,
            keep,
            driver: self.driver,
        };
        let job = client.post("/api/v1/jobs", &give).await?;
        Ok((client, job))
    }
}

/// Give a task to a new agent, wait, and print its answer verbatim
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 done, 1 rejected or cancelled, 2 failed, \
    10 waiting for you (question, or budget used up), 12 timed out (the agent keeps working), 130 interrupted.\n\
    Ctrl-C stops waiting, not the agent. Get the answer later with `pollux jobs show ID --wait`.")]
pub(crate) struct Handoff {
    #[command(flatten)]
    work: Work,
    /// Stop waiting after this time, such as 90s, 10m or 1h; the agent keeps working
    #[arg(long, value_name = "TIME", value_parser = run::duration)]
    timeout: Option<Duration>,
    /// Keep the agent running when it is done
    #[arg(long)]
    keep: bool,
}

impl Handoff {
    pub(super) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let json = self.work.json;
        let (client, job) =
            self.work.give(Kind::Handoff, (self.timeout, Some(self.keep)), config).await?;
        let later = format!(
            "the agent keeps working: wait for it with `pollux jobs show {} --wait`",
            job.id
        );
        tokio::select! {
            waited = jobs::wait(&client, job) => match waited {
                Ok(job) => jobs::ended(&job, json),
                // What it was told stands; only the way to it is gone.
                Err(error) => {
                    report::note(&later);
                    Err(error)
                }
            },
            _ = tokio::signal::ctrl_c() => {
                report::note(&later);
                Ok(ExitCode::from(130))
            }
        }
    }
}

/// Give a task to a new agent in the background and print the job ID
///
/// The agent's answer goes to your Pollux inbox (see `pollux inbox`).
#[derive(Debug, clap::Args)]
pub(crate) struct Assign {
    #[command(flatten)]
    work: Work,
}

impl Assign {
    pub(super) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let json = self.work.json;
        let (_, job) = self.work.give(Kind::Assign, (None, None), config).await?;
        if json {
            report::json(&job)?;
        } else {
            report::text(&format!("{}\n", job.id))?;
            report::note(&format!(
                "{} is working on it; the answer will arrive in `pollux inbox`",
                job.name
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn place(cwd: Option<PathBuf>, config: &Config) -> PathBuf {
    cwd.map_or_else(|| config.cwd.clone(), |cwd| config.cwd.join(cwd))
}
