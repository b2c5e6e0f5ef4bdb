//! Following jobs: a bell rings, the worker is looked at, the rules say what becomes of its job.

use super::ending::Ending;
use super::{Caller, Teams, is_news, lock, result, rows};
use crate::api::team::Job;
use crate::api::{Begin, Driver, Summary};
use crate::daemon::log::team::Turn;
use crate::daemon::log::{Bell, counts};
use crate::team::job::{self, End, Ended, Rules, Seen, State, Step};
use crate::trouble::Trouble;
use pollux_agent::model::SessionStatus;
use pollux_agent::session::{By, Command, Done, Reply};
use rusqlite::Connection;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Time is told at least so often.
const REST: Duration = Duration::from_mins(10);
/// A job that could not be followed, perhaps because the disk is full, is looked at again after so long: its time may have come,
/// and would be told at once and for ever.
const TRY_AGAIN: Duration = Duration::from_secs(5);
/// What a worker is told that was stopped in the middle of its job.
const STOPPED: &str = "You were stopped in the middle of your work and have been restarted. Continue as if nothing had happened.";
/// A worker is told so at most so often.
const URGES: u32 = 5;

impl Teams {
    /// Follows jobs and carries letters, until it is stopped.
    pub async fn run(self, stop: CancellationToken) {
        let bell = Arc::new(Bell::default());
        self.hub().watch(&bell);
        let concerned = self.concerned();
        tokio::select! {
            // A second agent on one session would undo the work of the first.
            () = self.hub().is_sure_of(&concerned) => {}
            () = stop.cancelled() => return,
        }
        self.take_up().await;
        let mut rest = Duration::ZERO;
        loop {
            let wait = self.wait_for_time().max(rest);
            let sessions: Vec<Arc<str>> = tokio::select! {
                heard = bell.heard() => heard.into_iter().collect(),
                () = self.inner.news.notified() => self.concerned(),
                () = tokio::time::sleep(wait) => self.concerned(),
                () = stop.cancelled() => return,
            };
            rest = Duration::ZERO;
            for session in sessions {
                if !self.look(&session).await {
                    rest = TRY_AGAIN;
                }
            }
        }
    }

    /// All sessions with an open job, or with letters.
    fn concerned(&self) -> Vec<Arc<str>> {
        let mut all: Vec<Arc<str>> = lock(&self.inner.jobs)
            .values()
            .filter_map(|job| job.borrow().worker.as_deref().map(Arc::from))
            .collect();
        all.extend(lock(&self.inner.boxes).iter().map(|session| Arc::from(session.as_str())));
        all.sort_unstable();
        all.dedup();
        all
    }

    fn wait_for_time(&self) -> Duration {
        let next = lock(&self.inner.jobs)
            .values()
            .filter_map(|job| job::wakes_at(&rules(&job.borrow())))
            .chain(lock(&self.inner.silent).ends_at())
            .min();
        let wait =
            next.map(|at| Duration::try_from(at.duration_since(self.now())).unwrap_or_default());
        wait.map_or(REST, |wait| wait.clamp(Duration::from_millis(10), REST))
    }

    /// Something has changed about a session. False where a job of it could not be followed.
    async fn look(&self, session: &str) -> bool {
        if self.kept(session).is_none() {
            return true;
        }
        let jobs: Vec<Job> = lock(&self.inner.jobs)
            .values()
            .map(|job| job.borrow().clone())
            .filter(|job| job.worker.as_deref() == Some(session))
            .collect();
        let mut followed = true;
        for job in jobs {
            if let Err(error) = self.examine(job).await {
                tracing::error!(session, "could not update a job: {error:#}");
                followed = false;
            }
        }
        if let Err(error) = self.is_it_over(session).await {
            tracing::error!(session, "{error:#}");
        }
        if let Err(error) = self.post(session).await {
            tracing::error!(session, "could not deliver messages: {error:#}");
        }
        followed
    }

    /// An agent that was there and is not has ended for good.
    async fn is_it_over(&self, session: &str) -> anyhow::Result<()> {
        let exited = self.summary(session).is_some_and(|it| it.status == SessionStatus::Exited);
        if exited && lock(&self.inner.alive).remove(session) {
            self.over(session).await?;
            self.put_away(session).await;
        }
        Ok(())
    }

    async fn examine(&self, mut job: Job) -> anyhow::Result<()> {
        // A step may lead to another: what is seen of a turn that has ended is more than that it began.
        for _ in 0..4 {
            let (Some(worker), false) = (job.worker.clone(), job.state.is_final()) else { break };
            let Ok((no, feed)) = self.hub().feed(&worker) else { break };
            let summary = feed.summary();
            let after = job.inner.after;
            let busy = is_busy(&summary, &job);
            let (turn, tokens) = if busy && job.budget.tokens.is_none() {
                (None, summary.tokens)
            } else {
                let read = move |connection: &_| turn_of(connection, no, (after, busy));
                self.hub().log().read(read).await?
            };
            let mut seen = seen(&summary, &job, turn.as_ref().and_then(result::ended), tokens);
            seen.end = self.end_of(&summary, no).await?;
            let step = job::step(&rules(&job), &seen, self.now());
            if !matches!(step, Some(Step::Become(State::Done, _))) {
                lock(&self.inner.silent).is_over(&job.id);
            }
            let Some(step) = step else { break };
            match step {
                Step::Become(State::Done, _) => {
                    let said = turn.as_ref().map(result::said).unwrap_or_default();
                    if lock(&self.inner.silent).holds(&job.id, said.known, self.now()) {
                        break;
                    }
                    job.result = turn.as_ref().map(|turn| result::done(turn, said, tokens));
                    self.becomes(&mut job, State::Done, None).await?;
                }
                Step::Become(State::Failed, why) => {
                    let why = self.last_words(no, after, why).await?;
                    self.becomes(&mut job, State::Failed, why).await?;
                }
                Step::Become(state, why) => {
                    job.inner.since = Some(job::since(&rules(&job), state, self.now()));
                    job.inner.asked_at = (state == State::Waiting).then(|| self.now());
                    job.question =
                        (state == State::Waiting).then(|| result::question(&summary)).flatten();
                    self.becomes(&mut job, state, why).await?;
                }
                Step::Pause(why) => {
                    let id = format!("pause-{}-{}", job.id, job.inner.prompts);
                    drop(self.command(&worker, id, pollux(), Command::Interrupt).await?);
                    self.becomes(&mut job, State::Paused, Some(why)).await?;
                }
                Step::Urge if job.inner.prompts < URGES => {
                    let text = again(&job);
                    self.prompt(&mut job, &text).await?;
                    self.keep(&job).await?;
                }
                Step::Urge => {
                    let why = format!("the worker was cut off {URGES} times");
                    self.becomes(&mut job, State::Failed, Some(why)).await?;
                }
            }
        }
        Ok(())
    }

    /// How a worker came to its end, if it has.
    async fn end_of(&self, summary: &Summary, no: i64) -> anyhow::Result<Option<End>> {
        if summary.status != SessionStatus::Exited {
            return Ok(None);
        }
        let was_here = lock(&self.inner.alive).contains(&summary.id);
        if !was_here && self.kept(&summary.id).is_some_and(|kept| !kept.gone) {
            return Ok(Some(End::WithDaemon));
        }
        let stopped = self.hub().log().read(move |log| rows::was_stopped(log, no)).await?;
        Ok(Some(if stopped { End::Stopped } else { End::Died }))
    }

    /// Why a job failed: with what was said last of its worker, which knows more.
    async fn last_words(
        &self,
        no: i64,
        after: u64,
        why: Option<String>,
    ) -> anyhow::Result<Option<String>> {
        let read = move |connection: &Connection| rows::last_words(connection, no, after);
        let more = self.hub().log().read(read).await?;
        Ok(match (why, more) {
            (Some(why), Some(more)) => Some(format!("{why}: {more}")),
            (why, more) => why.or(more),
        })
    }

    /// A job is somewhere else now: that is written down, then told. False where somebody else ends it, or has: then it is not.
    pub(super) async fn becomes(
        &self,
        job: &mut Job,
        state: State,
        why: Option<String>,
    ) -> anyhow::Result<bool> {
        job.state = state;
        job.why = why;
        job.question = job.question.take().filter(|_| state == State::Waiting);
        let ending = state.is_final().then(|| Ending::of(self, &job.id));
        if let Some(ending) = &ending {
            job.ended_at = Some(self.now());
            lock(&self.inner.silent).is_over(&job.id);
            if ending.is_none() {
                return Ok(false);
            }
            self.settle_tree(job).await;
        }
        let attended =
            lock(&self.inner.jobs).get(&job.id).is_some_and(|tell| tell.receiver_count() > 0);
        // Whoever waits hears of it by that.
        let letter = (is_news(state) && !attended).then(|| Self::told(job));
        if !self.keep_and_tell(job, letter).await? {
            return Ok(false);
        }
        let worker = job.worker.as_ref().filter(|_| state.is_final());
        if let Some(worker) = worker {
            self.withdraw(worker, prompt_id(job)).await?;
        }
        if let Some(worker) = worker.filter(|_| !job.inner.keep) {
            let stays = self.summary(worker).is_none_or(|it| it.status == SessionStatus::Exited);
            if !stays {
                let id = format!("stop-{}", job.id);
                self.command(worker, id, pollux(), Command::Stop).await?;
            }
        }
        Ok(true)
    }

    /// Takes back a prompt that lies in the queue of a session: what became of it was told otherwise.
    pub(super) async fn withdraw(&self, session: &str, queued: String) -> anyhow::Result<()> {
        let lies = |summary: &Arc<Summary>| summary.queue.iter().any(|one| one.id == queued);
        if self.summary(session).as_ref().is_some_and(lies) {
            let id = format!("withdraw-{queued}");
            drop(self.command(session, id, pollux(), Command::Cancel { queued }).await?);
        }
        Ok(())
    }

    /// Goes on with what an earlier daemon left.
    async fn take_up(&self) {
        let jobs: Vec<Job> =
            lock(&self.inner.jobs).values().map(|job| job.borrow().clone()).collect();
        for mut job in jobs {
            let Err(error) = self.take_up_job(&mut job).await else { continue };
            let why = Some(format!("could not resume the worker: {error:#}"));
            if let Err(error) = self.becomes(&mut job, State::Failed, why).await {
                tracing::error!(job = %job.id, "could not resume the worker: {error:#}");
            }
        }
        let receivers: Vec<String> = lock(&self.inner.boxes).iter().cloned().collect();
        for session in receivers {
            if let Err(error) = self.release(&session).await {
                tracing::error!(
                    session,
                    "could not deliver its messages after the restart: {error:#}"
                );
            }
        }
        self.inner.news.notify_one();
    }

    async fn take_up_job(&self, job: &mut Job) -> anyhow::Result<()> {
        if job.worker.is_none() {
            let caller =
                job.caller.clone().map_or_else(|| Caller::Person(By::owner()), Caller::Agent);
            job.worker = self.begin(&caller, job.clone(), true).await?.worker;
        }
        let Some(worker) = job.worker.clone() else { return Ok(()) };
        // Its log is brought up to date with its file first.
        let known = self.hub().snapshot(&worker).await?.summary;
        let (no, after) = (self.hub().feed(&worker)?.0, job.inner.after);
        let id = prompt_id(job);
        let read = move |connection: &Connection| {
            let turn = rows::turn(connection, no, after)?;
            Ok((turn, rows::has_command(connection, no, &id)?))
        };
        let (turn, taken) = self.hub().log().read(read).await?;
        let well = turn.as_ref().and_then(result::ended) == Some(Ended::Well);
        let gone = self.kept(&worker).is_none_or(|kept| kept.gone);
        let lives = known.driver == Some(Driver::Terminal) && known.status != SessionStatus::Exited;
        // One that has paused is started again when somebody goes on with it.
        if well || gone || (job.state == State::Paused && !lives) {
            return Ok(());
        }
        self.wake(&worker).await?;
        if lives {
            // It has outlived the daemon, and is followed from where it was.
            return self.release(&worker).await;
        }
        let lies = known.queue.iter().any(|queued| queued.id == prompt_id(job));
        let text = again(job);
        match (taken, lies) {
            (false, _) if job.inner.prompts == 0 => {
                let prompt = job.prompt.clone();
                self.hand(job, &prompt).await?;
            }
            (false, _) => self.hand(job, &text).await?,
            (true, true) => self.go(&worker).await?,
            (true, false) => self.prompt(job, &text).await?,
        }
        job.state = State::Starting;
        job.question = None;
        self.keep(job).await?;
        Ok(())
    }

    /// A queue of which nobody could say whether its first prompt had arrived goes on: an agent that lives is told what
    /// it has not heard.
    async fn release(&self, session: &str) -> anyhow::Result<()> {
        let known = self.hub().snapshot(session).await?.summary;
        let ours = |id: &str| id.starts_with("letter-") || id.starts_with("job-");
        let waits = known.queue.first().is_some_and(|queued| ours(&queued.id));
        if known.status != SessionStatus::Exited && known.held && waits {
            self.go(session).await?;
        }
        Ok(())
    }

    /// What waits for a session is handed over.
    pub(super) async fn go(&self, session: &str) -> anyhow::Result<()> {
        let id = format!("continue-{}", uuid::Uuid::new_v4());
        drop(self.command(session, id, pollux(), Command::Continue).await?);
        Ok(())
    }

    /// Prompts the worker of a job once more. The turn of the job is the one that follows.
    pub(super) async fn prompt(&self, job: &mut Job, text: &str) -> anyhow::Result<()> {
        let Some(worker) = job.worker.clone() else { return Ok(()) };
        job.inner.after = self.hub().feed(&worker)?.1.head().0;
        job.inner.prompts += 1;
        job.inner.since = Some(self.now());
        self.hand(job, text).await
    }

    /// Hands the prompt of a job to its worker.
    async fn hand(&self, job: &Job, text: &str) -> anyhow::Result<()> {
        let Some(worker) = job.worker.clone() else { return Ok(()) };
        let command = Command::prompt(text);
        match self.command(&worker, prompt_id(job), pollux(), command).await? {
            Reply::Done(_) => Ok(()),
            Reply::Refused(refusal) => {
                Err(Trouble::refused("refused", refusal.message).hint_of(refusal.hint).into())
            }
        }
    }

    /// Starts the agent of a session again that ended with an earlier daemon.
    pub(super) async fn wake(&self, session: &str) -> anyhow::Result<()> {
        let Some(summary) = self.summary(session) else { return Ok(()) };
        if summary.status == SessionStatus::Exited {
            let begin = Begin {
                cwd: summary.cwd.clone().unwrap_or_default(),
                driver: summary.driver,
                mode: self.kept(session).and_then(|kept| kept.given.mode),
                model: summary.model.clone(),
                resume: Some(session.to_owned()),
                ..Begin::default()
            };
            self.hub().begin(begin, &pollux()).await?;
        }
        lock(&self.inner.alive).insert(session.to_owned());
        Ok(())
    }
}

/// Pollux itself.
pub(super) fn pollux() -> By {
    By { name: "pollux".into(), remote: false }
}

/// What a worker is told that shall go on. Its task is said again: since 0.61 the CLI drops a prompt that was cancelled from what
/// the model sees.
pub(super) fn go_on(job: &Job) -> String {
    format!("Continue this work: {}", job.prompt)
}

fn again(job: &Job) -> String {
    format!("{STOPPED}\n\n{}", go_on(job))
}

/// The id of the command that brought the prompt of a job.
pub(super) fn prompt_id(job: &Job) -> String {
    match job.inner.prompts {
        0 => format!("job-{}-prompt", job.id),
        n => format!("job-{}-prompt-{n}", job.id),
    }
}

fn rules(job: &Job) -> Rules {
    Rules {
        state: job.state,
        since: job.inner.since.unwrap_or(job.created_at),
        asked_at: job.inner.asked_at,
        deadline: job.inner.deadline,
        budget: job.budget,
    }
}

pub(super) fn is_at_work(summary: &Summary) -> bool {
    matches!(
        summary.status,
        SessionStatus::Working | SessionStatus::Waiting | SessionStatus::Starting
    )
}

/// True where the turn of a job cannot have ended: its worker works, and on nothing else.
fn is_busy(summary: &Summary, job: &Job) -> bool {
    let works = is_at_work(summary);
    let other = summary.sending.as_ref().is_some_and(|sending| sending.id != prompt_id(job));
    works && !other
}

/// The turn of a job, where it can have ended, and what its worker has taken by then: both out of the log, which knows more than
/// what a session was said to be a moment before.
fn turn_of(
    connection: &Connection,
    no: i64,
    (after, busy): (u64, bool),
) -> rusqlite::Result<(Option<Turn>, u64)> {
    let turn = if busy { None } else { rows::turn(connection, no, after)? };
    Ok((turn, counts(connection, no)?.1))
}

fn seen(summary: &Summary, job: &Job, turn: Option<Ended>, tokens: u64) -> Seen {
    let idle = matches!(summary.status, SessionStatus::Idle | SessionStatus::Error);
    let own = prompt_id(job);
    let lies = summary.queue.iter().any(|queued| queued.id == own);
    // A prompt that is on its way is not worked on yet: a turn that has not begun cannot be stopped, and takes no time.
    let comes = summary.status == SessionStatus::Working && summary.sending.is_some();
    Seen {
        status: if comes { SessionStatus::Starting } else { summary.status },
        end: None,
        turn,
        stuck: turn.is_none() && idle && summary.held && lies,
        adrift: turn.is_none() && idle && !lies && summary.sending.is_none() && !is_queued(summary),
        asks: !summary.questions.is_empty(),
        tokens,
    }
}

/// True where something waits that will lead to a turn.
fn is_queued(summary: &Summary) -> bool {
    !summary.queue.is_empty() && !summary.held
}

/// True where a reply says that it was done.
pub(super) fn is_done(reply: &Reply) -> bool {
    matches!(reply, Reply::Done(Done::Sent | Done::Queued { .. }))
}
