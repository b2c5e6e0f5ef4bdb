//! All sources of one live session made one log: the screen, the session file, the hooks. Each fact is told once. Pure.

mod said;
mod turn;

use super::super::screen::{Dialog, Evidence, Reading, Watch, shows_the_same};
use super::noted::Noted;
use super::words::bare;
use crate::model::{
    Answer, Block, Effect, Event, EventKind, Failure, Level, Message, Phase, Rewrite, Role,
    SessionChange, SessionStatus, Source, StopReason, Text,
};
use std::collections::{HashSet, VecDeque};
use turn::{Early, Known, Turn, is_at_work, is_of, is_of_turn};

/// The log of a live session.
#[derive(Debug)]
pub struct Fusion {
    /// What the session is called: its id, or a name of ours until that is known.
    key: String,
    screen: Watch,
    /// The question that was answered by us: its going is no news.
    answered: Option<String>,
    turn: Option<Turn>,
    /// What hooks told of questions.
    noted: Noted,
    /// The prompt that the session file had before its turn was seen: the file is sometimes faster than the screen.
    early: Option<Early>,
    /// Prompts that were sent and have not begun a turn.
    sent: VecDeque<String>,
    /// What was said here: what is looked for in session files.
    said: Vec<String>,
    /// The prompt of the last turn, until a hook has told of it.
    unhooked: Option<String>,
    /// What the agent was told since we are here, by its file and its hooks.
    heard: VecDeque<String>,
    recorded: Vec<Text<'static>>,
    epoch: u64,
    over: bool,
}

/// What is known of a screen beside what stands on it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Picture {
    /// It has stood so for a while: nothing is being drawn.
    pub settled: bool,
    /// Its size has just changed: what stands on it is wrapped anew.
    pub resized: bool,
}

impl Fusion {
    /// The log of a session with this key, of which nothing was seen yet.
    pub fn new(key: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            screen: Watch::default(),
            answered: None,
            turn: None,
            noted: Noted::default(),
            early: None,
            sent: VecDeque::new(),
            said: Vec::new(),
            unhooked: None,
            heard: VecDeque::new(),
            recorded: Vec::new(),
            epoch: 0,
            over: false,
        }
    }

    /// What the session is called.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What the agent does.
    pub fn status(&self) -> SessionStatus {
        match self.screen.status() {
            _ if self.over => SessionStatus::Exited,
            status => status.unwrap_or(SessionStatus::Starting),
        }
    }

    /// The open question: its id, and what stands on the screen. One that was answered is open no more.
    pub fn question(&self) -> Option<(&str, &Dialog)> {
        self.screen.open().filter(|(id, _)| self.answered.as_deref() != Some(id))
    }

    /// The id of the question that stands on the screen, answered or not.
    pub fn stands(&self) -> Option<&str> {
        self.screen.open().map(|(id, _)| id)
    }

    /// The turn was stopped.
    pub fn interrupted(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.cancelled = true;
        }
    }

    /// The open question was answered by us.
    pub fn answered(
        &mut self,
        choice: &str,
        effect: Effect,
        reason: Option<&str>,
        out: &mut Vec<Event<'static>>,
    ) {
        let Some((id, dialog)) = self.question() else { return };
        let (id, of_turn) = (id.to_owned(), is_of_turn(dialog.kind));
        let answer = Answer::Chosen {
            choice: Text::from(choice.to_owned()),
            reason: reason.map(|reason| Text::from(reason.to_owned())),
        };
        let kind = EventKind::Answered { question_id: Text::from(id.clone()), answer };
        out.push(Event::new(Source::Pollux, kind));
        self.answered = Some(id);
        if matches!(effect, Effect::RejectOnce | Effect::RejectAlways) {
            if of_turn {
                // Who came in the middle of a turn knows of it by what was asked.
                self.turn.get_or_insert_default();
            }
            self.interrupted();
        }
    }

    /// A question stands there though one that looks like it was answered: the answer was not taken, or it is another one. It is
    /// asked under a name of its own, because nobody has seen and answered that one.
    pub fn still_asks(&mut self, out: &mut Vec<Event<'static>>) {
        self.answered = None;
        let Some(asked) = self.screen.ask_again() else { return };
        out.push(asked);
        if let Some(turn) = &mut self.turn {
            turn.cancelled = false;
        }
    }

    /// Takes what the screen says.
    pub fn screen(&mut self, reading: &Reading, picture: Picture, out: &mut Vec<Event<'static>>) {
        if let Some(query) = &reading.query {
            self.remember(query);
        }
        let mut seen = reading.clone();
        seen.status = seen.status.filter(|status| match status {
            // The title is early: the dialog is being drawn.
            SessionStatus::Waiting => seen.dialog.is_some() || picture.settled,
            // Before the first prompt can be typed, a question may come: is this folder trusted?
            SessionStatus::Idle => {
                picture.settled
                    || !matches!(self.screen.status(), None | Some(SessionStatus::Starting))
            }
            // What has gone is known from the process.
            SessionStatus::Exited => false,
            _ => true,
        });
        if let (Some((_, open)), Some(dialog)) = (self.screen.open(), &seen.dialog)
            && picture.resized
            && is_alike(open, dialog)
            && (!picture.settled || shows_the_same(open, dialog))
        {
            // Wrapped anew, and perhaps cut: the same question.
            seen.dialog = Some(open.clone());
        }
        for event in self.screen.see(&seen) {
            self.seen(event, reading, out);
        }
        if picture.settled {
            self.screen.stands();
            if reading.status == Some(SessionStatus::Idle) {
                // What was sent from here will begin its turn, however long the screen takes to show it.
                self.early.take_if(|early| !early.ours);
                if self.is_answered() {
                    self.end(reading, out);
                }
            }
        }
    }

    /// The agent has worked since the last picture, and does no more: its titles say so, which come and go faster than we look.
    pub fn worked(&mut self, reading: &Reading, out: &mut Vec<Event<'static>>) {
        let status = Some(SessionStatus::Working);
        let worked = Reading { status, evidence: Evidence::Title, dialog: None, ..reading.clone() };
        for event in self.screen.see(&worked) {
            self.seen(event, reading, out);
        }
    }

    /// Before this picture the agent went on with what was asked, and it asks again: what looks like the same question is another
    /// one.
    pub fn asks_anew(&mut self, reading: &Reading, out: &mut Vec<Event<'static>>) {
        let gone = if reading.dialog.is_some() { self.screen.goes_on() } else { None };
        if let Some(event) = gone {
            self.seen(event, reading, out);
        }
    }

    /// Takes one event of the screen.
    fn seen(
        &mut self,
        mut event: Event<'static>,
        reading: &Reading,
        out: &mut Vec<Event<'static>>,
    ) {
        if is_at_work(&event)
            && let Some(turn) = self.turn.as_mut().filter(|turn| turn.is_unseen())
        {
            turn.known = Known::Told;
        }
        match &mut event.kind {
            EventKind::SessionChanged(SessionChange { status: Some(status), .. }) => match status {
                SessionStatus::Working if self.turn.as_ref().is_none_or(Turn::is_untold) => {
                    out.push(event);
                    self.begins(out);
                    return;
                }
                SessionStatus::Waiting if self.turn.is_none() && self.asks_first() => {
                    out.push(event);
                    self.begins(out);
                    return;
                }
                SessionStatus::Idle | SessionStatus::Error => self.end(reading, out),
                _ => {}
            },
            EventKind::Asked(question) => {
                let noted = self.screen.open().and_then(|(_, dialog)| self.noted.take(dialog));
                if let Some(noted) = noted {
                    question.meaning = noted.meaning.or_else(|| question.meaning.take());
                    question.tool = noted.tool.or_else(|| question.tool.take());
                }
            }
            EventKind::Answered { question_id, answer } => {
                let ours = self.answered.take();
                if ours.is_some_and(|ours| ours == question_id.to_str()) {
                    return;
                }
                if self.turn.as_ref().is_some_and(|turn| turn.cancelled) {
                    *answer = Answer::Cancelled;
                }
            }
            _ => {}
        }
        out.push(event);
    }

    /// Whether what is asked is the first that is seen of a turn: on a busy machine nobody sees an agent work that asks at once.
    fn asks_first(&self) -> bool {
        let asked = self.screen.open().map(|(_, dialog)| dialog.kind);
        self.early.is_some() || !self.sent.is_empty() && asked.is_some_and(is_of_turn)
    }

    /// A turn is seen. What is said in it is told after its beginning, also where the file was faster.
    fn begins(&mut self, out: &mut Vec<Event<'static>>) {
        self.turn.get_or_insert_default();
        if let Some(early) = self.early.take() {
            self.begin(early.prompt, Source::SessionFile, out);
        } else if let Some(prompt) = self.sent.pop_front() {
            self.begin(prompt, Source::Pollux, out);
        }
    }

    fn begin(&mut self, prompt: String, source: Source, out: &mut Vec<Event<'static>>) {
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.is_untold()) else { return };
        turn.known = Known::Told;
        self.unhooked = (source != Source::Hook).then(|| prompt.clone());
        let kind = EventKind::TurnStarted { prompt: Text::from(prompt) };
        out.push(Event::new(source, kind));
    }

    fn end(&mut self, reading: &Reading, out: &mut Vec<Event<'static>>) {
        if self.turn.as_ref().is_some_and(Turn::is_untold) {
            let query = reading.query.clone().unwrap_or_default();
            self.begin(query, Source::Screen, out);
        }
        let Some(mut turn) = self.turn.take() else { return };
        self.noted.clear();
        if reading.queued.is_empty() && reading.draft.as_deref().is_none_or(str::is_empty) {
            // Nothing waits any more: what has begun no turn by now was part of this one, or of none.
            self.sent.clear();
        }
        // By whomever, with whichever key: the agent says so.
        turn.cancelled |= reading.cancelled;
        let error = reading
            .error
            .as_ref()
            .filter(|_| !turn.cancelled)
            .map(|error| Box::new(Failure::new(Phase::Response, "turn_failed", error.clone())));
        let stop_reason = match (&error, turn.cancelled) {
            (_, true) => StopReason::Cancelled,
            (Some(_), _) => StopReason::Error,
            _ => StopReason::EndTurn,
        };
        let (duration_ms, tool_calls) = (None, None);
        let kind = EventKind::TurnEnded { stop_reason, duration_ms, tool_calls, error };
        out.push(Event::new(Source::Screen, kind));
    }

    /// Takes what the session file says.
    pub fn file(&mut self, mut event: Event<'static>, out: &mut Vec<Event<'static>>) {
        match &mut event.kind {
            EventKind::SessionStarted { session_id, .. } => {
                let id = session_id.to_string();
                self.rekey(&id, Source::SessionFile, out);
            }
            EventKind::MessageRecorded { changed, message } => {
                if !*changed {
                    self.recorded.push(message.id.clone());
                }
                // What the CLI says in the person's name is no prompt.
                if message.role == Role::User && !message.meta && !*changed {
                    let prompt = message.text();
                    if !prompt.trim().is_empty() {
                        let ours = self.arrived(&prompt);
                        self.hears(prompt.clone());
                        let early = || Early { prompt: prompt.clone(), ours };
                        self.early = self.turn.is_none().then(early);
                        self.begin(prompt, Source::SessionFile, out);
                    }
                }
                if message.role == Role::Assistant {
                    self.answers(message, out);
                }
            }
            EventKind::HistoryRewritten { epoch, removed, .. } => {
                self.epoch += 1;
                *epoch = self.epoch;
                let gone: HashSet<_> = removed.iter().map(Text::to_str).collect();
                self.recorded.retain(|id| !gone.contains(&id.to_str()));
            }
            // The file is gone, and not the agent.
            EventKind::SessionEnded { reason } => {
                let text = std::mem::take(reason);
                event.kind = EventKind::Notice { level: Level::Warning, text };
            }
            _ => {}
        }
        out.push(event);
    }

    /// The session file has an answer. Where nobody has seen its turn begin, it begins here: what is said in a turn is told after
    /// its beginning, and a turn may be shorter than the time between two looks at the screen.
    fn answers(&mut self, message: &Message<'_>, out: &mut Vec<Event<'static>>) {
        let goes_on = message.blocks().iter().any(|block| matches!(block, Block::ToolUse { .. }));
        let known = if goes_on { Known::Recorded } else { Known::Answered };
        if let Some(early) = self.early.take_if(|early| early.ours && self.turn.is_none()) {
            self.turn = Some(Turn::default());
            self.begin(early.prompt, Source::SessionFile, out);
            self.turn = Some(Turn { known, ..Turn::default() });
        } else if let Some(turn) = self.turn.as_mut().filter(|turn| turn.is_unseen()) {
            turn.known = known;
        }
    }

    /// Takes what a hook was told. What the screen or the file say better is left to them.
    pub fn hook(&mut self, event: Event<'static>, out: &mut Vec<Event<'static>>) {
        match event.kind {
            EventKind::TurnStarted { prompt } => self.hook_begins(&prompt.to_str(), out),
            // The screen says it better, where it has shown the turn.
            EventKind::TurnEnded { .. } => {
                if let Some(turn) = self.turn.as_mut().filter(|turn| turn.is_unseen()) {
                    turn.known = Known::Answered;
                }
            }
            // It knows what the dialog will be about before it is drawn, and better: the whole change, the whole command.
            EventKind::Asked(question) => self.noted.push(question),
            // The file says when a session began, the process when all is over.
            EventKind::SessionStarted { .. } | EventKind::SessionEnded { .. } => {}
            _ => out.push(event),
        }
    }

    /// A hook tells of a prompt, early or late: a turn that has come and gone by then does not begin again, and one that the screen
    /// has not shown may be over before it does.
    fn hook_begins(&mut self, prompt: &str, out: &mut Vec<Event<'static>>) {
        self.arrived(prompt);
        self.remember(prompt);
        self.hears(prompt.to_owned());
        let told = self.unhooked.take();
        if self.turn.is_some() {
            self.begin(prompt.to_owned(), Source::Hook, out);
        } else if !told.is_some_and(|told| is_of(prompt, &told)) {
            self.turn = Some(Turn::default());
            self.begin(prompt.to_owned(), Source::Hook, out);
            self.turn = Some(Turn { known: Known::Recorded, ..Turn::default() });
        }
    }

    /// Whether the turn is over as soon as the screen stands still.
    pub(super) fn is_answered(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.known == Known::Answered)
    }

    /// The session has an id.
    pub fn rekey(&mut self, id: &str, source: Source, out: &mut Vec<Event<'static>>) {
        if self.key == id {
            return;
        }
        let from = std::mem::replace(&mut self.key, id.to_owned());
        let session_id = Text::from(id.to_owned());
        let kind = EventKind::SessionRekeyed { from: Text::from(from), session_id };
        out.push(Event::new(source, kind));
    }

    /// The conversation was put away, and a new one begun.
    pub fn cleared(&mut self, out: &mut Vec<Event<'static>>) {
        self.said.clear();
        if self.recorded.is_empty() {
            return;
        }
        self.epoch += 1;
        let removed = std::mem::take(&mut self.recorded);
        let (epoch, reason, superseded) = (self.epoch, Rewrite::Replaced, None);
        let kind = EventKind::HistoryRewritten { epoch, reason, removed, superseded };
        out.push(Event::new(Source::Screen, kind).derived("the conversation was cleared"));
    }

    /// The agent is gone.
    pub fn ended(&mut self, reason: &str, out: &mut Vec<Event<'static>>) {
        if self.over {
            return;
        }
        if let Some((id, _)) = self.question() {
            let question_id = Text::from(id.to_owned());
            let kind = EventKind::Answered { question_id, answer: Answer::Cancelled };
            out.push(Event::new(Source::Pollux, kind));
        }
        self.interrupted();
        self.end(&Reading::default(), out);
        self.over = true;
        let change =
            SessionChange { status: Some(SessionStatus::Exited), ..SessionChange::default() };
        out.push(Event::new(Source::Pollux, EventKind::SessionChanged(change)));
        let kind = EventKind::SessionEnded { reason: reason.to_owned() };
        out.push(Event::new(Source::Pollux, kind));
    }
}

/// Whether two dialogs may be the same one in two sizes.
fn is_alike(one: &Dialog, other: &Dialog) -> bool {
    let labels = |dialog: &Dialog| -> Vec<String> {
        dialog.options.iter().map(|option| bare(&option.label)).collect()
    };
    one.kind == other.kind && labels(one) == labels(other) && one.place == other.place
}

#[cfg(test)]
mod tests;
