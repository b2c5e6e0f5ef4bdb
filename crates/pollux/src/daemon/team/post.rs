//! Carrying letters: written down, handed over once when the receiver has time, seen to have arrived, or dead.

use super::follow::{is_done, pollux};
use super::{Caller, Teams, lock, rows};
use crate::api::team::Job;
use crate::team::job::State as JobState;
use crate::team::post::{Fate, Letter, Next, Receiver, State, fate, next};
use crate::trouble::Trouble;
use pollux_agent::session::{Command, Queued};
use std::fmt::Write;

/// The longest letter.
const LONGEST: usize = 512 << 10;
/// What a letter is about.
#[derive(Debug, Clone, Copy)]
pub(super) enum About<'a> {
    /// What somebody wants to say.
    Anything,
    /// What became of a job.
    Job(&'a str),
    /// What became of a letter.
    Letter,
}

/// What a person is called by agents.
const PERSON: [&str; 4] = ["person", "owner", "user", "the person"];

impl Teams {
    /// Sends a letter. Without a receiver it goes to the one for whom the sender works.
    pub async fn send(
        &self,
        caller: &Caller,
        to: Option<&str>,
        text: &str,
    ) -> anyhow::Result<(i64, String)> {
        if text.trim().is_empty() || text.len() > LONGEST {
            let message = format!("a message must have 1 byte to {} KB", LONGEST >> 10);
            let hint = "put longer text into a file and name that file in the message";
            return Err(Trouble::refused("wrong_request", message).hint(hint).into());
        }
        let own = caller.session();
        let to = match (to, own.and_then(|own| self.kept(own))) {
            (None, Some(kept)) => kept.parent,
            (None, None) => {
                let trouble = Trouble::refused("wrong_request", "no recipient given");
                return Err(trouble.hint("list agents with `pollux team`").into());
            }
            (Some(word), Some(_)) if PERSON.contains(&word) => None,
            (Some(word), _) => Some(self.find(caller, word)?),
        };
        if own.is_some() && to.as_deref() == own {
            return Err(
                Trouble::refused("to_oneself", "an agent cannot send a message to itself").into()
            );
        }
        if let Some(gone) = to.as_deref().and_then(|to| self.kept(to)).filter(|kept| kept.gone) {
            let message = format!("{} has ended", gone.name);
            return Err(Trouble::refused("gone", message)
                .hint("list agents with `pollux team`")
                .into());
        }
        let name = self.name_of(to.as_deref());
        let id = self.write(own, to.as_deref(), text, About::Anything).await?;
        Ok((id, name))
    }

    /// Writes a letter down, and has it carried.
    pub(super) async fn write(
        &self,
        from: Option<&str>,
        to: Option<&str>,
        text: &str,
        about: About<'_>,
    ) -> anyhow::Result<i64> {
        let owned = |word: Option<&str>| word.map(str::to_owned);
        let (from, receiver, text) = (owned(from), owned(to), text.to_owned());
        let (job, notice) = match about {
            About::Anything => (None, false),
            About::Job(job) => (Some(job.to_owned()), true),
            About::Letter => (None, true),
        };
        let now = self.now();
        let written = move |connection: &rusqlite::Connection| {
            rows::write(
                connection,
                (from.as_deref(), receiver.as_deref()),
                (&text, job.as_deref(), notice),
                now,
            )
        };
        let id = self.hub().log().write(written).await?;
        self.changed();
        if let Some(to) = to {
            self.has_post(to);
        }
        Ok(id)
    }

    /// There is a letter for somebody, to be carried.
    pub(super) fn has_post(&self, to: &str) {
        lock(&self.inner.boxes).insert(to.to_owned());
        self.inner.news.notify_one();
    }

    /// Letters: all, those of one agent, or those of people.
    pub async fn letters(&self, of: rows::Whose, most: usize) -> anyhow::Result<Vec<Letter>> {
        let read = move |connection: &rusqlite::Connection| rows::letters(connection, &of, most);
        self.hub().log().read(read).await
    }

    /// A person has read his letters.
    pub async fn read(&self, ids: Vec<i64>) -> anyhow::Result<()> {
        let now = self.now();
        let written = move |connection: &rusqlite::Connection| {
            for id in ids {
                rows::settle(connection, id, (State::Waiting, State::Delivered), None, now)?;
            }
            Ok(())
        };
        self.hub().log().write(written).await?;
        self.changed();
        Ok(())
    }

    /// A person who has waited for a job was shown what became of it. It may have been written to him all the same: between
    /// two requests nobody waits.
    pub async fn seen(&self, job: &Job) -> anyhow::Result<()> {
        if job.state.is_told() {
            let (id, now) = (job.id.clone(), self.now());
            if self.hub().log().write(move |connection| rows::seen(connection, &id, now)).await? {
                self.changed();
            }
        }
        Ok(())
    }

    /// Does what can be done now for one receiver.
    pub(super) async fn post(&self, session: &str) -> anyhow::Result<()> {
        // Before its letters are looked at: one that is written meanwhile puts the box back.
        if !lock(&self.inner.boxes).remove(session) {
            return Ok(());
        }
        let carried = self.carry(session).await;
        if !matches!(carried, Ok(true)) {
            lock(&self.inner.boxes).insert(session.to_owned());
        }
        carried.map(|_all| ())
    }

    /// Carries what can be carried to one receiver now. True where no letter is left.
    async fn carry(&self, session: &str) -> anyhow::Result<bool> {
        loop {
            let to = session.to_owned();
            let (claimed, waiting) = self
                .hub()
                .log()
                .read(move |connection| {
                    Ok((rows::claimed(connection, &to)?, rows::waiting(connection, &to)?))
                })
                .await?;
            let Some(receiver) = self.receiver(session) else { return Ok(false) };
            if let Some(letter) = claimed {
                if !self.settled(session, receiver, &letter).await? {
                    return Ok(false);
                }
                continue;
            }
            if waiting.is_empty() {
                return Ok(true);
            }
            match next(receiver) {
                Next::Wait => return Ok(false),
                Next::Wake => {
                    self.wake(session).await?;
                    return Ok(false);
                }
                Next::Bury => {
                    for letter in waiting {
                        self.bury(&letter, State::Waiting, "the recipient has ended").await?;
                    }
                }
                Next::Deliver => {
                    if !self.hand_over(session).await? {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// Hands the first letter over. False where it was not taken: then it waits.
    async fn hand_over(&self, session: &str) -> anyhow::Result<bool> {
        let to = session.to_owned();
        let claim = move |connection: &rusqlite::Connection| rows::claim(connection, &to);
        let Some(letter) = self.hub().log().write(claim).await? else { return Ok(false) };
        let text = self.as_prompt(&letter);
        let prompt = Command::prompt(text);
        let reply = self.command(session, letter.command(), pollux(), prompt).await?;
        if is_done(&reply) {
            return Ok(true);
        }
        self.settle(&letter, (State::Claimed, State::Waiting), None).await?;
        Ok(false)
    }

    /// Looks what became of a letter that was handed over. False while that is open.
    async fn settled(
        &self,
        session: &str,
        receiver: Receiver,
        letter: &Letter,
    ) -> anyhow::Result<bool> {
        let command = letter.command();
        let no = self.hub().feed(session)?.0;
        let id = command.clone();
        let taken =
            self.hub().log().read(move |connection| rows::has_command(connection, no, &id)).await?;
        let summary = self.summary(session);
        let lies = summary.is_some_and(|summary| {
            let own = |queued: &Queued| queued.id == command;
            summary.queue.iter().any(own) || summary.sending.as_ref().is_some_and(own)
        });
        match fate(receiver, taken, lies) {
            Fate::Open => return Ok(false),
            Fate::Delivered => {
                self.settle(letter, (State::Claimed, State::Delivered), None).await?;
            }
            Fate::Lost => {
                self.bury(letter, State::Claimed, "the recipient ended before it read the message")
                    .await?;
                self.withdraw(session, command).await?;
            }
            Fate::Asleep => {
                self.wake(session).await?;
                self.go(session).await?;
                return Ok(false);
            }
            Fate::Returned => {
                self.settle(letter, (State::Claimed, State::Waiting), None).await?;
            }
        }
        Ok(true)
    }

    async fn settle(
        &self,
        letter: &Letter,
        states: (State, State),
        reason: Option<String>,
    ) -> anyhow::Result<()> {
        let (id, now) = (letter.id, self.now());
        let written = move |connection: &rusqlite::Connection| {
            rows::settle(connection, id, states, reason.as_deref(), now)
        };
        self.hub().log().write(written).await?;
        self.changed();
        Ok(())
    }

    /// A letter is dead, and whoever wrote it is told.
    async fn bury(&self, letter: &Letter, from: State, why: &str) -> anyhow::Result<()> {
        self.settle(letter, (from, State::Dead), Some(why.to_owned())).await?;
        if let Some(job) = letter.job.clone() {
            return self.pass_on(letter, job).await;
        }
        let sender_is_gone =
            letter.from.as_deref().is_some_and(|from| self.kept(from).is_none_or(|kept| kept.gone));
        if !sender_is_gone && !letter.notice {
            let to = self.name_of(letter.to.as_deref());
            let text = format!(
                "[Not delivered] Your message to {to}: {why}. The message was:\n\n{}",
                letter.text
            );
            self.write(letter.to.as_deref(), letter.from.as_deref(), &text, About::Letter).await?;
        }
        Ok(())
    }

    /// What became of a job whose caller has ended is for whoever gave that one its work, and so on; in the end for the person.
    async fn pass_on(&self, letter: &Letter, job: String) -> anyhow::Result<()> {
        let id = job.clone();
        let known = self.hub().log().read(move |connection| rows::job(connection, &id)).await?;
        if known.is_none_or(|job| job.state == JobState::Cancelled) {
            // Nobody waits for what was taken back.
            return Ok(());
        }
        let mut to = letter.to.clone();
        while let Some(gone) = to.as_deref().and_then(|to| self.kept(to)).filter(|kept| kept.gone) {
            to = gone.parent;
        }
        let caller = self.name_of(letter.to.as_deref());
        let text = format!("{}\n\n({caller} delegated this work and has ended.)", letter.text);
        self.write(letter.from.as_deref(), to.as_deref(), &text, About::Job(&job)).await?;
        Ok(())
    }

    fn receiver(&self, session: &str) -> Option<Receiver> {
        let summary = self.summary(session)?;
        let kept = self.kept(session)?;
        let occupied = !summary.queue.is_empty() || summary.sending.is_some();
        Some(Receiver { status: summary.status, occupied, gone: kept.gone })
    }

    /// A letter as its receiver reads it.
    fn as_prompt(&self, letter: &Letter) -> String {
        if letter.notice {
            return letter.text.clone();
        }
        let from = self.name_of(letter.from.as_deref());
        format!("[Message from {from}]\n\n{}", letter.text)
    }

    /// What the caller of a job is told of it.
    pub(super) fn told(job: &Job) -> String {
        let mut text = format!("[Job {} of {} is {}]", short(&job.id), job.name, job.state.word());
        if let Some(why) = &job.why {
            // Writing to a string does not fail.
            let _written = write!(text, "\n\n{why}");
        }
        match (job.state, &job.question) {
            (JobState::Waiting, Some(question)) => {
                let options: Vec<String> =
                    question.options.iter().map(|(id, label)| format!("{id} ({label})")).collect();
                let _written = write!(
                    text,
                    "\n\nQuestion: {}\nChoices: {}",
                    question.about,
                    options.join(", ")
                );
            }
            _ => {
                if let Some(result) = &job.result {
                    let doubt = result.doubt().map(|doubt| format!(" ({doubt})"));
                    let _written = write!(text, "{}\n\n{}", doubt.unwrap_or_default(), result.text);
                }
            }
        }
        text
    }
}

/// As much of an id as people need.
pub(in crate::daemon) fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}
