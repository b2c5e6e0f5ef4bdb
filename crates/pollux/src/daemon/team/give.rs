//! Giving work: a profile becomes an agent, a message becomes a job.

use super::follow::pollux;
use super::tree::{self, Tree};
use super::{Caller, Kept, Teams, lock, nobody, rows};
use crate::api::team::{Give, Inner, Job, Launch};
use crate::api::{Begin, Driver, Summary};
use crate::daemon::hub::agent::is_command;
use crate::team::given::{Rights, given};
use crate::team::job::{Kind, State};
use crate::team::limits::Budget;
use crate::team::profile::Profile;
use crate::trouble::Trouble;
use jiff::SignedDuration;
use pollux_agent::model::Mode;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;

/// What is to be started.
struct Start<'s> {
    name: String,
    client_id: String,
    profile: &'s Profile,
    cwd: PathBuf,
    prompt: Option<String>,
    mode: Option<Mode>,
    model: Option<String>,
    driver: Option<Driver>,
    tree: Option<Tree>,
}

/// A place in a team, until its worker is there.
struct Birth {
    teams: Teams,
    team: Option<String>,
}

impl Drop for Birth {
    fn drop(&mut self) {
        if let Some(team) = &self.team
            && let Some(births) = lock(&self.teams.inner.births).get_mut(team)
        {
            *births = births.saturating_sub(1);
        }
    }
}

impl Teams {
    /// Starts an agent that works for a person.
    pub async fn launch(&self, caller: &Caller, launch: Launch) -> anyhow::Result<Arc<Summary>> {
        let profile = self.store().find(&launch.profile)?;
        let start = Start {
            name: self.new_name(&profile.name),
            client_id: launch.client_id.unwrap_or_else(new_id),
            profile: &profile,
            cwd: self.place(caller, Some(&launch.cwd))?,
            prompt: launch.prompt,
            mode: launch.mode,
            model: launch.model,
            driver: launch.driver,
            tree: None,
        };
        let birth = self.birth(caller)?;
        let session = self.start(caller, start).await?;
        drop(birth);
        Ok(self.hub().feed(&session)?.1.summary())
    }

    /// Gives a job. It is written down before anything is started for it.
    pub async fn give(&self, caller: &Caller, give: Give) -> anyhow::Result<Job> {
        if let Some(client) = give.client_id.clone() {
            let read = move |connection: &_| rows::given_before(connection, &client);
            if let Some(job) = self.hub().log().read(read).await? {
                return Ok(job);
            }
        }
        if give.message.trim().is_empty() {
            let trouble = Trouble::refused("no_message", "no task given");
            return Err(trouble.hint("describe what the agent should do").into());
        }
        self.hub().is_prompt(&give.message)?;
        is_something(give.budget)?;
        let profile = self.store().find(&give.profile)?;
        is_task(give.driver.or(profile.driver).unwrap_or_default(), &give.message)?;
        let cwd = self.place(caller, give.cwd.as_deref())?;
        let birth = self.birth(caller)?;
        let now = self.now();
        let deadline = give.timeout.and_then(|seconds| {
            let seconds = SignedDuration::from_secs(i64::try_from(seconds).ok()?);
            now.saturating_add(seconds).ok()
        });
        let job = Job {
            id: new_id(),
            kind: give.kind,
            caller: caller.session().map(str::to_owned),
            worker: None,
            name: self.new_name(&profile.name),
            profile: profile.name.clone(),
            prompt: give.message,
            state: State::Starting,
            why: None,
            question: None,
            result: None,
            budget: self.inner.settings.limits.budget(give.budget),
            created_at: now,
            ended_at: None,
            inner: Inner {
                since: Some(now),
                deadline,
                keep: give.keep.unwrap_or(give.kind == Kind::Assign),
                worktree: give.worktree,
                cwd: Some(cwd),
                driver: give.driver,
                ..Inner::default()
            },
        };
        let (row, client) = (job.clone(), give.client_id);
        let written = move |connection: &_| rows::save_job(connection, &row, client.as_deref());
        self.hub().log().write(written).await?;
        lock(&self.inner.jobs).insert(job.id.clone(), watch::channel(job.clone()).0);
        // Whoever gives it hears at once that it could not be begun, and needs no letter.
        let hears = lock(&self.inner.jobs).get(&job.id).map(watch::Sender::subscribe);
        let job = self.begin(caller, job, false).await;
        drop(hears);
        drop(birth);
        job
    }

    /// Starts the worker of a job; again, where an earlier daemon may have begun with it. What goes wrong ends the job, and
    /// is told.
    pub(super) async fn begin(
        &self,
        caller: &Caller,
        mut job: Job,
        again: bool,
    ) -> anyhow::Result<Job> {
        match self.worker(caller, &job, again).await {
            Ok(worker) => job.worker = Some(worker),
            Err(error) => {
                let hint = error.downcast_ref::<Trouble>().and_then(|trouble| trouble.hint.clone());
                let why = format!("{error:#}");
                let message = format!("could not start the worker: {why}");
                self.becomes(&mut job, State::Failed, Some(why)).await?;
                return Err(Trouble::refused("not_started", message).hint_of(hint).into());
            }
        }
        if !self.keep(&job).await? {
            // It was taken back while its worker was being started.
            if let Some(worker) = &job.worker {
                self.stop(&Caller::Person(pollux()), worker).await?;
            }
            return Err(Trouble::refused("job_ended", "the job was cancelled").into());
        }
        self.inner.news.notify_one();
        Ok(job)
    }

    async fn worker(&self, caller: &Caller, job: &Job, again: bool) -> anyhow::Result<String> {
        let profile = self.store().find(&job.profile)?;
        let of = job.inner.cwd.clone().unwrap_or_default();
        let tree = if job.inner.worktree.is_none() {
            None
        } else {
            let path = self.inner.settings.trees.join(&job.name);
            std::fs::create_dir_all(&self.inner.settings.trees)?;
            Some(tree::make(&of, path, &job.name, again).await.map_err(no_tree)?)
        };
        let start = Start {
            name: job.name.clone(),
            client_id: client_id(job),
            profile: &profile,
            cwd: tree.as_ref().map_or(of, |tree| tree.path.clone()),
            prompt: Some(job.prompt.clone()),
            mode: None,
            model: None,
            driver: job.inner.driver,
            tree: tree.clone(),
        };
        let started = self.start(caller, start).await;
        if started.is_err() {
            self.take_back(job, tree.as_ref()).await;
        }
        started
    }

    async fn start(&self, caller: &Caller, start: Start<'_>) -> anyhow::Result<String> {
        let rights: Option<Rights> = self.rights(caller)?;
        let (mut given, mut mode) = given(start.profile, &start.name, rights.as_ref());
        // A person says what he wants; an agent cannot.
        if let (None, Some(wanted)) = (&rights, start.mode) {
            mode = wanted;
            given.mode = Some(wanted);
        }
        let begin = Begin {
            client_id: Some(start.client_id),
            cwd: start.cwd,
            driver: Some(start.driver.or(start.profile.driver).unwrap_or_default()),
            mode: Some(mode),
            model: start.model.or_else(|| start.profile.model.clone()),
            resume: None,
            prompt: start.prompt,
        };
        let parent = match caller.session() {
            Some(session) => Some(self.kept(session).ok_or_else(|| nobody(session))?),
            None => None,
        };
        let by = caller.by(self);
        let summary = self.hub().begin_given(begin, given.clone(), &by).await?;
        let session = summary.id.clone();
        if self.kept(&session).is_some() {
            // The same request once more: it has its name already.
            return Ok(session);
        }
        let row = Kept {
            name: start.name,
            profile: given.profile.clone(),
            team: parent.as_ref().map_or_else(|| session.clone(), |parent| parent.team.clone()),
            depth: parent.as_ref().map_or(0, |parent| parent.depth + 1),
            parent: parent.map(|parent| parent.session),
            given,
            worktree: start.tree,
            gone: false,
            session,
        };
        let written = row.clone();
        self.hub().log().write(move |connection| rows::add_member(connection, &written)).await?;
        self.members().insert(summary.id.clone(), row);
        lock(&self.inner.alive).insert(summary.id.clone());
        self.changed();
        Ok(summary.id.clone())
    }

    /// Takes a place in the caller's team, if there is one.
    fn birth(&self, caller: &Caller) -> anyhow::Result<Birth> {
        let Some(session) = caller.session() else {
            return Ok(Birth { teams: self.clone(), team: None });
        };
        let own = self.living(session).ok_or_else(|| nobody(session))?;
        let living = {
            let members = self.members();
            let is = |kept: &&Kept| kept.team == own.team && kept.session != own.team && !kept.gone;
            members.values().filter(is).count()
        };
        let mut births = lock(&self.inner.births);
        let coming = births.entry(own.team.clone()).or_default();
        let refused = self.inner.settings.limits.refuse(living + *coming, own.depth + 1);
        if let Some((why, hint)) = refused {
            return Err(Trouble::refused("team_limit", why).hint(hint).into());
        }
        *coming += 1;
        Ok(Birth { teams: self.clone(), team: Some(own.team) })
    }

    /// Where a worker works: where its caller does, or somewhere below.
    fn place(&self, caller: &Caller, wanted: Option<&Path>) -> anyhow::Result<PathBuf> {
        let Some(session) = caller.session() else {
            let wanted = wanted.filter(|wanted| wanted.is_absolute()).ok_or_else(|| {
                Trouble::refused("wrong_request", "no working directory given")
                    .hint("use an absolute path")
            })?;
            let real = wanted.canonicalize().map_err(|error| {
                Trouble::refused("no_directory", format!("{}: {error}", wanted.display()))
            })?;
            return Ok(real);
        };
        let own = self.summary(session).and_then(|summary| summary.cwd.clone());
        let own = own.ok_or_else(|| nobody(session))?;
        let Some(wanted) = wanted else { return Ok(own) };
        let outside = || {
            let message = format!("{} is outside your working directory", wanted.display());
            Trouble::refused("outside_projects", message).hint("choose a directory inside your own")
        };
        let real = own.join(wanted).canonicalize().map_err(|_gone| outside())?;
        if !real.starts_with(own.canonicalize()?) {
            return Err(outside().into());
        }
        Ok(real)
    }

    fn new_name(&self, profile: &str) -> String {
        loop {
            let id = uuid::Uuid::new_v4().simple().to_string();
            let name = format!("{profile}-{}", id.get(..4).unwrap_or(&id));
            let has_tree = self.inner.settings.trees.join(&name).exists();
            if !has_tree && !self.members().values().any(|kept| kept.name == name) {
                return name;
            }
        }
    }

    /// Writes down what became of a job, and tells those who wait for it. False where it has ended before: what has ended
    /// has ended, whoever else was at it.
    pub(super) async fn keep(&self, job: &Job) -> anyhow::Result<bool> {
        self.keep_and_tell(job, None).await
    }

    /// The same, with a letter to whoever gave the job: one is not written without the other.
    pub(super) async fn keep_and_tell(
        &self,
        job: &Job,
        letter: Option<String>,
    ) -> anyhow::Result<bool> {
        let (row, now) = (job.clone(), self.now());
        let has_letter = letter.is_some();
        let saved = move |connection: &_| {
            let saved = rows::save_job(connection, &row, None)?;
            if let Some(text) = letter.filter(|_| saved) {
                let between = (row.worker.as_deref(), row.caller.as_deref());
                rows::write(connection, between, (&text, Some(&row.id), true), now)?;
            }
            Ok(saved)
        };
        if !self.hub().log().write(saved).await? {
            return Ok(false);
        }
        if let Some(to) = job.caller.as_ref().filter(|_| has_letter) {
            self.has_post(to);
        }
        let mut jobs = lock(&self.inner.jobs);
        if let Some(tell) = jobs.get(&job.id) {
            tell.send_replace(job.clone());
            if job.state.is_final() {
                jobs.remove(&job.id);
            }
        }
        self.changed();
        Ok(true)
    }
}

/// A job is for the model. A command runs without asking, with more rights than the caller may have; and what is to be done
/// may be made of what others wrote.
pub(super) fn is_task(driver: Driver, message: &str) -> Result<(), Trouble> {
    if is_command(driver, message) {
        let why = "the task would run as a CLI or shell command";
        return Err(Trouble::refused("not_a_task", why).hint("start the task with plain text"));
    }
    Ok(())
}

/// A job that may take nothing would pause before it began.
pub(super) fn is_something(budget: Budget) -> Result<(), Trouble> {
    let hint = "use a higher budget, or omit it to use the daemon's limits";
    budget.refuse().map_or(Ok(()), |why| Err(Trouble::refused("no_budget", why).hint(hint)))
}

fn no_tree(error: anyhow::Error) -> anyhow::Error {
    let trouble = Trouble::refused("no_worktree", "could not create a worktree");
    error.context(trouble.hint("a worktree needs a git repository with at least one commit"))
}

/// The id of the request that begins the worker of a job.
pub(super) fn client_id(job: &Job) -> String {
    format!("job-{}", job.id)
}

fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}
