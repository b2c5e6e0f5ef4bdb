//! `pollux schedule`.

use crate::api::Driver;
use crate::api::schedule::{Outcome, Run, Runs, Schedule as Body, Schedules};
use crate::client::{Client, escaped};
use crate::config::Config;
use crate::report;
use crate::report::human::{ago, now};
use crate::report::table::{Align, Cell, Table};
use crate::team::schedule::Missed;
use crate::trouble::Trouble;
use anstyle::{AnsiColor, Style};
use clap::Subcommand;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Subcommand)]
#[command(
    after_help = "The daemon runs the schedules. To start it when you log in, install the unit from `pollux serve --print-unit`.\n\
    Runs that were due while the daemon was not running are skipped, or run once with `--missed once`."
)]
pub(crate) enum Schedule {
    Add(Add),
    /// List schedules and their next runs
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Delete a schedule; jobs already started continue
    Remove {
        /// Schedule name
        name: String,
    },
    /// Run a schedule now, including its condition, and print the job ID
    Run {
        /// Schedule name
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show past runs and their outcomes
    Log {
        /// Show only this schedule
        name: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Add a schedule, or replace the one with the same name
///
/// The agent's answers go to your Pollux inbox (see `pollux inbox`).
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Placeholders in the prompt: {{date}}, {{time}}, {{name}} and {{output}}.\n\
    The condition runs directly, not through a shell; {{output}} is what it printed to stdout. \
    {{name}} is the schedule's name.\n\n\
    Example:\n  pollux schedule add nightly \"0 3 * * *\" reviewer \"Look at: {{output}}\" \\\n    \
    --missed once -- grep -rn FIXME src"
)]
pub(crate) struct Add {
    /// Schedule name
    name: String,
    /// When to run, in local time: minute, hour, day, month, weekday, such as "0 9 * * MON-FRI"
    cron: String,
    /// Agent profile (see `pollux profiles list`)
    profile: String,
    /// Task for the agent
    prompt: String,
    /// Working directory of the agent and the condition (default: the current directory)
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// What to do about runs that were due while the daemon was not running
    #[arg(long, value_enum, default_value_t)]
    missed: Missed,
    /// Override the profile's driver (how Pollux runs the agent)
    #[arg(long)]
    driver: Option<Driver>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Condition: command to run first; the job starts only if it exits 0
    #[arg(last = true, value_name = "PROGRAM")]
    condition: Vec<String>,
}

pub(super) async fn run(command: Schedule, config: &Config) -> anyhow::Result<ExitCode> {
    let client = Client::connect(config).await?;
    match command {
        Schedule::Add(add) => return add.run(&client, config).await,
        Schedule::List { json } => {
            let all: Schedules = client.get("/api/v1/schedules").await?;
            if json {
                report::json(&all.schedules)?;
            } else {
                list(&all.schedules)?;
            }
        }
        Schedule::Remove { name } => {
            let path = format!("/api/v1/schedules/{}", escaped(&name));
            let _gone: Value = client.delete(&path).await?;
            report::note(&format!("deleted schedule {name}"));
        }
        Schedule::Run { name, json } => {
            let path = format!("/api/v1/schedules/{}/run", escaped(&name));
            let run: Run = client.post(&path, &serde_json::json!({})).await?;
            return ended(&run, json);
        }
        Schedule::Log { name, json } => {
            let of = name.as_ref().map(|name| format!("?of={}", escaped(name))).unwrap_or_default();
            let all: Runs = client.get(&format!("/api/v1/schedule-runs{of}")).await?;
            if let Some(name) = name.filter(|_| all.runs.is_empty()) {
                is_there(&client, &name).await?;
            }
            if json {
                report::json(&all.runs)?;
            } else {
                log(&all.runs)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Fails where there is no schedule of this name.
async fn is_there(client: &Client, name: &str) -> anyhow::Result<()> {
    let all: Schedules = client.get("/api/v1/schedules").await?;
    if !all.schedules.iter().any(|schedule| schedule.name == name) {
        let trouble = Trouble::refused("unknown_schedule", format!("unknown schedule `{name}`"));
        return Err(trouble.hint("list schedules with `pollux schedule list`").into());
    }
    Ok(())
}

impl Add {
    async fn run(self, client: &Client, config: &Config) -> anyhow::Result<ExitCode> {
        let body = Body {
            name: self.name,
            cron: self.cron,
            profile: self.profile,
            prompt: self.prompt,
            cwd: self.cwd.map_or_else(|| config.cwd.clone(), |cwd| config.cwd.join(cwd)),
            condition: self.condition,
            missed: self.missed,
            driver: self.driver,
            next_at: None,
        };
        let all: Schedules = client.get("/api/v1/schedules").await?;
        let known = all.schedules.iter().any(|schedule| schedule.name == body.name);
        let made: Body = client.post("/api/v1/schedules", &body).await?;
        if self.json {
            report::json(&made)?;
        } else {
            let done = if known { "changed" } else { "added" };
            report::note(&format!("{done} {}, next run: {}", made.name, due(&made)));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn due(schedule: &Body) -> String {
    schedule.next_at.map_or_else(|| "never".to_owned(), shown)
}

/// A time by the clock of this machine.
fn shown(at: Timestamp) -> String {
    let at = at.to_zoned(TimeZone::system());
    let seconds = if at.second() == 0 { "" } else { ":%S" };
    at.strftime(&format!("%F %H:%M{seconds}")).to_string()
}

fn why(run: &Run) -> String {
    match (&run.why, run.outcome) {
        (Some(why), _) => why.clone(),
        (None, Outcome::Missed) => format!("no daemon was running at {}", shown(run.due_at)),
        (None, _) => String::new(),
    }
}

fn ended(run: &Run, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        report::json(run)?;
    } else if let Some(job) = &run.job {
        report::text(&format!("{job}\n"))?;
    }
    if let Some(why) = run.why.as_ref().filter(|_| !json) {
        report::note(&format!("{}: {why}", word(run.outcome)));
    } else if !json {
        let job = run.job.as_deref().unwrap_or("ID");
        report::note(&format!(
            "the answer will arrive in `pollux inbox`: wait for it with `pollux jobs show {job} --wait`"
        ));
    }
    Ok(ExitCode::from(match run.outcome {
        Outcome::Failed => 2,
        Outcome::Skipped | Outcome::Missed => 1,
        Outcome::Begun | Outcome::Given => 0,
    }))
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Begun => "starting",
        Outcome::Given => "started",
        Outcome::Skipped => "skipped",
        Outcome::Missed => "missed",
        Outcome::Failed => "failed",
    }
}

fn list(all: &[Body]) -> anyhow::Result<()> {
    let mut table = Table::new(&[
        ("name", Align::Left),
        ("when", Align::Left),
        ("next", Align::Left),
        ("profile", Align::Left),
        ("task", Align::Flexible),
    ])
    .less_needed(&["profile", "when"]);
    for schedule in all {
        table.row(vec![
            Cell::styled(&schedule.name, AnsiColor::Cyan.on_default()),
            schedule.cron.as_str().into(),
            due(schedule).as_str().into(),
            schedule.profile.as_str().into(),
            schedule.prompt.lines().next().unwrap_or_default().into(),
        ]);
    }
    let mut out = report::out();
    table.write(&mut out, Some(report::table_width()))?;
    out.flush()?;
    if all.is_empty() {
        report::note("no schedules: add one with `pollux schedule add`");
    }
    Ok(())
}

fn log(runs: &[Run]) -> anyhow::Result<()> {
    let dim = Style::new().dimmed();
    let mut table = Table::new(&[
        ("name", Align::Left),
        ("run", Align::Left),
        ("outcome", Align::Left),
        ("job", Align::Left),
        ("reason", Align::Flexible),
    ])
    .less_needed(&["job"]);
    for run in runs {
        let colour = match run.outcome {
            Outcome::Given => AnsiColor::Green,
            Outcome::Failed => AnsiColor::Red,
            Outcome::Begun => AnsiColor::Yellow,
            Outcome::Skipped | Outcome::Missed => AnsiColor::BrightBlack,
        };
        let job = run.job.as_deref().unwrap_or_default();
        table.row(vec![
            Cell::styled(&run.schedule, AnsiColor::Cyan.on_default()),
            Cell::styled(ago(run.at.as_millisecond(), now()), dim),
            Cell::styled(word(run.outcome), colour.on_default()),
            job.get(..8).unwrap_or(job).into(),
            why(run).into(),
        ]);
    }
    let mut out = report::out();
    table.write(&mut out, Some(report::table_width()))?;
    out.flush()?;
    if runs.is_empty() {
        report::note("no runs yet");
    }
    Ok(())
}
