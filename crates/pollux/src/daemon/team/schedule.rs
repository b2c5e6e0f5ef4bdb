//! Schedules in the daemon: one timer until the next is due, a condition that is run first, a job that is given once. They go
//! by the clock on the wall: nine in the morning is when that says so.

use super::give::is_task;
use super::{Caller, Teams, lock};
use crate::api::schedule::{Outcome, Run, Schedule};
use crate::api::team::Give;
use crate::daemon::log::schedule as rows;
use crate::team::job::Kind;
use crate::team::limits::Budget;
use crate::team::profile::is_name;
use crate::team::schedule::{Due, due, filled, next};
use crate::trouble::Trouble;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use pollux_agent::process::{Child, Program};
use pollux_agent::session::By;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio_util::sync::CancellationToken;

/// Time is told at least so often, and sooner than a run counts as missed: a timer does not count the time that a machine
/// slept.
const REST: Duration = Duration::from_secs(30);
/// A condition that takes longer hangs.
const LONGEST: Duration = Duration::from_mins(2);
/// So much of what a condition prints goes into a prompt.
const OUTPUT: u64 = 64 << 10;

impl Teams {
    /// Gives what is due, until it is stopped.
    pub async fn keep_schedules(self, stop: CancellationToken) {
        self.finish_runs().await;
        loop {
            let mut wake = None;
            for schedule in self.schedules() {
                let at = self.look_at(schedule).await;
                wake = wake.into_iter().chain(at).min();
            }
            let wait = wake.map(|at: Timestamp| {
                Duration::try_from(at.duration_since(Timestamp::now())).unwrap_or_default()
            });
            tokio::select! {
                () = tokio::time::sleep(wait.unwrap_or(REST).min(REST)) => {}
                () = self.inner.timetable.notified() => {}
                () = stop.cancelled() => return,
            }
        }
    }

    /// Does what is to be done about a schedule now, and says when it is due next.
    async fn look_at(&self, mut schedule: Schedule) -> Option<Timestamp> {
        let at = schedule.next_at?;
        let now = Timestamp::now();
        let outcome = match due(at, schedule.missed, now) {
            Due::At(at) => return Some(at),
            Due::Now => Outcome::Begun,
            Due::Missed => Outcome::Missed,
        };
        schedule.next_at = next(&schedule.cron, now, &TimeZone::system()).ok().flatten();
        let row = schedule.clone();
        let written = move |connection: &rusqlite::Connection| {
            rows::begin(connection, &row, at, (outcome, now))
        };
        let begun = self.hub().log().write(written).await;
        // Not where somebody has taken it away or changed it meanwhile.
        if let Some(known) = lock(&self.inner.schedules).get_mut(&schedule.name)
            && begun.is_ok()
            && (known.next_at, &known.cron) == (Some(at), &schedule.cron)
        {
            known.next_at = schedule.next_at;
        }
        match begun {
            Ok(run) if outcome == Outcome::Begun => {
                let (teams, schedule) = (self.clone(), schedule.clone());
                let mut runs = lock(&self.inner.runs);
                while runs.try_join_next().is_some() {}
                runs.spawn(async move { teams.finish(&schedule, run).await });
            }
            Ok(_) => {}
            Err(error) => {
                // It is still due: once the log can be written again, and not again and again until then.
                tracing::error!(schedule = schedule.name, "{error:#}");
                return now.saturating_add(REST).ok();
            }
        }
        schedule.next_at
    }

    /// Goes on with the runs in whose middle an earlier daemon ended.
    async fn finish_runs(&self) {
        let open = self.hub().log().read(rows::open).await.unwrap_or_default();
        for mut run in open {
            let schedule = lock(&self.inner.schedules).get(&run.schedule).cloned();
            if let Some(schedule) = schedule {
                drop(self.finish(&schedule, run).await);
            } else {
                (run.outcome, run.why) = (Outcome::Failed, Some("the schedule was deleted".into()));
                self.settle_run(&run).await;
            }
        }
    }

    /// Runs the condition, gives the work, and writes down what became of it.
    async fn finish(&self, schedule: &Schedule, mut run: Run) -> Run {
        match self.given_by(schedule, &run).await {
            Ok(Ok(job)) => (run.outcome, run.job) = (Outcome::Given, Some(job)),
            Ok(Err(why)) => (run.outcome, run.why) = (Outcome::Skipped, Some(why)),
            Err(error) => (run.outcome, run.why) = (Outcome::Failed, Some(format!("{error:#}"))),
        }
        self.settle_run(&run).await;
        run
    }

    async fn settle_run(&self, run: &Run) {
        let row = run.clone();
        let written = move |connection: &rusqlite::Connection| rows::settle(connection, &row);
        if let Err(error) = self.hub().log().write(written).await {
            tracing::error!(schedule = run.schedule, "{error:#}");
        }
    }

    /// The id of the job that was given, or why none was.
    async fn given_by(
        &self,
        schedule: &Schedule,
        run: &Run,
    ) -> anyhow::Result<Result<String, String>> {
        let name = schedule.name.clone();
        let read = move |connection: &rusqlite::Connection| rows::last_job(connection, &name);
        let before = self.hub().log().read(read).await?;
        if before.is_some_and(|job| lock(&self.inner.jobs).contains_key(&job)) {
            return Ok(Err("the previous job is still running".into()));
        }
        let output = match met(&schedule.condition, &schedule.cwd).await? {
            Ok(output) => output,
            Err(why) => return Ok(Err(why)),
        };
        let due = run.due_at.to_zoned(TimeZone::system());
        let (date, time) = (due.strftime("%F").to_string(), due.strftime("%H:%M").to_string());
        let words = [
            ("output", output.trim_end()),
            ("date", date.as_str()),
            ("time", time.as_str()),
            ("name", schedule.name.as_str()),
        ];
        let give = Give {
            // Given once, also where the daemon ends before that is written down.
            client_id: Some(format!("schedule-{}", run.id)),
            kind: Kind::Assign,
            profile: schedule.profile.clone(),
            message: filled(&schedule.prompt, &words),
            cwd: Some(schedule.cwd.clone()),
            timeout: None,
            budget: Budget::default(),
            worktree: None,
            keep: Some(false),
            driver: schedule.driver,
        };
        let by = By { name: format!("schedule {}", schedule.name), remote: false };
        Ok(Ok(self.give(&Caller::Person(by), give).await?.id))
    }

    /// Adds a schedule, or changes the one of that name.
    pub async fn schedule(&self, mut schedule: Schedule) -> anyhow::Result<Schedule> {
        if !is_name(&schedule.name) {
            let message = format!("invalid schedule name `{}`", schedule.name);
            let hint = "use letters, digits, `-` and `_`";
            return Err(Trouble::refused("wrong_name", message).hint(hint).into());
        }
        if schedule.prompt.trim().is_empty() {
            let trouble = Trouble::refused("no_message", "no task given");
            return Err(trouble.hint("describe what the agent should do").into());
        }
        let profile = self.store().find(&schedule.profile)?;
        // Said now, and not in the middle of the night.
        is_task(schedule.driver.or(profile.driver).unwrap_or_default(), &schedule.prompt)?;
        let never = |why: &str| {
            let message = format!("invalid cron expression `{}`: {why}", schedule.cron);
            let hint = "use five fields (minute, hour, day, month, weekday), for example `0 9 * * MON-FRI`; \
                a sixth field in front sets seconds";
            Trouble::refused("wrong_time", message).hint(hint)
        };
        let at = next(&schedule.cron, Timestamp::now(), &TimeZone::system())
            .map_err(|why| never(&why))?;
        schedule.next_at = Some(at.ok_or_else(|| never("it never matches"))?);
        let row = schedule.clone();
        self.hub().log().write(move |connection| rows::save(connection, &row)).await?;
        lock(&self.inner.schedules).insert(schedule.name.clone(), schedule.clone());
        self.inner.timetable.notify_one();
        Ok(schedule)
    }

    /// All schedules, by name.
    pub fn schedules(&self) -> Vec<Schedule> {
        let mut all: Vec<Schedule> = lock(&self.inner.schedules).values().cloned().collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Takes a schedule away. What it has given goes on.
    pub async fn unschedule(&self, name: &str) -> anyhow::Result<()> {
        if !lock(&self.inner.schedules).contains_key(name) {
            return Err(no_schedule(name).into());
        }
        let owned = name.to_owned();
        self.hub().log().write(move |connection| rows::remove(connection, &owned)).await?;
        lock(&self.inner.schedules).remove(name);
        self.inner.timetable.notify_one();
        Ok(())
    }

    /// Runs a schedule now, whenever it is due.
    pub async fn run_now(&self, name: &str) -> anyhow::Result<Run> {
        let schedule = lock(&self.inner.schedules).get(name).cloned();
        let schedule = schedule.ok_or_else(|| no_schedule(name))?;
        let (row, now) = (schedule.clone(), Timestamp::now());
        let written = move |connection: &rusqlite::Connection| {
            rows::begin(connection, &row, now, (Outcome::Begun, now))
        };
        let run = self.hub().log().write(written).await?;
        Ok(self.finish(&schedule, run).await)
    }

    /// The last runs, of one schedule or of all.
    pub async fn runs(&self, of: Option<String>, most: usize) -> anyhow::Result<Vec<Run>> {
        let read =
            move |connection: &rusqlite::Connection| rows::runs(connection, of.as_deref(), most);
        self.hub().log().read(read).await
    }
}

/// Runs a condition: what it printed, or why it is not met.
async fn met(condition: &[String], cwd: &Path) -> anyhow::Result<Result<String, String>> {
    let Some((program, arguments)) = condition.split_first() else {
        return Ok(Ok(String::new()));
    };
    let failed = |error| anyhow::anyhow!("could not run `{program}`: {error}");
    let mut child = Program::new(program, cwd).args(arguments).spawn().map_err(failed)?;
    let Ok(ran) = tokio::time::timeout(LONGEST, ran(&mut child)).await else {
        anyhow::bail!("`{program}` did not finish within {} s", LONGEST.as_secs());
    };
    let (status, printed) = ran.map_err(failed)?;
    let said = child.close().await;
    if !status.success() {
        let line = said.trim().lines().last().map(|line| format!(": {line}")).unwrap_or_default();
        return Ok(Err(format!("`{program}` failed with {status}{line}")));
    }
    Ok(Ok(String::from_utf8_lossy(&printed).into_owned()))
}

/// How a program ends, and the beginning of what it prints. The rest is let go: nobody keeps it, and it waits for nobody.
async fn ran(child: &mut Child) -> io::Result<(ExitStatus, Vec<u8>)> {
    let mut printed = Vec::new();
    if let Some(mut stdout) = child.stdout() {
        (&mut stdout).take(OUTPUT).read_to_end(&mut printed).await?;
        tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await?;
    }
    Ok((child.wait().await?, printed))
}

fn no_schedule(name: &str) -> Trouble {
    Trouble::refused("unknown_schedule", format!("no schedule `{name}`"))
        .hint("list schedules with `pollux schedule list`")
}
