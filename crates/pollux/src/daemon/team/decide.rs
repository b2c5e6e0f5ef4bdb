//! What somebody decides about a job: to take it back, or to go on with it.

use super::follow::{go_on, pollux, prompt_id};
use super::give::is_something;
use super::{Caller, Teams, lock};
use crate::api::team::{Job, More};
use crate::daemon::log::{Bell, counts};
use crate::team::job::State;
use crate::team::limits::Budget;
use crate::trouble::Trouble;
use pollux_agent::model::SessionStatus;
use pollux_agent::session::Command;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// A turn that was stopped ends in this time: 0.61 takes two seconds.
const STOPS: Duration = Duration::from_secs(20);

impl Teams {
    /// Takes a job back. Its worker is stopped, unless it is to stay.
    pub async fn cancel(&self, caller: &Caller, id: &str) -> anyhow::Result<Job> {
        let mut job = self.job(caller, id).await?;
        if job.state.is_final() {
            return Err(has_ended(&job).into());
        }
        // Whoever takes back his own hears of it now, and needs no letter.
        let own = job.caller.as_deref() == caller.session();
        let _hears = own.then(|| lock(&self.inner.jobs).get(&job.id).map(watch::Sender::subscribe));
        let why = format!("cancelled by {}", caller.by(self).name);
        if !self.becomes(&mut job, State::Cancelled, Some(why)).await? {
            return Err(has_ended(&self.job(caller, id).await?).into());
        }
        if job.inner.keep
            && let Some(worker) = &job.worker
        {
            let id = format!("interrupt-{}", job.id);
            drop(self.command(worker, id, pollux(), Command::Interrupt).await?);
        }
        Ok(job)
    }

    /// Goes on with a job that has paused.
    pub async fn go_on(&self, caller: &Caller, id: &str, more: &More) -> anyhow::Result<Job> {
        let more = Budget { tokens: more.tokens, seconds: more.seconds };
        is_something(more)?;
        let job = self.paused(caller, id).await?;
        if let Some(worker) = &job.worker {
            self.has_stopped(worker).await?;
        }
        // It may have been done before it was stopped.
        let mut job = self.paused(caller, id).await?;
        if let Some(worker) = &job.worker {
            // It may have ended with an earlier daemon, with its prompt still to be handed over.
            self.wake(worker).await?;
            self.withdraw(worker, prompt_id(&job)).await?;
            let no = self.hub().feed(worker)?.0;
            let spent = self.hub().log().read(move |connection| counts(connection, no)).await?.1;
            let limits = self.inner.settings.limits;
            (job.budget, job.inner.granted) =
                limits.more(job.budget, job.inner.granted, spent, more);
        }
        let text = go_on(&job);
        self.prompt(&mut job, &text).await?;
        if !self.becomes(&mut job, State::Working, None).await? {
            return Err(has_ended(&self.job(caller, id).await?).into());
        }
        self.inner.news.notify_one();
        Ok(job)
    }

    async fn paused(&self, caller: &Caller, id: &str) -> anyhow::Result<Job> {
        let job = self.job(caller, id).await?;
        if job.state != State::Paused {
            let message = format!("the job is not paused: {}", job.state.word());
            let trouble = Trouble::refused("not_paused", message);
            return Err(trouble.hint("only paused jobs can be continued").into());
        }
        Ok(job)
    }

    /// Waits until the turn of a worker that was stopped has ended: what is said before that, the CLI does not take.
    async fn has_stopped(&self, worker: &str) -> anyhow::Result<()> {
        let feed = self.hub().feed(worker)?.1;
        let bell = Arc::new(Bell::default());
        feed.join(&bell);
        let works =
            || matches!(feed.summary().status, SessionStatus::Working | SessionStatus::Waiting);
        let stopped = tokio::time::timeout(STOPS, async {
            while works() {
                bell.heard().await;
            }
        });
        let stopped = stopped.await;
        feed.leave(&bell);
        stopped.map_err(|_late| {
            let trouble = Trouble::refused("still_works", "the worker has not stopped yet");
            trouble.hint("try again, or check `pollux team`").into()
        })
    }
}

fn has_ended(job: &Job) -> Trouble {
    let message = if job.state.is_final() {
        format!("the job has already ended: {}", job.state.word())
    } else {
        // Its work is being put where it belongs.
        "the job is about to end".to_owned()
    };
    let hint = format!("show the result with `pollux jobs show {}`", job.id);
    Trouble::refused("job_ended", message).hint(hint)
}
