//! How a session begins: new, once more by a client that is not sure, or gone on with.

use super::agent::Wanted;
use super::{Hub, Slot, epoch, unknown};
use crate::api::{Begin, Summary};
use crate::daemon::log::{Feed, begin, begins, begun};
use crate::team::given::Given;
use crate::trouble::Trouble;
use pollux_agent::model::{Mode, SessionStatus};
use pollux_agent::session::{By, Command, Reply, Request, Session};
use std::sync::Arc;

impl Hub {
    /// Starts a session.
    pub async fn begin(&self, begin: Begin, by: &By) -> anyhow::Result<Arc<Summary>> {
        self.begin_with(begin, None, by).await
    }

    /// Starts a session whose process is given something that others are not.
    pub async fn begin_given(
        &self,
        begin: Begin,
        given: Given,
        by: &By,
    ) -> anyhow::Result<Arc<Summary>> {
        self.begin_with(begin, Some(given), by).await
    }

    #[expect(
        clippy::await_holding_invalid_type,
        reason = "the lock protects a critical section, not a value; later callers wait"
    )]
    async fn begin_with(
        &self,
        begin: Begin,
        given: Option<Given>,
        by: &By,
    ) -> anyhow::Result<Arc<Summary>> {
        if let Some(prompt) = &begin.prompt {
            self.is_prompt(prompt)?;
        }
        let turn = self.inner.begins.lock().await;
        if let Some(client) = begin.client_id.clone() {
            let known = self.log().read(move |connection| begun(connection, &client)).await?;
            if let Some(known) = known {
                drop(turn);
                return self.begun_before(&known, begin, given.is_some(), by).await;
            }
        }
        let id = if let Some(resumed) = &begin.resume {
            let id = self.resume(resumed, &begin).await?;
            if let Some(client) = begin.client_id.clone() {
                let known = id.clone();
                let write = move |connection: &_| begins(connection, &client, &known);
                self.log().write(write).await?;
            }
            id
        } else {
            let mut wanted = Wanted::new(&begin, None);
            wanted.given = given;
            let (id, summary) = (wanted.id.clone(), self.summary(&wanted));
            self.add(wanted, summary, begin.client_id.clone()).await?;
            id
        };
        drop(turn);
        self.first_prompt(&id, begin, by).await?;
        Ok(self.feed(&id)?.1.summary())
    }

    /// Whether a session would take this as its first prompt: asked before anything is started for it.
    pub fn is_prompt(&self, text: &str) -> Result<(), Trouble> {
        let (command, now) = (Command::prompt(text), self.now());
        let request = Request { id: String::new(), by: By::owner(), command };
        let mut session = Session::new(self.inner.settings.limits, Mode::default(), now);
        taken(session.command(&request, now).reply)
    }

    /// A request that has begun a session before. Its prompt is handed over where it was not: the daemon may have ended
    /// in between.
    async fn begun_before(
        &self,
        id: &str,
        begin: Begin,
        given: bool,
        by: &By,
    ) -> anyhow::Result<Arc<Summary>> {
        let feed = self.feed(id)?.1;
        // Its prompt was looked at as one for the driver that it names: for another it may be a command.
        let driver = feed.summary().driver == Some(begin.driver.unwrap_or_default());
        let of_a_team =
            self.slots().get(id).and_then(|slot| slot.start.as_ref()?.given.as_ref()).is_some();
        let resumed = begin
            .resume
            .as_ref()
            .is_none_or(|resumed| self.find(resumed).is_ok_and(|resumed| resumed == id));
        if !driver || !resumed || (begin.resume.is_none() && of_a_team != given) {
            let message = "this `client_id` was already used to start a different session";
            let trouble = Trouble::refused("other_request", message);
            return Err(trouble.hint("use a new `client_id` for each new request").into());
        }
        if feed.summary().status != SessionStatus::Exited {
            self.first_prompt(id, begin, by).await?;
        }
        Ok(feed.summary())
    }

    /// Goes on with a session whose agent is gone, or that Pollux has only read so far. Gives its id.
    async fn resume(&self, resumed: &str, begin: &Begin) -> anyhow::Result<String> {
        let id = self.find(resumed)?;
        let (file, known, given) = {
            let slots = self.slots();
            let slot = slots.get(&id).ok_or_else(|| unknown(&id))?;
            if self.is_unsure(slot) {
                let message = "tmux does not respond, so Pollux cannot tell if this session's agent is still running";
                let trouble = Trouble::refused("tmux_silent", message);
                return Err(trouble
                    .hint("end the tmux server that hangs, or try again later")
                    .into());
            }
            let given = slot.start.as_ref().and_then(|start| start.given.clone());
            (slot.file.clone(), slot.feed.summary(), given)
        };
        let live = !matches!(known.status, SessionStatus::Exited);
        if live && known.driver.is_some() {
            let trouble = Trouble::refused("still_there", "this session is still running");
            return Err(trouble.hint(format!("send it a prompt: `pollux send {id} TEXT`")).into());
        }
        let mut wanted = Wanted::new(begin, known.agent_id.clone());
        wanted.id.clone_from(&id);
        wanted.file = file;
        // Its role and its limits are part of what it is.
        wanted.given = given;
        if let Some(cwd) = known.cwd.clone() {
            wanted.cwd = cwd;
        }
        // The mode of before does not come back by itself.
        wanted.mode = begin.mode.unwrap_or_default();
        self.reopen(&id, wanted).await?;
        Ok(id)
    }

    /// Opens a session anew, with another agent than before.
    #[expect(
        clippy::await_holding_invalid_type,
        reason = "the lock protects a critical section, not a value; later callers wait"
    )]
    pub(super) async fn reopen(&self, id: &str, wanted: Wanted) -> anyhow::Result<()> {
        let turn = self.slot(id)?.turn;
        let turn = turn.lock().await;
        let (no, start) = (self.feed(id)?.0, serde_json::to_string(&wanted)?);
        // First: where it cannot be written, the session stays what it was.
        self.log()
            .write(move |connection| {
                connection.execute("UPDATE sessions SET start = ?2 WHERE no = ?1", (no, start))
            })
            .await?;
        self.close(id).await;
        {
            let mut slots = self.slots();
            let slot = slots.get_mut(id).ok_or_else(|| unknown(id))?;
            let mut summary = (*slot.feed.summary()).clone();
            summary.driver = Some(wanted.driver);
            summary.status = SessionStatus::Starting;
            summary.mode = wanted.mode;
            summary.model = wanted.model.clone().or(summary.model.take());
            summary.version += 1;
            slot.feed.set_summary(summary);
            slot.torn = false;
            if wanted.found.is_none() {
                // The mode that the agent before was given for a while ended with it.
                slot.ends = None;
            }
            slot.start = Some(wanted);
        }
        drop(turn);
        self.ask(id).await?;
        Ok(())
    }

    async fn first_prompt(&self, id: &str, begin: Begin, by: &By) -> anyhow::Result<()> {
        let Some(text) = begin.prompt else { return Ok(()) };
        let name = begin.client_id.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        let mut commands = vec![("prompt", Command::prompt(text))];
        if begin.resume.is_some() && self.feed(id)?.1.summary().held {
            // Whoever goes on with a session and says something wants what was left there to go on too.
            commands.push(("continue", Command::Continue));
        }
        for (what, command) in commands {
            let request = Request { id: format!("{name}-{what}"), by: by.clone(), command };
            taken(self.command(id, request).await?)?;
        }
        Ok(())
    }

    /// What is to be known of a session that begins.
    pub(super) fn summary(&self, wanted: &Wanted) -> Summary {
        let now = self.now();
        Summary {
            id: wanted.id.clone(),
            agent_id: wanted.agent_id.clone(),
            driver: Some(wanted.driver),
            cwd: Some(wanted.cwd.clone()),
            mode: wanted.mode,
            model: wanted.model.clone(),
            epoch: epoch(now),
            ..Summary::empty(now)
        }
    }

    /// Writes a session down and opens it.
    pub(super) async fn add(
        &self,
        wanted: Wanted,
        summary: Summary,
        client: Option<String>,
    ) -> anyhow::Result<()> {
        let (row, start) = (summary.clone(), serde_json::to_string(&wanted)?);
        let no = self
            .log()
            .write(move |connection| {
                if let Some(client) = client {
                    begins(connection, &client, &row.id)?;
                }
                begin(connection, &row, Some(&start), None)
            })
            .await?;
        let id = summary.id.clone();
        let feed = Arc::new(Feed::new(summary, Arc::clone(&self.inner.watchers)));
        let slot = Slot { start: Some(wanted), ..Slot::new(no, feed) };
        self.slots().insert(id.clone(), slot);
        self.ask(&id).await?;
        Ok(())
    }
}

fn taken(reply: Reply) -> Result<(), Trouble> {
    match reply {
        Reply::Done(_) => Ok(()),
        Reply::Refused(refusal) => {
            Err(Trouble::refused("refused", refusal.message).hint_of(refusal.hint))
        }
    }
}
