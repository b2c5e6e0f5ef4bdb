//! Commands: what somebody asks of a session is decided, written down, and only then done.

use super::full::only_ends;
use super::{Task, sorted, sum};
use crate::api::Driver;
use pollux_agent::session::{Command, Reply, Request, Verdict};

impl Task {
    pub(super) async fn command(&mut self, request: Request) -> anyhow::Result<Reply> {
        if let Some(refused) = self.cannot(&request.command) {
            return Ok(refused);
        }
        // An agent that is being started looks when it is there.
        if request.command == Command::Continue && self.orders.is_some() {
            self.look_for_first().await;
        }
        let before = (self.session.clone(), self.summary.clone(), self.turn);
        let Verdict { reply, effects } = self.session.command(&request, self.clock.now());
        if let Reply::Refused(_) = reply {
            return Ok(reply);
        }
        let Request { id, command, .. } = request;
        if let (Command::Prompt { text, .. }, None) = (&command, &self.summary.title) {
            self.summary.title = Some(sum::title(text));
        }
        let (facts, orders) = sorted(effects);
        let batch = self.take_in(facts);
        let ends = only_ends(&command, &self.feed.summary());
        let accepted = (id, command, reply.clone());
        match self.try_write(&batch.entries, Some(&accepted)).await {
            Ok(()) => self.is_written(batch).await,
            Err(error) if ends => {
                // The rules record nothing of what only ends something: the command is all that is to be written.
                self.cannot_write(&error);
                self.full.accept(accepted);
            }
            Err(error) => {
                self.cannot_write(&error);
                // What cannot be written was not asked for, and is not done later either.
                (self.session, self.summary, self.turn) = before;
                return Err(error);
            }
        }
        for order in orders {
            self.order(order);
        }
        Ok(reply)
    }

    /// A command that comes while the log cannot be written. What only ends something is done at once, and nothing else.
    pub(super) fn command_meanwhile(&mut self, request: Request) -> anyhow::Result<Reply> {
        if let Some(refused) = self.cannot(&request.command) {
            return Ok(refused);
        }
        if !only_ends(&request.command, &self.feed.summary()) {
            return Err(crate::daemon::log::unwritten().into());
        }
        let Verdict { reply, effects } = self.session.command(&request, self.clock.now());
        if let Reply::Done(_) = reply {
            self.full.stopped |= request.command == Command::Interrupt;
            self.full.accept((request.id, request.command, reply.clone()));
            for order in sorted(effects).1 {
                self.order(order);
            }
            if let Some(pump) = &mut self.pump {
                pump.lend();
            }
        }
        Ok(reply)
    }

    /// Whether nobody but the session's file can say if the prompt that waits first has arrived.
    pub(super) fn is_in_doubt(&self) -> bool {
        let seen = self.orders.as_ref().is_some_and(|orders| orders.pane().is_some());
        !seen && self.session.state().queue.first().is_some_and(|first| first.doubt)
    }

    /// What this session has no way for.
    fn cannot(&self, command: &Command) -> Option<Reply> {
        if self.wanted.is_none() {
            let why = "this session is running outside Pollux (read-only)";
            let hint = format!("resume it here with `pollux new --resume {}`", self.summary.id);
            return Some(pollux_agent::session::refused("read_only", why, &hint));
        }
        let driver = self.summary.driver;
        let brought = self.wanted.as_ref().and_then(|wanted| wanted.brought.as_ref());
        match command {
            Command::Prompt { .. } if brought.is_some_and(|brought| !brought.prompts) => {
                let by = brought.map(|brought| brought.by.as_str()).unwrap_or_default();
                let why =
                    format!("`{by}` drives this session and accepts no prompts from other clients");
                let hint = format!(
                    "you can answer its questions here; once `{by}` has exited, resume it with \
                     `pollux new --resume {}`",
                    self.summary.id
                );
                Some(pollux_agent::session::refused("driven_elsewhere", why, &hint))
            }
            Command::Keys { .. } | Command::Fit { .. } | Command::GiveBack
                if driver != Some(Driver::Terminal) =>
            {
                let why = "this session is not running in a terminal";
                let hint = "send it a prompt instead";
                Some(pollux_agent::session::refused("no_terminal", why, hint))
            }
            Command::Prompt { images, .. } if !images.is_empty() && driver != Some(Driver::Acp) => {
                let why = "this driver does not accept images";
                let hint = "reference an image file in the project: `@picture.png`";
                Some(pollux_agent::session::refused("no_images", why, hint))
            }
            _ => None,
        }
    }
}
