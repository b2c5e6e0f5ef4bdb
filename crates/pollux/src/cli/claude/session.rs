//! The session of one caller: prompts, requests, questions and events, in one loop.

use super::answers::Answers;
use super::bridge::Bridge;
use super::desk::{self, Desk};
use super::open::Opened;
use super::setup::{self, Asks, Setup};
use super::told::Told;
use crate::cli::run::resume::Kept;
use crate::client::Twin;
use crate::ends::Stop;
use crate::report;
use pollux_agent::acp::{Control, Prompt};
use pollux_agent::claude::control::{self, Ask, Line, User};
use pollux_agent::claude::hooks::{self, Hooks};
use pollux_agent::claude::permission::Use;
use pollux_agent::claude::stream::VERSION;
use pollux_agent::gemini::acp::{Aside, Live};
use pollux_agent::model::{
    Answer, Block, Event, EventKind, Failure, Level, Message, Mode, Outcome, Phase, SessionChange,
    Source, StopReason,
};
use serde_json::{Value, json};
use std::collections::{HashSet, VecDeque};
use std::process::ExitCode;
use std::time::Duration;
use tokio::sync::mpsc;

/// The session of one caller.
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub(super) struct Session {
    live: Live,
    control: Control,
    desk: Desk,
    told: Told,
    answers: Answers,
    queue: VecDeque<User>,
    works: bool,
    /// The agent is gone.
    gone: bool,
    /// Text to add before the first prompt.
    append: Option<String>,
    max_turns: Option<u64>,
    replay: bool,
    mode: Mode,
    /// Who answers, except in the mode `dontAsk`.
    asks: Asks,
    no_bypass: bool,
    /// The model that it began with, and the one that it has.
    models: (Option<String>, Option<String>),
    /// Requests that wait until the agent has another mode or model.
    changes: Vec<Change>,
    servers: Vec<String>,
    bridge: Option<Bridge>,
    hooks: Hooks,
    twin: Twin,
    /// Calls whose end the hooks were told of.
    ended: HashSet<String>,
    /// How the session began.
    source: &'static str,
    /// Files that the agent reads while it lives.
    _aside: Aside,
    /// The lock on a resumed session.
    _kept: Option<Kept>,
}

/// A request that waits until the agent has another mode or model.
struct Change {
    id: String,
    to: To,
}

enum To {
    /// The mode, and what the caller calls it.
    Mode(Mode, String),
    Model(String),
}

/// What the loop woke up for.
enum Woke {
    Line(Option<Line>),
    Event(Option<Event<'static>>),
    Answer(Option<super::answers::Given>),
    Stop,
}

impl Session {
    pub(super) fn new(opened: Opened, desk: Desk) -> Self {
        let model = opened.live.opened().model.clone();
        let told = Told::new(&opened);
        let answers = Answers::new(&opened.setup, desk.clone(), opened.hooks.clone());
        let servers = opened.setup.servers.names().into_iter().map(str::to_owned).collect();
        let source = if opened.setup.resume.is_some() { "resume" } else { "startup" };
        let Setup { max_turns, replay, mode, asks, no_bypass, .. } = opened.setup;
        Self {
            control: opened.live.control(),
            live: opened.live,
            desk,
            told,
            answers,
            queue: VecDeque::new(),
            works: false,
            gone: false,
            append: opened.append,
            max_turns,
            replay,
            mode,
            asks,
            no_bypass,
            models: (model.clone(), model),
            changes: Vec::new(),
            servers,
            bridge: opened.bridge,
            hooks: opened.hooks,
            twin: opened.twin,
            ended: HashSet::new(),
            source,
            _aside: opened.aside,
            _kept: opened.kept,
        }
    }

    /// What the answer to the first request says.
    pub(super) fn about(&self) -> Value {
        json!({
            "commands": [],
            "agents": [],
            "output_style": "default",
            "available_output_styles": ["default"],
            "models": self.offered(),
            "account": {},
            "claude_code_version": VERSION,
        })
    }

    fn offered(&self) -> Vec<Value> {
        let models = self.live.opened().models.iter();
        let model = |model: &pollux_agent::acp::Named| json!({ "value": model.id, "displayName": model.name, "description": model.name });
        models.map(model).collect()
    }

    /// Works until there is nothing left to do. `early` are lines that arrived before the session was open.
    pub(super) async fn run(
        mut self,
        early: VecDeque<Line>,
        lines: mpsc::Receiver<Line>,
        stop: Stop,
    ) -> anyhow::Result<ExitCode> {
        let worked = self.work(early, lines, stop).await;
        // Also where nobody reads any more: what a resume left is taken away there.
        let ended = self.finish().await;
        worked?;
        ended
    }

    async fn work(
        &mut self,
        early: VecDeque<Line>,
        mut lines: mpsc::Receiver<Line>,
        mut stop: Stop,
    ) -> anyhow::Result<()> {
        for line in early {
            self.line(line).await?;
        }
        let mut open = true;
        self.hooked("SessionStart", json!({ "source": self.source })).await?;
        self.next_turn().await?;
        while !self.gone && (open || self.works || !self.queue.is_empty()) {
            let woke = tokio::select! {
                line = lines.recv(), if open => Woke::Line(line),
                event = self.live.next() => Woke::Event(event),
                answer = self.answers.next(), if self.answers.waits() => Woke::Answer(answer?),
                () = self.twin.stopped() => Woke::Stop,
                () = stop.told() => Woke::Stop,
            };
            match woke {
                Woke::Line(Some(line)) => self.line(line).await?,
                Woke::Line(None) => open = false,
                Woke::Event(Some(event)) => self.event(&event).await?,
                Woke::Event(None) => self.gone = true,
                Woke::Answer(Some(given)) => self.answered(given).await?,
                Woke::Answer(None) => {}
                Woke::Stop => break,
            }
        }
        Ok(())
    }

    async fn finish(mut self) -> anyhow::Result<ExitCode> {
        let told = self.tell_end().await;
        let code = self.told.code();
        self.twin.close().await;
        if let Err(error) = self.live.close().await {
            report::warn(&error.to_string());
        }
        if let Some(bridge) = self.bridge {
            bridge.close().await;
        }
        told?;
        self.told.keep()?;
        Ok(code)
    }

    async fn tell_end(&mut self) -> anyhow::Result<()> {
        if self.works {
            let outcome = self.live.outcome().unwrap_or_else(cut_short);
            self.told.ended(Some(outcome), &self.answers.denials())?;
        }
        self.hooked("SessionEnd", json!({ "reason": "other" })).await?;
        Ok(())
    }

    /// Takes a prompt.
    pub(super) fn take(&mut self, user: User) {
        self.queue.push_back(user);
    }

    /// One line of the caller.
    pub(super) async fn line(&mut self, line: Line) -> anyhow::Result<()> {
        match line {
            Line::User(user) => {
                self.take(user);
                self.next_turn().await
            }
            Line::Asked { id, ask } => self.asked(&id, ask).await,
            Line::Unread(why) => self.told.notice("warning", &why),
            Line::Withdrawn { .. } | Line::Answered { .. } | Line::Idle => Ok(()),
        }
    }

    /// Gives the agent the next prompt, if it has none. One that is not let through makes room for the one behind it.
    async fn next_turn(&mut self) -> anyhow::Result<()> {
        while !self.works
            && let Some(user) = self.queue.pop_front()
        {
            self.prompt(user).await?;
        }
        Ok(())
    }

    async fn prompt(&mut self, mut user: User) -> anyhow::Result<()> {
        self.told.begin(self.mode, self.models.1.as_deref())?;
        for kind in &user.left_out {
            let text =
                format!("removed a `{kind}` block from the prompt: Gemini CLI does not support it");
            self.told.notice("warning", &text)?;
        }
        if self.replay {
            self.told.replay(&user)?;
        }
        let words = Prompt::of(user.blocks.clone()).words().to_owned();
        match self.hooked("UserPromptSubmit", json!({ "prompt": words })).await? {
            hooks::Said::Deny(why) => {
                let message = format!("a hook blocked the prompt: {why}");
                return self.told.failed(&Failure::new(Phase::Start, "prompt_blocked", message));
            }
            hooks::Said::Context(context) => {
                user.blocks.push(json!({ "type": "text", "text": context }));
            }
            _ => {}
        }
        if let Some(append) = self.append.take() {
            user.blocks.insert(0, json!({ "type": "text", "text": append }));
        }
        let mut prompt = Prompt::of(user.blocks);
        if let Some(turns) = self.max_turns {
            prompt = prompt.max_turns(turns);
        }
        match self.control.prompt(prompt).await {
            Ok(()) => self.works = true,
            Err(failure) => self.told.failed(&failure)?,
        }
        Ok(())
    }

    /// Calls the caller's hooks for an event and merges their answers. Waits for a minute at most.
    async fn hooked(&mut self, event: &str, more: Value) -> anyhow::Result<hooks::Said> {
        let mut outcomes = Vec::new();
        for request in self.hooks.requests(event, None, more) {
            let asked = self.desk.ask(&request)?;
            let answer = tokio::time::timeout(Duration::from_mins(1), asked.answer).await;
            outcomes.push(answer.ok().and_then(Result::ok).unwrap_or_else(|| Err(String::new())));
        }
        Ok(hooks::said(&outcomes))
    }

    /// Tells the caller's functions of calls that have ended. What they answer comes too late to change anything.
    fn tool_ended(&mut self, message: &Message<'_>) -> anyhow::Result<()> {
        if !self.hooks.any("PostToolUse") {
            return Ok(());
        }
        for block in message.blocks() {
            let Block::ToolUse { id, name, input } = block else { continue };
            let result = message.blocks().iter().find_map(|block| match block {
                Block::ToolResult { tool_use_id, content, .. } if tool_use_id == id => {
                    Some(content)
                }
                _ => None,
            });
            let Some(result) = result.filter(|_| self.ended.insert(id.to_string())) else {
                continue;
            };
            let (id, title) = (id.to_string(), String::new());
            let of = Use { id, tool: name.to_string(), input: input.to_value(), title };
            for request in self.hooks.about("PostToolUse", &of, json!({ "tool_response": result }))
            {
                drop(self.desk.ask(&request)?);
            }
        }
        Ok(())
    }

    async fn asked(&mut self, id: &str, ask: Ask) -> anyhow::Result<()> {
        let answer = match ask {
            Ask::Initialize(_) => Ok(self.about()),
            Ask::Interrupt => {
                drop(self.control.cancel().await);
                let queued: Vec<&String> =
                    self.queue.iter().filter_map(|user| user.uuid.as_ref()).collect();
                Ok(json!({ "still_queued": queued }))
            }
            Ask::SetMode(name) => return self.set_mode(id, &name).await,
            Ask::SetModel(model) => return self.set_model(id, model).await,
            Ask::McpStatus => {
                let server = |name: &String| json!({ "name": name, "status": "pending" });
                Ok(json!({ "mcpServers": self.servers.iter().map(server).collect::<Vec<_>>() }))
            }
            Ask::Mcp { server, message } => {
                if let Some(bridge) = &self.bridge {
                    bridge.tell(&server, message);
                }
                Ok(json!({}))
            }
            Ask::Models => Ok(json!({ "models": self.offered() })),
            Ask::Version => Ok(json!({ "version": VERSION })),
            Ask::Other(name) => Err(format!("`{name}` has no counterpart in Gemini CLI")),
        };
        answer_to(id, answer)
    }

    async fn set_mode(&mut self, id: &str, name: &str) -> anyhow::Result<()> {
        let mode = match setup::mode(name) {
            Ok(mode) => mode,
            Err(why) => return answer_to(id, Err(why)),
        };
        if self.no_bypass && mode == Mode::Yolo {
            return answer_to(id, Err(setup::NO_BYPASS.to_owned()));
        }
        self.answers.set(self.asks.in_mode(name));
        self.told.set_mode_name(setup::alone(name));
        let asked = self.changes.iter().any(|change| matches!(change.to, To::Mode(..)));
        if mode == self.mode && !asked {
            return answer_to(id, Ok(json!({ "mode": name })));
        }
        let to = To::Mode(mode, name.to_owned());
        match self.control.set_mode(mode).await {
            Ok(()) => self.changes.push(Change { id: id.to_owned(), to }),
            Err(failure) => answer_to(id, Err(failure.to_string()))?,
        }
        Ok(())
    }

    async fn set_model(&mut self, id: &str, model: Option<String>) -> anyhow::Result<()> {
        let wanted = model.as_deref().and_then(setup::gemini_model).map(str::to_owned);
        let Some(model) = wanted.or_else(|| self.models.0.clone()) else {
            return answer_to(
                id,
                Err("the agent does not report which model it started with".to_owned()),
            );
        };
        let asked = self.changes.iter().any(|change| matches!(change.to, To::Model(_)));
        if self.models.1.as_ref() == Some(&model) && !asked {
            return answer_to(id, Ok(json!({})));
        }
        match self.control.set_model(&model).await {
            Ok(()) => self.changes.push(Change { id: id.to_owned(), to: To::Model(model) }),
            Err(failure) => answer_to(id, Err(failure.to_string()))?,
        }
        Ok(())
    }

    async fn event(&mut self, event: &Event<'static>) -> anyhow::Result<()> {
        self.twin.event(event);
        self.told.event(event)?;
        match &event.kind {
            EventKind::Asked(question) => {
                if let Some(given) = self.answers.asked(question)? {
                    self.answered(given).await?;
                }
            }
            EventKind::Answered { question_id, answer } => {
                self.settled(&question_id.to_str(), answer)?;
            }
            EventKind::SessionChanged(change) => self.changed(change)?,
            EventKind::MessageRecorded { message, .. } => self.tool_ended(message)?,
            EventKind::Notice { level: Level::Error, text }
                if event.source == Source::Acp && !self.changes.is_empty() =>
            {
                let change = self.changes.remove(0);
                answer_to(&change.id, Err(text.clone()))?;
            }
            EventKind::TurnEnded { .. } => {
                self.works = false;
                let denials = self.answers.denials();
                self.told.ended(self.live.outcome(), &denials)?;
                self.next_turn().await?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The agent has another mode or model.
    fn changed(&mut self, change: &SessionChange<'_>) -> anyhow::Result<()> {
        let model = change.model.as_ref().map(ToString::to_string);
        if let Some(mode) = change.mode {
            self.mode = mode;
            self.answers.set_mode(mode);
        }
        if let Some(model) = &model {
            self.models.1 = Some(model.clone());
        }
        let is_now = |to: &To| match to {
            To::Mode(mode, _) => change.mode == Some(*mode),
            To::Model(wanted) => model.as_ref() == Some(wanted),
        };
        while let Some(at) = self.changes.iter().position(|change| is_now(&change.to)) {
            let change = self.changes.remove(at);
            let answer = match change.to {
                To::Mode(_, name) => json!({ "mode": name }),
                To::Model(model) => json!({ "model": model }),
            };
            answer_to(&change.id, Ok(answer))?;
        }
        Ok(())
    }

    /// A question is no longer open. Where the caller was not first, its request is taken back.
    fn settled(&mut self, question: &str, answer: &Answer<'_>) -> anyhow::Result<()> {
        let Some(open) = self.answers.settled(question) else { return Ok(()) };
        if let Some(request) = &open.request {
            self.desk.withdraw(request)?;
        }
        match answer {
            Answer::Chosen { choice, reason } if open.rejects(choice) => {
                let why = reason.as_ref().map(ToString::to_string).unwrap_or_default();
                self.denied(&open.of, &why)
            }
            _ => Ok(()),
        }
    }

    fn denied(&mut self, of: &Use, why: &str) -> anyhow::Result<()> {
        self.answers.denied(of);
        self.told.denied(of, why)
    }

    /// The caller, or a rule, has an answer to a question.
    async fn answered(&mut self, given: super::answers::Given) -> anyhow::Result<()> {
        let reason = given.reason.filter(|reason| !reason.trim().is_empty());
        if given.choice.is_empty() {
            // It offers neither a yes nor a no: nobody could answer it, and so the turn ends.
            drop(self.control.cancel().await);
            return Ok(());
        }
        // A turn that stops is told no reasons.
        let told = reason.clone().filter(|_| !given.interrupt);
        if self.control.answer(given.question.clone(), given.choice, told).await.is_err() {
            // Somebody else was first: the event that follows says what holds.
            return Ok(());
        }
        drop(self.answers.settled(&given.question));
        if let Some(note) = &given.note {
            self.told.notice("warning", note)?;
        }
        if let Some(of) = &given.denied {
            self.denied(of, reason.as_deref().unwrap_or_default())?;
        }
        if given.interrupt {
            drop(self.control.cancel().await);
        }
        Ok(())
    }
}

/// A turn that was cut short by the end of the session. Its result must not look like a success.
fn cut_short() -> Outcome {
    let message = "the session was stopped during a turn";
    let failure = Failure::new(Phase::Cancelled, "cancelled", message);
    Outcome { stop_reason: Some(StopReason::Cancelled), error: Some(failure), ..Outcome::default() }
}

fn answer_to(id: &str, answer: Result<Value, String>) -> anyhow::Result<()> {
    let line = match answer {
        Ok(response) => control::answered(id, &response),
        Err(why) => control::refused(id, &why),
    };
    desk::print(&[line])
}
