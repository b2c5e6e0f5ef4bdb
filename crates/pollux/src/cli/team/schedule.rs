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
    after_help = "Schedules are kept by the daemon, which is started with the first one. `pollux serve --print-unit` prints what \
    starts it when you log in. What was missed while none ran is skipped, or made up for once: `--missed`."
)]
pub(crate) enum Schedule {
    Add(Add),
    /// All schedules, and when they are due
    List {
        /// An array of objects
        #[arg(long)]
        json: bool,
    },
    /// Take one away; what it has given goes on
    Remove {
        /// Its name
        name: String,
    },
    /// Run one now, its condition too; prints the job that was given
    Run {
        /// Its name
        name: String,
        /// One object
        #[arg(long)]
        json: bool,
    },
    /// What was run, and what became of it
    Log {
        /// Only of this one
        name: Option<String>,
        /// An array of objects
        #[arg(long)]
        json: bool,
    },
}

/// Give work again and again; its answers come to your inbox
///
/// One of the same name is changed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "In the prompt, {{date}}, {{time}}, {{name}} and {{output}} are filled in. What stands after -- is a program with its \
    arguments, without a shell: only where it ends well is the work given, and what it prints is {{output}}.\n\n\
    Example:\n  pollux schedule add nightly \"0 3 * * *\" reviewer \"Look at: {{output}}\" \\\n    \
    --missed once -- git log --since=yesterday --oneline"
)]
pub(crate) struct Add {
    /// What it is called
    name: String,
    /// When, by the clock of this machine: minute, hour, day, month, weekday, such as "0 9 * * MON-FRI"
    cron: String,
    /// The profile of the agent that does it
    profile: String,
    /// What is to be done
    prompt: String,
    /// Where it works, and its condition is run; without it, here
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// What becomes of a run that was missed because no daemon ran
    #[arg(long, value_enum, default_value_t)]
    missed: Missed,
    /// Another driver than the profile's
    #[arg(long)]
    driver: Option<Driver>,
    /// One object
    #[arg(long)]
    json: bool,
    /// A program that must end well first, with its arguments
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
            report::note(&format!("{name} is gone"));
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
        let trouble =
            Trouble::refused("unknown_schedule", format!("there is no schedule `{name}`"));
        return Err(trouble.hint("`pollux schedule list` lists them").into());
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
            let changed = if known { "was changed, and " } else { "" };
            report::note(&format!("{} {changed}is due at {}", made.name, due(&made)));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn due(schedule: &Body) -> String {
    schedule.next_at.map_or_else(|| "no time".to_owned(), shown)
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
        (None, Outcome::Missed) => format!("no daemon ran at {}", shown(run.due_at)),
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
        report::note(
            "its answer comes to `pollux inbox`; `pollux jobs show ID --wait` waits for it",
        );
    }
    Ok(ExitCode::from(match run.outcome {
        Outcome::Failed => 2,
        Outcome::Skipped | Outcome::Missed => 1,
        Outcome::Begun | Outcome::Given => 0,
    }))
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Begun => "begun",
        Outcome::Given => "given",
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
        report::note("there are no schedules: add one with `pollux schedule add`");
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
        ("why", Align::Flexible),
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
        report::note("nothing was run yet");
    }
    Ok(())
}
