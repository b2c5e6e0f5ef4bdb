//! Teams in the daemon: starts workers, follows their jobs, carries letters. The rules are in `crate::team`, the facts
//! in the log; nothing is asked again and again, a bell rings where something has changed.

pub mod badge;
mod decide;
mod ending;
mod follow;
mod give;
mod order;
mod post;
mod result;
mod schedule;
mod silence;
mod tree;

pub(super) use post::short;
pub use tree::Tree;

use super::guard::lock;
use super::hub::Hub;
use super::log::schedule as timetable;
use super::log::team as rows;
use super::log::team::Kept;
use crate::api::Summary;
use crate::api::schedule::{Run, Schedule};
use crate::api::team::{Job, Member};
use crate::team::given::{Rights, may_choose};
use crate::team::job::State;
use crate::team::limits::Limits;
use crate::team::store::Store;
use crate::trouble::Trouble;
use jiff::Timestamp;
use pollux_agent::model::{Question, SessionStatus};
use pollux_agent::session::{By, Command, Reply, Request};
use silence::Silence;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

/// Who asks something of a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// Somebody at a keyboard, or at a phone.
    Person(By),
    /// An agent: its session.
    Agent(String),
}

impl Caller {
    /// The session, where it is an agent.
    pub fn session(&self) -> Option<&str> {
        match self {
            Self::Person(_) => None,
            Self::Agent(session) => Some(session),
        }
    }

    fn by(&self, teams: &Teams) -> By {
        match self {
            Self::Person(by) => by.clone(),
            Self::Agent(session) => By { name: teams.name_of(Some(session)), remote: false },
        }
    }
}

/// What a daemon needs for teams.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Where profiles are.
    pub store: Store,
    /// What a team may.
    pub limits: Limits,
    /// Where worktrees go.
    pub trees: PathBuf,
}

/// All teams. Clones are the same.
#[derive(Debug, Clone)]
pub struct Teams {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    hub: Hub,
    settings: Settings,
    members: Mutex<HashMap<String, Kept>>,
    /// Members whose agent has been there since this daemon began.
    alive: Mutex<HashSet<String>>,
    /// Places in teams that are taken by workers that are about to be started.
    births: Mutex<HashMap<String, usize>>,
    jobs: Mutex<HashMap<String, watch::Sender<Job>>>,
    /// Jobs that somebody is about to end.
    ending: Mutex<HashSet<String>>,
    /// Jobs whose turn has ended without a word.
    silent: Mutex<Silence>,
    /// Sessions for which letters are on their way, or wait.
    boxes: Mutex<HashSet<String>>,
    news: Notify,
    schedules: Mutex<HashMap<String, Schedule>>,
    /// Rings when a schedule was added or taken away.
    timetable: Notify,
    /// Runs of schedules that go on.
    runs: Mutex<JoinSet<Run>>,
    /// Rises with each change of a member, a job or a letter.
    changes: watch::Sender<u64>,
}

impl Teams {
    /// The teams of a log. What was there before is known; it is taken up again by [`Teams::run`].
    pub fn open(hub: Hub, settings: Settings) -> anyhow::Result<Self> {
        let (members, jobs, letters, schedules) = hub.log().read_now(|connection| {
            Ok((
                rows::members(connection)?,
                rows::open_jobs(connection)?,
                rows::open_letters(connection)?,
                timetable::all(connection)?,
            ))
        })?;
        let inner = Inner {
            hub,
            settings,
            members: Mutex::new(
                members.into_iter().map(|kept| (kept.session.clone(), kept)).collect(),
            ),
            alive: Mutex::default(),
            births: Mutex::default(),
            jobs: Mutex::new(
                jobs.into_iter().map(|job| (job.id.clone(), watch::channel(job).0)).collect(),
            ),
            ending: Mutex::default(),
            silent: Mutex::default(),
            boxes: Mutex::new(letters.into_iter().filter_map(|letter| letter.to).collect()),
            news: Notify::new(),
            schedules: Mutex::new(
                schedules.into_iter().map(|schedule| (schedule.name.clone(), schedule)).collect(),
            ),
            timetable: Notify::new(),
            runs: Mutex::default(),
            changes: watch::Sender::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The sessions.
    pub fn hub(&self) -> &Hub {
        &self.inner.hub
    }

    /// Where profiles are.
    pub fn store(&self) -> &Store {
        &self.inner.settings.store
    }

    /// Tells that a member, a job or a letter has changed. Several changes may be told as one.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    fn changed(&self) {
        self.inner.changes.send_modify(|changes| *changes += 1);
    }

    fn now(&self) -> Timestamp {
        self.inner.hub.now()
    }

    fn members(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        lock(&self.inner.members)
    }

    fn kept(&self, session: &str) -> Option<Kept> {
        self.members().get(session).cloned()
    }

    /// A member that can still ask for something. One that had ended can be gone on with.
    fn living(&self, session: &str) -> Option<Kept> {
        let ended = || self.summary(session).is_none_or(|it| it.status == SessionStatus::Exited);
        self.kept(session).filter(|kept| !kept.gone || !ended())
    }

    fn summary(&self, session: &str) -> Option<Arc<Summary>> {
        self.inner.hub.feed(session).ok().map(|(_, feed)| feed.summary())
    }

    /// What somebody is called.
    pub fn name_of(&self, session: Option<&str>) -> String {
        match session {
            None => "the person".to_owned(),
            Some(session) => match self.kept(session) {
                Some(kept) => kept.name,
                None => short(session).to_owned(),
            },
        }
    }

    /// What a caller can pass on: an agent what it has, a person everything.
    fn rights(&self, caller: &Caller) -> anyhow::Result<Option<Rights>> {
        let Caller::Agent(session) = caller else { return Ok(None) };
        let kept = self.living(session).ok_or_else(|| nobody(session))?;
        let summary = self.summary(session).ok_or_else(|| nobody(session))?;
        Ok(Some(Rights {
            mode: summary.mode,
            tools: kept.given.lends.unwrap_or(kept.given.tools),
            answers: kept.given.answers,
        }))
    }

    /// The agents that a caller sees: its own team, or everybody. Each after the one that it works for.
    pub async fn list(&self, caller: &Caller) -> anyhow::Result<Vec<Member>> {
        let mut all: Vec<Kept> = self.members().values().cloned().collect();
        if let Some(session) = caller.session() {
            let team = self.kept(session).map(|kept| kept.team);
            all.retain(|kept| Some(&kept.team) == team.as_ref());
        }
        let letters = self.hub().log().read(rows::open_letters).await?;
        let jobs: Vec<Job> =
            lock(&self.inner.jobs).values().map(|job| job.borrow().clone()).collect();
        let mut members: Vec<(Timestamp, Member)> = Vec::new();
        for kept in all {
            let Some(summary) = self.summary(&kept.session) else { continue };
            let works =
                |job: &&Job| job.worker.as_ref() == Some(&kept.session) && !job.state.is_final();
            let waits = letters.iter().filter(|letter| letter.to.as_ref() == Some(&kept.session));
            let member = Member {
                name: kept.name,
                profile: kept.profile,
                team: kept.team,
                parent: kept.parent,
                depth: kept.depth,
                status: summary.status,
                mode: summary.mode,
                cwd: summary.cwd.clone(),
                tokens: summary.tokens,
                job: jobs.iter().find(works).map(|job| job.id.clone()),
                letters: u64::try_from(waits.count()).unwrap_or(u64::MAX),
                gone: kept.gone,
                session: kept.session,
            };
            members.push((summary.created_at, member));
        }
        members.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.session.cmp(&b.1.session)));
        Ok(order::in_order(&members.into_iter().map(|(_, member)| member).collect::<Vec<_>>()))
    }

    /// The agent that a word names: its name, or the beginning of its session. An agent sees its own team only.
    pub fn find(&self, caller: &Caller, word: &str) -> Result<String, Trouble> {
        let team = caller.session().and_then(|session| self.kept(session)).map(|kept| kept.team);
        let members = self.members();
        let seen = |kept: &&Kept| caller.session().is_none() || Some(&kept.team) == team.as_ref();
        let mut named: Vec<&Kept> = members
            .values()
            .filter(seen)
            .filter(|kept| kept.name == word || kept.session == word)
            .collect();
        if named.is_empty() && word.len() >= 4 {
            named = members
                .values()
                .filter(seen)
                .filter(|kept| kept.session.starts_with(word))
                .collect();
        }
        match named.as_slice() {
            [one] => Ok(one.session.clone()),
            [] => Err(Trouble::refused("unknown_agent", format!("no agent `{word}`"))
                .hint("list agents with `pollux team`")),
            _ => {
                Err(Trouble::refused("ambiguous_agent", format!("`{word}` matches several agents"))
                    .hint("use the session id instead"))
            }
        }
    }

    /// True where one works for the other, over any number of others.
    fn is_above(&self, above: &str, below: &str) -> bool {
        let members = self.members();
        let mut at = members.get(below).and_then(|kept| kept.parent.clone());
        // A tree is not deeper than it is large.
        for _ in 0..=members.len() {
            match at {
                Some(parent) if parent == above => return true,
                Some(parent) => at = members.get(&parent).and_then(|kept| kept.parent.clone()),
                None => return false,
            }
        }
        false
    }

    /// Gives a session a command.
    async fn command(
        &self,
        session: &str,
        id: String,
        by: By,
        command: Command,
    ) -> anyhow::Result<Reply> {
        self.hub().command(session, Request { id, by, command }).await
    }

    /// Ends an agent, and those who work for it.
    pub async fn stop(&self, caller: &Caller, session: &str) -> anyhow::Result<Vec<String>> {
        if let Some(own) = caller.session()
            && !self.is_above(own, session)
        {
            let trouble = Trouble::refused("not_allowed", "this agent does not work for you");
            return Err(trouble.hint("you can only stop agents that you started").into());
        }
        let (mut stopped, mut failed) = (Vec::new(), Vec::new());
        let mut done = HashSet::new();
        // From the top: one that still leads would start others in the place of those that end.
        while let Some(next) = self.next_of(session, &done) {
            match self.end(caller, &next).await {
                Ok(true) => stopped.push(self.name_of(Some(&next))),
                Ok(false) => {}
                // The others are to end all the same.
                Err(error) => failed.push((self.name_of(Some(&next)), error)),
            }
            done.insert(next);
        }
        let (names, errors): (Vec<String>, Vec<_>) = failed.into_iter().unzip();
        let Some(error) = errors.into_iter().next() else { return Ok(stopped) };
        let message = format!("could not stop {}", names.join(", "));
        let ended = if stopped.is_empty() { "nobody".to_owned() } else { stopped.join(", ") };
        let hint = format!("try again; stopped so far: {ended}");
        Err(error.context(Trouble::failed("not_stopped", message).hint(hint)))
    }

    /// The next to be ended of an agent and those who work for it: the highest that is left.
    fn next_of(&self, session: &str, done: &HashSet<String>) -> Option<String> {
        if !done.contains(session) {
            return Some(session.to_owned());
        }
        let all: Vec<(u32, String)> =
            self.members().values().map(|kept| (kept.depth, kept.session.clone())).collect();
        let left = all.into_iter().filter(|(_, other)| !done.contains(other));
        left.filter(|(_, other)| self.is_above(session, other)).min().map(|(_, other)| other)
    }

    /// Ends one agent. False where it had ended before.
    async fn end(&self, caller: &Caller, session: &str) -> anyhow::Result<bool> {
        if self.summary(session).is_none_or(|summary| summary.status == SessionStatus::Exited) {
            // One that leads for long has many behind it of whom that is written down.
            if self.kept(session).is_none_or(|kept| !kept.gone) {
                self.over(session).await?;
            }
            return Ok(false);
        }
        let id = format!("stop-{}", uuid::Uuid::new_v4());
        self.command(session, id, caller.by(self), Command::Stop).await?;
        Ok(true)
    }

    /// An agent has ended for good.
    async fn over(&self, session: &str) -> anyhow::Result<()> {
        let (owned, now) = (session.to_owned(), self.now());
        self.hub().log().write(move |connection| rows::gone(connection, &owned, now)).await?;
        if let Some(kept) = self.members().get_mut(session) {
            kept.gone = true;
        }
        self.changed();
        Ok(())
    }

    /// Agents that have long ended are of no team any more: the log has let go of them.
    pub fn forget(&self, sessions: &[String]) {
        if sessions.is_empty() {
            return;
        }
        let (mut members, mut alive) = (self.members(), lock(&self.inner.alive));
        for session in sessions {
            members.remove(session);
            alive.remove(session);
        }
        drop((members, alive));
        self.changed();
    }

    /// A job: its id, or the beginning of it. An agent sees those of its own team only.
    pub async fn job(&self, caller: &Caller, id: &str) -> anyhow::Result<Job> {
        let unknown = || {
            Trouble::refused("unknown_job", format!("no job `{id}`"))
                .hint("list jobs with `pollux jobs`")
        };
        let owned = id.to_owned();
        let job = self.hub().log().read(move |connection| rows::job(connection, &owned)).await?;
        let job = job.ok_or_else(unknown)?;
        if let Some(session) = caller.session() {
            let team = |session: &str| self.kept(session).map(|kept| kept.team);
            let own = team(session);
            let of = job.worker.as_deref().or(job.caller.as_deref()).and_then(team);
            if own.is_none() || own != of {
                return Err(unknown().into());
            }
        }
        Ok(job)
    }

    /// Waits until there is something to say of a job; of one whose time is over, something else.
    pub async fn wait(&self, job: &Job) -> Job {
        let Some(mut news) = lock(&self.inner.jobs).get(&job.id).map(watch::Sender::subscribe)
        else {
            // It has ended: the log has its end.
            let id = job.id.clone();
            let read = self.hub().log().read(move |connection| rows::job(connection, &id)).await;
            return read.ok().flatten().unwrap_or_else(|| job.clone());
        };
        let known = job.state == State::TimedOut;
        let is_new = |job: &Job| job.state.is_told() && !(known && job.state == State::TimedOut);
        let told = news.wait_for(is_new).await.map(|job| job.clone());
        told.unwrap_or_else(|_closed| job.clone())
    }

    /// Answers the question of an agent that works for the caller. An agent may say yes once or no; it opens no door for
    /// good.
    pub async fn answer(
        &self,
        caller: &Caller,
        agent: &str,
        choice: &str,
        reason: Option<String>,
    ) -> anyhow::Result<()> {
        let session = self.find(caller, agent)?;
        let summary = self.summary(&session).ok_or_else(|| nobody(&session))?;
        let open = summary.questions.first().ok_or_else(|| {
            Trouble::refused("no_question", format!("{agent} has no pending question"))
        })?;
        let question: Question<'_> = serde_json::from_str(open.question.get())?;
        if let Some(own) = caller.session() {
            let may = self.kept(own).is_some_and(|kept| kept.given.answers);
            if !may || !self.is_above(own, &session) {
                let trouble =
                    Trouble::refused("not_allowed", "you may not answer on behalf of the user");
                return Err(trouble.hint("tell the user that the agent needs an answer").into());
            }
            let chosen = question.options.iter().find(|option| option.id == *choice);
            if chosen.is_some_and(|option| !may_choose(question.kind, option.effect)) {
                let trouble =
                    Trouble::refused("not_allowed", "only the user can give a permanent answer");
                return Err(trouble.hint("choose an option that applies once").into());
            }
        }
        let command = Command::Answer {
            question_id: question.id.to_string(),
            choice: choice.to_owned(),
            reason,
            shown: Some(open.shown.clone()),
        };
        let id = format!("answer-{}", uuid::Uuid::new_v4());
        match self.command(&session, id, caller.by(self), command).await? {
            Reply::Done(_) => Ok(()),
            Reply::Refused(refusal) => {
                Err(Trouble::refused("refused", refusal.message).hint_of(refusal.hint).into())
            }
        }
    }

    /// The text of a skill, where the caller may load it.
    pub fn skill(&self, caller: &Caller, name: &str) -> anyhow::Result<String> {
        let patterns =
            caller.session().and_then(|own| self.kept(own)).map(|kept| kept.given.skills);
        let may = patterns.is_none_or(|patterns| {
            patterns.is_empty() || patterns.iter().any(|pattern| fits(pattern, name))
        });
        let text = self.store().skill(name).filter(|_| may);
        text.ok_or_else(|| {
            let known = self.store().skill_names().join(", ");
            Trouble::refused("unknown_skill", format!("no skill `{name}` is available to you"))
                .hint(format!("available skills: {known}"))
                .into()
        })
    }

    /// How many letters wait for a person.
    pub async fn unread(&self) -> anyhow::Result<u64> {
        self.hub().log().read(rows::unread).await
    }

    /// The last jobs.
    pub async fn jobs(&self, most: usize) -> anyhow::Result<Vec<Job>> {
        self.hub().log().read(move |connection| rows::jobs(connection, most)).await
    }
}

/// True where a name fits a pattern, in which `*` is any letters.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, rest)) => name.strip_prefix(head).is_some_and(|name| {
            rest.is_empty()
                || (0..=name.len()).any(|at| name.get(at..).is_some_and(|end| fits(rest, end)))
        }),
    }
}

fn nobody(session: &str) -> Trouble {
    Trouble::refused("unknown_agent", format!("`{session}` is not a team agent"))
}

/// True where the caller of a job hears of its state now.
fn is_news(state: State) -> bool {
    state.is_told() && state != State::TimedOut
}
