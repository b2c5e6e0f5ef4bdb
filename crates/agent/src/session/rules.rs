//! The rules themselves.

mod doubt;
mod modes;
mod prompts;
mod time;

use super::command::{By, Command, Done, Effect, Order, Outcome, Reply, Request, Verdict};
use super::keys::wrong;
use super::known::Known;
use super::questions::{Open, Questions};
use super::queue::{Queue, Queued};
use super::said::{fit, not_queued, notice, record, set_model};
use crate::model::{
    Answer, Choice, Event, EventKind, Level, Mode, Role, SessionChange, SessionStatus, Source,
    StopReason, Text,
};
use jiff::{SignedDuration, Timestamp};

/// What a session may do, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How long `yolo` lasts that was given from another device.
    pub yolo: SignedDuration,
    /// How long a working agent may be silent before that is said.
    pub stall: SignedDuration,
    /// How many prompts may wait.
    pub queue: usize,
    /// How long one prompt may be, in bytes.
    pub prompt: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            yolo: SignedDuration::from_hours(1),
            stall: SignedDuration::from_secs(90),
            queue: 32,
            prompt: 1 << 20,
        }
    }
}

/// The state of a live session, and its rules.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Session {
    limits: Limits,
    status: SessionStatus,
    mode: Mode,
    /// The mode that was asked for last.
    wanted: Mode,
    /// When the mode ends, and which one comes back.
    until: Option<(Timestamp, Mode)>,
    /// The same of the mode that the agent is in, while another one was asked for.
    before: Option<(Timestamp, Mode)>,
    /// How many orders for a mode are on their way to the agent.
    changing: usize,
    /// The mode that was asked for last, until the agent says that it is in it.
    unheard: Option<Mode>,
    model: Option<String>,
    questions: Questions,
    queue: Queue,
    /// The prompt that was handed to the agent, until the agent says that it works on it.
    sending: Option<Queued>,
    /// True where the end of a turn has sent it: an agent that says that it is idle then speaks of that end.
    follows: bool,
    /// True while a turn that was interrupted has not ended.
    stopping: bool,
    known: Known,
    heard_at: Timestamp,
    stalled: bool,
}

/// What is to be seen of a session.
#[derive(Debug, Clone)]
pub struct State<'s> {
    /// What the agent does.
    pub status: SessionStatus,
    /// What it may do without asking.
    pub mode: Mode,
    /// Until when it may, where that ends.
    pub mode_until: Option<Timestamp>,
    /// The model, where one was asked for.
    pub model: Option<&'s str>,
    /// The questions that are open.
    pub open: &'s [Open],
    /// The prompts that wait.
    pub queue: &'s [Queued],
    /// True where they wait for somebody to go on.
    pub held: bool,
    /// The prompt that was handed to the agent, until the agent says that it works on it.
    pub sending: Option<&'s Queued>,
    /// Since when nothing was heard of an agent that works, where that is too long.
    pub stalled_since: Option<Timestamp>,
}

impl Session {
    /// A session whose agent is being started.
    pub fn new(limits: Limits, mode: Mode, now: Timestamp) -> Self {
        Self {
            limits,
            status: SessionStatus::Starting,
            mode,
            wanted: mode,
            until: None,
            before: None,
            changing: 0,
            unheard: None,
            model: None,
            questions: Questions::default(),
            queue: Queue::default(),
            sending: None,
            follows: false,
            stopping: false,
            known: Known::default(),
            heard_at: now,
            stalled: false,
        }
    }

    /// The agent waits for a prompt. For drivers that do not say so themselves.
    pub fn ready(&mut self) {
        self.status = SessionStatus::Idle;
    }

    /// The agent is there now: what waits is sent, unless somebody is to say so first.
    pub fn go_on(&mut self) -> Vec<Effect> {
        self.next()
    }

    /// The agent is gone, and its end was recorded before.
    pub fn ended(&mut self) {
        self.status = SessionStatus::Exited;
    }

    /// What was known of a session before Pollux was started again. What waits is held: nobody is watching yet.
    #[must_use]
    pub fn with(mut self, queue: Vec<Queued>, known: Known) -> Self {
        self.queue = Queue { held: !queue.is_empty(), waiting: queue, released: false };
        self.known = known;
        self
    }

    /// An agent that has outlived Pollux may still be in a mode that was given for a while: it ends when it would have.
    #[must_use]
    pub fn ending(mut self, mode: Mode, until: Timestamp) -> Self {
        (self.mode, self.wanted) = (mode, mode);
        self.until = Some((until, Mode::Default));
        self
    }

    /// The model that was asked for.
    #[must_use]
    pub fn model(mut self, model: Option<String>) -> Self {
        self.model = model;
        self
    }

    /// What is to be seen of it.
    pub fn state(&self) -> State<'_> {
        State {
            status: self.status,
            mode: self.mode,
            mode_until: self.until.map(|(until, _)| until),
            model: self.model.as_deref(),
            open: &self.questions.open,
            queue: &self.queue.waiting,
            held: self.queue.held,
            sending: self.sending.as_ref(),
            stalled_since: self.stalled.then_some(self.heard_at),
        }
    }

    /// Decides a command.
    pub fn command(&mut self, request: &Request, now: Timestamp) -> Verdict {
        match self.known.get(&request.id) {
            Some((command, reply)) if *command == request.command => {
                return Verdict { reply: reply.clone(), effects: Vec::new() };
            }
            Some(_) => {
                let why =
                    format!("the id `{}` was already used for a different command", request.id);
                return Verdict::refused("id_used", why, "use a new id for each command");
            }
            None => {}
        }
        let worked = self.status == SessionStatus::Working;
        let verdict = self.decide(request, now);
        if !worked && self.status == SessionStatus::Working {
            // It has had nothing to speak of until now.
            self.hears(now);
        }
        // What was refused may be right later: only what was done is not done again.
        if matches!(verdict.reply, Reply::Done(_)) {
            let reply = verdict.reply.clone();
            self.known.remember(request.id.clone(), request.command.clone(), reply);
        }
        verdict
    }

    fn decide(&mut self, request: &Request, now: Timestamp) -> Verdict {
        let of_queue = matches!(request.command, Command::Edit { .. } | Command::Cancel { .. });
        if self.status == SessionStatus::Exited && !of_queue {
            let hint = "resume it with `pollux new --resume ID`";
            return Verdict::refused("exited", "this session has ended", hint);
        }
        match &request.command {
            Command::Prompt { text, images } => self.prompt(request, text, images),
            Command::Keys { text, keys } => {
                if let Some(why) = wrong(text.as_deref(), keys) {
                    let hint = "use names such as Enter, Escape, Up or C-c";
                    return Verdict::refused("wrong_keys", why, hint);
                }
                let order = Order::Keys { text: text.clone(), keys: keys.clone() };
                Verdict::done(Done::Sent, vec![Effect::Order(order)])
            }
            Command::Fit { columns, rows } => fit(*columns, *rows),
            Command::GiveBack => Verdict::done(Done::Sent, vec![Effect::Order(Order::GiveBack)]),
            Command::Answer { question_id, choice, reason, shown } => {
                let order = Order::Answer {
                    question_id: question_id.clone(),
                    choice: choice.clone(),
                    reason: reason.clone(),
                };
                self.answer(order, shown.as_deref(), &request.by)
            }
            Command::Interrupt => self.interrupt(),
            Command::Mode { mode, seconds } => self.set_mode(*mode, *seconds, &request.by, now),
            Command::Model { model } => set_model(model),
            Command::Edit { queued, text } => self.edit(queued, text),
            Command::Cancel { queued } if self.queue.cancel(queued) => {
                Verdict::done(Done::Cancelled, Vec::new())
            }
            Command::Cancel { queued } => not_queued(queued),
            Command::Continue => {
                self.queue.held = false;
                self.queue.released = !self.takes_prompts();
                let effects = self.next();
                Verdict::done(Done::Sent, effects)
            }
            Command::Stop => Verdict::done(Done::Sent, vec![Effect::Order(Order::Stop)]),
        }
    }

    fn answer(&mut self, order: Order, shown: Option<&str>, by: &By) -> Verdict {
        let Order::Answer { question_id, choice, reason } = &order else {
            return Verdict::refused("no_answer", "the command is not an answer", "");
        };
        let settled = self.questions.outcome(question_id).cloned();
        let Some(open) = self.questions.find(question_id) else {
            if let Some(outcome) = settled {
                return Verdict::done(Done::Answered { outcome, yours: false }, Vec::new());
            }
            let why = format!("no question `{question_id}` is open");
            return Verdict::refused(
                "unknown_question",
                why,
                "list open questions with `pollux show`",
            );
        };
        if let Some(outcome) = &open.sent {
            let answered = Done::Answered { outcome: outcome.clone(), yours: false };
            return Verdict::done(answered, Vec::new());
        }
        if !open.question.options.iter().any(|option| option.id == **choice) {
            let offered: Vec<String> =
                open.question.options.iter().map(|option| option.id.to_string()).collect();
            let why = format!("`{choice}` is not one of the choices");
            let hint = format!("available choices: {}", offered.join(", "));
            return Verdict::refused("unknown_choice", why, &hint);
        }
        let wants_words = |option: &Choice<'_>| {
            option.id == **choice && option.effect == crate::model::Effect::Words
        };
        let is_mute = reason.as_deref().is_none_or(|reason| reason.trim().is_empty());
        if is_mute && open.question.options.iter().any(wants_words) {
            let why = format!("the choice `{choice}` needs a reason");
            return Verdict::refused("no_words", why, "add a reason to the answer");
        }
        if shown.is_some_and(|shown| shown != open.shown) {
            let why = "the question has changed since it was shown";
            return Verdict::refused("shown_differs", why, "check it again, then answer");
        }
        let outcome = Outcome::Chosen { choice: choice.clone(), by: Some(by.name.clone()) };
        open.sent = Some(outcome.clone());
        let answered = Done::Answered { outcome, yours: true };
        Verdict::done(answered, vec![Effect::Order(order)])
    }

    fn interrupt(&mut self) -> Verdict {
        let works = matches!(self.status, SessionStatus::Working | SessionStatus::Waiting);
        if !works {
            return Verdict::refused(
                "not_working",
                "no turn is in progress",
                "send a prompt, or stop the session",
            );
        }
        self.queue.held = !self.queue.waiting.is_empty();
        self.stopping = true;
        Verdict::done(Done::Sent, vec![Effect::Order(Order::Interrupt)])
    }

    /// Takes a fact in. What follows from it is to be done after it was recorded.
    pub fn event(&mut self, event: &Event<'_>, now: Timestamp) -> Vec<Effect> {
        let own = event.source == Source::Pollux;
        // That an agent is silent, and what else Pollux has to say of it, is no word of the agent.
        let of_it = own && matches!(event.kind, EventKind::Notice { .. });
        if !of_it {
            self.hears(now);
        }
        match &event.kind {
            EventKind::SessionChanged(change) => {
                // Its own words of it were `delivered`.
                if let Some(mode) = change.mode.filter(|_| !own) {
                    self.mode_is(mode);
                }
                if let Some(model) = &change.model {
                    self.model = Some(model.to_string());
                }
                match change.status {
                    Some(SessionStatus::Idle) if self.is_late(event.source) => Vec::new(),
                    Some(status) => self.status_is(status),
                    None => Vec::new(),
                }
            }
            EventKind::TurnStarted { prompt } => {
                (self.sending, self.follows) = (None, false);
                self.is_said(&prompt.to_str());
                self.status_is(SessionStatus::Working)
            }
            EventKind::MessageRecorded { changed: false, message }
                if message.role == Role::User =>
            {
                self.is_said(&message.text());
                Vec::new()
            }
            EventKind::Asked(question) => {
                self.questions.ask((**question).clone().into_owned());
                self.status_is(SessionStatus::Waiting)
            }
            EventKind::Answered { question_id, answer } => {
                self.questions.settle(&question_id.to_str(), answer);
                let waits = self.status == SessionStatus::Waiting && self.questions.open.is_empty();
                if waits { self.status_is(SessionStatus::Working) } else { Vec::new() }
            }
            EventKind::TurnEnded { stop_reason, .. } => {
                let mut effects = self.unanswered();
                self.sending = None;
                let released = std::mem::take(&mut self.queue.released);
                if *stop_reason != StopReason::EndTurn && !released {
                    self.queue.held = !self.queue.waiting.is_empty();
                }
                effects.extend(self.status_is(SessionStatus::Idle));
                self.follows = self.sending.is_some();
                effects
            }
            EventKind::SessionEnded { .. } => {
                let mut effects = self.unanswered();
                effects.extend(self.untaken());
                self.status = SessionStatus::Exited;
                effects
            }
            _ => Vec::new(),
        }
    }

    fn hears(&mut self, now: Timestamp) {
        self.heard_at = now;
        self.stalled = false;
    }

    /// Whether an agent that says that it is idle does not know yet of the prompt that is on its way to it. Over ACP it says
    /// so when it is there; every driver says so behind the end of a turn, which has sent the next prompt by then.
    fn is_late(&mut self, source: Source) -> bool {
        let follows = std::mem::take(&mut self.follows);
        self.sending.is_some() && (follows || source == Source::Acp)
    }

    fn status_is(&mut self, status: SessionStatus) -> Vec<Effect> {
        self.status = status;
        self.stopping &= status != SessionStatus::Idle;
        // Its driver has yet to say what became of a prompt in doubt.
        let doubt = self.sending.as_ref().is_some_and(|sending| sending.doubt);
        if status == SessionStatus::Idle && !doubt { self.next() } else { Vec::new() }
    }

    fn unanswered(&mut self) -> Vec<Effect> {
        let answered = |id: String| {
            let kind =
                EventKind::Answered { question_id: Text::from(id), answer: Answer::Cancelled };
            let event = Event::new(Source::Pollux, kind).derived("the turn ended");
            Effect::Record(Box::new(event))
        };
        self.questions.drop_all().into_iter().map(answered).collect()
    }

    /// An order reached the agent. What follows from it is a fact now.
    pub fn delivered(&mut self, order: &Order) -> Vec<Effect> {
        self.is_done_with(order);
        let mut change = SessionChange::default();
        match order {
            Order::Mode(mode) if *mode != self.mode => {
                self.before = None;
                self.mode = *mode;
                change.mode = Some(*mode);
            }
            Order::Mode(mode) => {
                self.unheard = self.unheard.filter(|unheard| unheard != mode);
                return Vec::new();
            }
            Order::Model(model) if self.model.as_ref() != Some(model) => {
                self.model = Some(model.clone());
                change.model = Some(Text::from(model.clone()));
            }
            _ => return Vec::new(),
        }
        vec![record(EventKind::SessionChanged(change))]
    }

    /// An order is no longer on its way.
    fn is_done_with(&mut self, order: &Order) {
        if matches!(order, Order::Mode(_)) {
            self.changing = self.changing.saturating_sub(1);
        }
    }

    /// An order did not reach the agent. What it would have changed is as it was.
    pub fn failed(&mut self, order: &Order, why: &str, now: Timestamp) -> Vec<Effect> {
        self.is_done_with(order);
        let what = match order {
            Order::Prompt { .. } => {
                self.stopping = false;
                // Unless the agent has said what it does instead.
                if self.status == SessionStatus::Working {
                    self.status = SessionStatus::Idle;
                }
                // It is not lost: it waits until somebody says that it shall be tried again.
                if let Some(sending) = self.sending.take() {
                    self.queue.waiting.insert(0, sending);
                }
                self.queue.held = !self.queue.waiting.is_empty();
                "the prompt"
            }
            Order::Answer { question_id, .. } => {
                if let Some(open) = self.questions.find(question_id) {
                    open.sent = None;
                }
                "the answer"
            }
            Order::Interrupt => {
                self.stopping = false;
                "the interrupt"
            }
            Order::Mode(mode) => {
                self.mode_stays(*mode, now);
                "the mode change"
            }
            Order::Model(_) => "the model change",
            Order::Keys { .. } => "the key press",
            Order::Fit { .. } | Order::GiveBack => "the window size",
            Order::Stop => "the stop request",
        };
        vec![notice(Level::Error, format!("{what} did not reach the agent: {why}"))]
    }
}
