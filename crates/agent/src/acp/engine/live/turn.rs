//! One turn of a session: from a prompt until the agent stops, or until it is over for us.

use super::super::super::agent::Prompt;
use super::super::super::config::Step;
use super::super::super::connection::Connection;
use super::super::super::dialect::Done;
use super::super::super::stop::{End, why};
use super::super::super::wrong;
use super::super::{Pending, Then};
use super::Live;
use crate::deadline::after;
use crate::model::{
    Event, EventKind, Failure, Level, Message, Outcome, Phase, Role, Scope, SessionStatus, Source,
    StopReason, Text, Usage,
};
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::PoisonError;
use tokio::time::Instant;

/// One turn.
pub(super) struct Turn {
    since: Instant,
    deadline: Option<Instant>,
    max_turns: Option<u64>,
    /// Set where it was us who stopped it: why, and until when the agent may take to end it.
    pub(super) stopping: Option<(StopReason, Instant)>,
    /// What the agent answered to the prompt, and until when late news are waited for.
    answer: Option<(Result<Box<RawValue>, Failure>, Instant)>,
    /// When it will have been quiet for long enough.
    pub(super) quiet_at: Instant,
    /// Why calls were turned down: what the agent is told when it has stopped.
    pub(super) reasons: Vec<String>,
}

impl Turn {
    fn end(&self) -> End<'_> {
        match (self.stopping, &self.answer) {
            (Some((reason, _)), Some((Ok(answer), _))) => End::Stopped(reason, Some(answer)),
            (Some((reason, _)), _) => End::Stopped(reason, None),
            (None, Some((Ok(answer), _))) => End::Answered(answer),
            (None, Some((Err(failure), _))) => End::Failed(failure),
            (None, None) => End::Gone,
        }
    }
}

impl Live {
    pub(in super::super) fn works(&self) -> bool {
        self.turn.is_some()
    }

    /// Gives the agent a prompt.
    pub(in super::super) fn prompt(
        &mut self,
        prompt: Prompt,
        connection: &mut Connection,
        pending: &mut HashMap<u64, Pending>,
    ) -> Result<(), Failure> {
        if self.turn.is_some() {
            return Err(Failure::new(Phase::Request, "busy", "the agent is busy")
                .hint("wait for the turn to end, or cancel it")
                .retryable());
        }
        if self.stuck {
            let message =
                "the agent did not respond to a cancel request and accepts no more prompts";
            return Err(Failure::new(Phase::Request, "stuck", message).hint("start it again"));
        }
        let now = Instant::now();
        let limit = prompt.timeout.or(self.budgets.turn);
        self.turn = Some(Turn {
            since: now,
            deadline: limit.map(after),
            max_turns: prompt.max_turns,
            stopping: None,
            answer: None,
            quiet_at: now,
            reasons: Vec::new(),
        });
        self.translator.begin();
        let mut late = Vec::new();
        self.beside.begin(&mut late);
        self.say_all(late);
        self.send(&prompt.words, &prompt.blocks, connection, pending).inspect_err(|_deaf| {
            self.turn = None;
        })?;
        let kind = EventKind::TurnStarted { prompt: Text::from(prompt.words) };
        self.through(Event::new(Source::Pollux, kind));
        self.is(SessionStatus::Working);
        Ok(())
    }

    fn send(
        &self,
        words: &str,
        blocks: &[serde_json::Value],
        connection: &mut Connection,
        pending: &mut HashMap<u64, Pending>,
    ) -> Result<(), Failure> {
        debug_assert!(!words.is_empty() || !blocks.is_empty(), "an empty prompt wedges a session");
        let params = json!({ "sessionId": self.id, "prompt": blocks });
        let id = connection.request("session/prompt", params);
        let id = id.ok_or_else(|| wrong::deaf(Step::Prompt))?;
        let then = Then::Prompt(self.id.clone());
        pending.insert(id, Pending { step: Step::Prompt, deadline: None, then });
        Ok(())
    }

    /// The agent answered the prompt: what comes late still belongs to the turn.
    pub(in super::super) fn prompted(&mut self, outcome: Result<Box<RawValue>, Failure>) {
        if let Some(turn) = &mut self.turn {
            turn.quiet_at = after(self.budgets.quiet);
            turn.answer = Some((outcome, after(self.budgets.quiet_cap)));
        }
    }

    /// Stops the turn, because somebody said so.
    pub(in super::super) fn cancel(&mut self, connection: &Connection) {
        self.stop(StopReason::Cancelled, connection);
    }

    /// Answers every open question as cancelled, then tells the agent: in the other order some agents hang.
    pub(super) fn stop(&mut self, reason: StopReason, connection: &Connection) {
        let bound = after(self.budgets.cancel);
        match &mut self.turn {
            Some(turn) if turn.stopping.is_none() && turn.answer.is_none() => {
                turn.stopping = Some((reason, bound));
            }
            // It is over already, but for what comes late: then it does not go on with what was to be said next.
            Some(turn) => return turn.reasons.clear(),
            None => return,
        }
        for waiting in std::mem::take(&mut self.questions) {
            self.nobody(&waiting, connection);
        }
        connection.notify("session/cancel", json!({ "sessionId": self.id }));
    }

    /// True where the model may not be asked once more, and would be.
    pub(super) fn has_had_its_turns(&self) -> bool {
        let told = self.translator.told();
        let most = self.turn.as_ref().and_then(|turn| turn.max_turns);
        told.awaits_model && most.is_some_and(|most| told.turns >= most)
    }

    /// When something is due.
    pub(in super::super) fn deadline(&self) -> Option<Instant> {
        if let Some(replay) = &self.replay {
            return Some(replay.quiet_at.min(replay.cap_at));
        }
        let turn = self.turn.as_ref()?;
        match (&turn.answer, &turn.stopping) {
            (Some((_, cap_at)), _) => Some(turn.quiet_at.min(*cap_at)),
            (None, Some((_, bound))) => Some(*bound),
            (None, None) => turn.deadline,
        }
    }

    /// Does what is due.
    pub(in super::super) fn due(
        &mut self,
        now: Instant,
        connection: &mut Connection,
        pending: &mut HashMap<u64, Pending>,
    ) {
        if self.deadline().is_none_or(|deadline| deadline > now) {
            return;
        }
        if let Some(replay) = self.replay.take() {
            drop(replay.reply.send(Ok(replay.ready)));
            return;
        }
        let Some(turn) = &mut self.turn else { return };
        match (&turn.answer, &turn.stopping) {
            (Some((_, cap_at)), _) => {
                let capped = *cap_at <= now;
                // What was broken off in the middle is written down nowhere: nothing is waited for.
                let stopped = turn.stopping.is_some();
                self.look();
                if capped || stopped || self.beside.is_settled() {
                    if !self.goes_on(connection, pending) {
                        self.finish_turn();
                    }
                } else if let Some(turn) = &mut self.turn {
                    // Quiet, but not complete yet.
                    turn.quiet_at = now + super::super::LOOK;
                }
            }
            (None, Some(_)) => {
                self.stuck = true;
                pending.retain(|_, it| !matches!(&it.then, Then::Prompt(id) if *id == self.id));
                let text = "the agent did not respond to the cancel request in time".to_owned();
                let kind = EventKind::Notice { level: Level::Warning, text };
                self.say(Event::new(Source::Pollux, kind));
                self.finish_turn();
            }
            (None, None) => self.stop(StopReason::Timeout, connection),
        }
    }

    /// Why calls were turned down is the next thing that the agent is told: the protocol has no other place for it.
    fn goes_on(
        &mut self,
        connection: &mut Connection,
        pending: &mut HashMap<u64, Pending>,
    ) -> bool {
        let Some(turn) = &mut self.turn else { return false };
        let well = matches!(&turn.answer, Some((Ok(_), _))) && turn.stopping.is_none();
        let reasons = std::mem::take(&mut turn.reasons);
        if reasons.is_empty() || !well {
            return false;
        }
        let words = reasons.join("\n");
        let blocks = [json!({ "type": "text", "text": words })];
        if self.send(&words, &blocks, connection, pending).is_err() {
            return false;
        }
        if let Some(turn) = &mut self.turn {
            turn.answer = None;
        }
        let kind = EventKind::TurnStarted { prompt: Text::from(words) };
        let event = Event::new(Source::Pollux, kind).derived("the reason given with a denial");
        self.through(event);
        true
    }

    /// The turn is over.
    pub(super) fn finish_turn(&mut self) {
        let Some(turn) = self.turn.take() else { return };
        for waiting in std::mem::take(&mut self.questions) {
            // The agent no longer waits for an answer.
            self.settled(&waiting, "cancelled", crate::model::Answer::Cancelled, None);
            self.turned_down(&waiting.question);
        }
        for event in self.translator.close() {
            self.through(event);
        }
        let (stop_reason, error, notice) = why(&turn.end(), self.translator.told(), &*self.dialect);
        let done = match (&error, stop_reason) {
            (None, _) => Done::Succeeded,
            (Some(_), StopReason::Error) => Done::Failed,
            (Some(_), _) => Done::Stopped,
        };
        let mut out = Vec::new();
        self.beside.look(&mut out);
        self.beside.end(done, &mut out);
        out.extend(notice.map(|text| {
            let kind = EventKind::Notice { level: Level::Warning, text };
            Event::new(Source::Acp, kind).derived("stopReason")
        }));
        let usage = self.counted(&turn, &mut out);
        self.say_all(out);
        self.keep(stop_reason, usage, error.clone());
        let told = self.translator.told();
        let kind = EventKind::TurnEnded {
            stop_reason,
            duration_ms: u64::try_from(turn.since.elapsed().as_millis()).ok(),
            tool_calls: Some(told.calls),
            error: error.map(Box::new),
        };
        self.say(Event::new(Source::Pollux, kind).derived("the response to session/prompt"));
        self.is(if self.stuck { SessionStatus::Error } else { SessionStatus::Idle });
    }

    /// The tokens that the answer tells of.
    fn counted(&mut self, turn: &Turn, out: &mut Vec<Event<'static>>) -> Option<Usage> {
        let Some((Ok(answer), _)) = &turn.answer else { return None };
        let mut whole = None;
        for counted in self.dialect.usage(answer) {
            if counted.scope == Scope::Run {
                whole = Some(counted.usage);
            }
            let kind = EventKind::UsageChanged {
                scope: counted.scope,
                usage: counted.usage,
                model: counted.model.map(Text::from),
                message_id: None,
            };
            out.push(Event::new(Source::Acp, kind));
        }
        whole
    }

    /// Keeps what came of the turn, for whoever asks.
    fn keep(&self, stop_reason: StopReason, usage: Option<Usage>, error: Option<Failure>) {
        let messages = self.beside.messages();
        let mut sum = Usage::default();
        messages.iter().filter_map(|message| message.usage).for_each(|usage| sum += usage);
        let outcome = Outcome {
            session_id: Some(self.id.clone()),
            session_file: self.beside.file(),
            text: said(&messages),
            // What the agent counts has no thoughts and nothing of the cache in it; the messages have both.
            usage: if sum == Usage::default() { usage.unwrap_or_default() } else { sum },
            model: messages.iter().rev().find_map(|message| message.model.clone()),
            messages,
            stop_reason: Some(stop_reason),
            // A model that was asked and said nothing has had its turn.
            turns: self.translator.told().turns.max(1),
            error,
        };
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
    }
}

fn said(messages: &[Message<'_>]) -> String {
    let answers = messages.iter().filter(|message| message.role == Role::Assistant);
    let texts = answers.map(Message::text).filter(|text| !text.trim().is_empty());
    texts.collect::<Vec<_>>().join("\n\n")
}
