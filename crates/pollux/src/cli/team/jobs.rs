//! `pollux jobs`.

use crate::api::team::{Job, Jobs as All, More};
use crate::cli::run;
use crate::client::{Client, escaped};
use crate::config::Config;
use crate::report;
use crate::report::human::{ago, now};
use crate::report::table::{Align, Cell, Table};
use crate::team::job::State;
use anstyle::{AnsiColor, Style};
use clap::Subcommand;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

/// The daemon gives no more at once.
const MOST: usize = 500;

/// List delegated jobs and their results
#[derive(Debug, clap::Args)]
pub(crate) struct Jobs {
    #[command(subcommand)]
    what: Option<What>,
    /// Maximum number of jobs; open jobs are always listed
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// List up to 500 jobs
    #[arg(long, short, conflicts_with = "limit")]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show a job and its result
    #[command(
        after_help = "Exit codes: 0 done or still running, 1 rejected or cancelled, 2 failed, \
        10 waiting for you (question, or budget used up), 12 timed out (the agent keeps working)."
    )]
    Show {
        /// Job ID or a unique prefix
        id: String,
        /// Wait until the job has a result or waits for you
        #[arg(long)]
        wait: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Cancel a job
    Cancel {
        /// Job ID or a unique prefix
        id: String,
    },
    /// Resume a paused job
    Continue {
        /// Job ID or a unique prefix
        id: String,
        /// Allow this many more tokens
        #[arg(long)]
        tokens: Option<u64>,
        /// Allow this much more time, such as 90s, 10m or 1h
        #[arg(long, value_name = "TIME", value_parser = run::span)]
        budget: Option<Duration>,
    },
}

impl Jobs {
    pub(super) async fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let client = Client::connect(config).await?;
        let path = |id: &str, what: &str| format!("/api/v1/jobs/{}{what}", escaped(id));
        match self.what {
            None => list(&client, if self.all { MOST } else { self.limit }, self.json).await,
            Some(What::Show { id, wait: waits, json }) => {
                let mut job: Job = client.get(&path(&id, "")).await?;
                if waits {
                    job = wait_late(&client, job).await?;
                }
                ended(&job, json || self.json)
            }
            Some(What::Cancel { id }) => {
                let job: Job = client.post(&path(&id, "/cancel"), &serde_json::json!({})).await?;
                report::note(&format!("job {} ({}) {}", job.id, job.name, phrase(job.state)));
                Ok(ExitCode::SUCCESS)
            }
            Some(What::Continue { id, tokens, budget }) => {
                let more = More { tokens, seconds: budget.map(run::seconds) };
                let before: Job = client.get(&path(&id, "")).await?;
                let job: Job = client.post(&path(&before.id, "/continue"), &more).await?;
                let why = before.why.map(|why| format!(", which was paused: {why}"));
                let why = why.unwrap_or_default();
                report::note(&format!("resumed job {} ({}){why}", job.id, job.name));
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

/// Lists jobs: those that are open first, which are never left out.
async fn list(client: &Client, limit: usize, json: bool) -> anyhow::Result<ExitCode> {
    // One more says whether there are more.
    let all: All = client.get(&format!("/api/v1/jobs?limit={}", limit.saturating_add(1))).await?;
    let (jobs, left) = shown(all.jobs, limit);
    if json {
        report::json(&jobs)?;
    } else {
        table(&jobs)?;
    }
    if left && limit < MOST {
        report::note("older jobs are not shown: list them with `pollux jobs --all`");
    }
    Ok(ExitCode::SUCCESS)
}

/// So many of the jobs, those that are open first, and whether others are left.
fn shown(jobs: Vec<Job>, limit: usize) -> (Vec<Job>, bool) {
    let all = jobs.len();
    let (ended, mut jobs): (Vec<Job>, Vec<Job>) =
        jobs.into_iter().partition(|job| job.state.is_final());
    let room = limit.saturating_sub(jobs.len());
    jobs.extend(ended.into_iter().take(room));
    let left = jobs.len() < all;
    (jobs, left)
}

/// Waits until there is something to say of a job.
pub(in crate::cli) async fn wait(client: &Client, mut job: Job) -> anyhow::Result<Job> {
    while !job.state.is_told() {
        job = client.get(&format!("/api/v1/jobs/{}?wait=25", escaped(&job.id))).await?;
    }
    Ok(job)
}

/// The same, also for one whose time is over: its worker goes on.
async fn wait_late(client: &Client, mut job: Job) -> anyhow::Result<Job> {
    while !job.state.is_told() || job.state == State::TimedOut {
        job = client.get(&format!("/api/v1/jobs/{}?wait=25&late=true", escaped(&job.id))).await?;
    }
    Ok(job)
}

/// Prints what came of a job: its answer to stdout, everything else to stderr.
pub(super) fn ended(job: &Job, json: bool) -> anyhow::Result<ExitCode> {
    let code = match job.state {
        State::Done | State::Starting | State::Working => 0,
        State::Waiting | State::Paused => 10,
        State::TimedOut => 12,
        State::Cancelled => 1,
        State::Failed => 2,
    };
    if json {
        report::json(job)?;
        return Ok(ExitCode::from(code));
    }
    if let Some(result) = &job.result {
        if !result.text.is_empty() {
            report::answer(&result.text)?;
        }
        if let Some(doubt) = result.doubt() {
            report::quiet(doubt);
        }
        if let Some(worktree) = &result.worktree {
            report::note(worktree);
        }
    }
    if job.state != State::Done {
        let why = job.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        report::note(&format!("job {} ({}) {}{why}", job.id, job.name, phrase(job.state)));
    }
    if let (State::Waiting, Some(question)) = (job.state, &job.question) {
        let worker = job.worker.as_deref().unwrap_or_default();
        report::note(&format!("question: {}", question.about));
        report::quiet(&format!(
            "answer with `pollux answer {worker}`, then wait with `pollux jobs show {} --wait`",
            job.id
        ));
    }
    if job.state == State::TimedOut {
        report::quiet(&format!(
            "the agent keeps working: wait for its answer with `pollux jobs show {} --wait`",
            job.id
        ));
    }
    if job.state == State::Paused {
        let id = &job.id;
        report::quiet(&format!(
            "resume it with `pollux jobs continue {id} --tokens N` or `--budget TIME`, or cancel it with `pollux jobs cancel {id}`"
        ));
    }
    Ok(ExitCode::from(code))
}

/// A job's state as the end of a sentence.
fn phrase(state: State) -> &'static str {
    match state {
        State::Starting => "is starting",
        State::Working => "is working",
        State::Waiting => "is waiting for an answer",
        State::Paused => "is paused",
        State::Done => "is done",
        State::Failed => "failed",
        State::TimedOut => "timed out",
        State::Cancelled => "was cancelled",
    }
}

fn table(jobs: &[Job]) -> anyhow::Result<()> {
    let dim = Style::new().dimmed();
    let mut table = Table::new(&[
        ("id", Align::Left),
        ("state", Align::Left),
        ("agent", Align::Left),
        ("task", Align::Flexible),
        ("created", Align::Left),
    ])
    .less_needed(&["created", "agent"]);
    for job in jobs {
        let colour = match job.state {
            State::Done => AnsiColor::Green,
            State::Failed | State::TimedOut => AnsiColor::Red,
            State::Waiting | State::Paused => AnsiColor::Magenta,
            State::Cancelled => AnsiColor::BrightBlack,
            State::Starting | State::Working => AnsiColor::Yellow,
        };
        table.row(vec![
            Cell::styled(job.id.get(..8).unwrap_or(&job.id), AnsiColor::Cyan.on_default()),
            Cell::styled(job.state.word(), colour.on_default()),
            job.name.as_str().into(),
            job.prompt.lines().next().unwrap_or_default().into(),
            Cell::styled(ago(job.created_at.as_millisecond(), now()), dim),
        ]);
    }
    let mut out = report::out();
    table.write(&mut out, Some(report::table_width()))?;
    out.flush()?;
    if jobs.is_empty() {
        report::note("no jobs: start one with `pollux handoff` or `pollux assign`");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Job, shown};
    use serde_json::json;

    fn job(id: &str, state: &str) -> Job {
        let job = json!({ "id": id, "kind": "assign", "name": "a-1", "profile": "a", "prompt": "work", "state": state,
            "created_at": "2026-11-15T12:00:00Z" });
        serde_json::from_value(job).unwrap()
    }

    #[test]
    fn open_jobs_come_first_and_are_never_left_out() {
        let all =
            || vec![job("e", "done"), job("d", "paused"), job("c", "failed"), job("b", "working")];
        let ids = |limit| {
            let (jobs, left) = shown(all(), limit);
            (jobs.into_iter().map(|job| job.id).collect::<String>(), left)
        };
        assert_eq!(ids(9), ("dbec".to_owned(), false));
        assert_eq!(ids(3), ("dbe".to_owned(), true));
        assert_eq!(ids(1), ("db".to_owned(), true));
    }
}
