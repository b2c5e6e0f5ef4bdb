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

/// Start an agent of a profile; prints the id of its session
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  pollux launch supervisor \"bring the tests to green\"\n  pollux team\n  pollux message supervisor-1a2b \"and the docs\""
)]
pub(crate) struct Launch {
    /// Its profile: `pollux profiles list`
    profile: String,
    /// A prompt to begin with
    prompt: Option<String>,
    /// Where it works
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Another mode than the profile's: default, auto-edit, yolo, plan
    #[arg(long, value_parser = run::mode)]
    mode: Option<Mode>,
    /// Another model than the profile's
    #[arg(long, short)]
    model: Option<String>,
    /// Another driver than the profile's
    #[arg(long)]
    driver: Option<Driver>,
    /// One object
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
                report::note(&format!("it is {name} to its team"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Debug, clap::Args)]
struct Work {
    /// The profile of the agent that does it
    profile: String,
    /// What is to be done. The agent sees nothing else
    message: String,
    /// Where it works
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// In a git worktree of its own, which is kept or merged
    #[arg(long, value_name = "keep|merge")]
    worktree: Option<Worktree>,
    /// So many tokens; then it pauses and asks
    #[arg(long)]
    tokens: Option<u64>,
    /// So much time, such as 90s, 10m or 1h; then it pauses and asks
    #[arg(long, value_name = "TIME", value_parser = run::span)]
    budget: Option<Duration>,
    /// Another driver than the profile's
    #[arg(long)]
    driver: Option<Driver>,
    /// One object
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

/// Give a task to a new agent, wait for it, and print its answer to the letter
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 done, 10 it waits for a person, 12 the time is over (it goes on), 1 refused or cancelled, 2 failed, 130 stopped waiting.\n\
    Ctrl-C ends the waiting and not the work: `pollux jobs show ID --wait` has it."
)]
pub(crate) struct Handoff {
    #[command(flatten)]
    work: Work,
    /// Wait so long, such as 90s, 10m or 1h; the agent goes on all the same
    #[arg(long, value_name = "TIME", value_parser = run::duration)]
    timeout: Option<Duration>,
    /// The agent stays when it is done
    #[arg(long)]
    keep: bool,
}

impl Handoff {
    pub(super) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let json = self.work.json;
        let (client, job) =
            self.work.give(Kind::Handoff, (self.timeout, Some(self.keep)), config).await?;
        let later =
            format!("its agent goes on: `pollux jobs show {} --wait` has its answer later", job.id);
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

/// Give a task to a new agent and go on; its answer comes to your inbox. Prints the id of the job
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
            report::note(&format!("{} works on it", job.name));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn place(cwd: Option<PathBuf>, config: &Config) -> PathBuf {
    cwd.map_or_else(|| config.cwd.clone(), |cwd| config.cwd.join(cwd))
}
