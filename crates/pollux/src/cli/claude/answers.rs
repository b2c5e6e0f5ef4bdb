//! Answers the agent's questions: by rules, then by asking the caller, else by rejecting them.

use super::desk::{Desk, Outcome};
use super::setup::{Asks, Setup};
use pollux_agent::claude::hooks::{self, Hooks};
use pollux_agent::claude::permission::{Answer, Rule, Use};
use pollux_agent::gemini::tools::{self, Category};
use pollux_agent::model::{Effect, Mode, Question, Text};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// Who answers the agent's questions.
pub(super) struct Answers {
    asks: Asks,
    allow: Vec<Rule>,
    ask: Vec<Rule>,
    deny: Vec<Rule>,
    desk: Desk,
    /// Questions that the caller was asked and has not answered yet.
    open: Vec<Open>,
    waiting: JoinSet<Heard>,
    hooks: Hooks,
    /// The mode of the agent: what it would do without asking.
    mode: Mode,
    denials: Vec<Value>,
}

/// A question that the caller has not answered yet.
pub(super) struct Open {
    question: Box<Question<'static>>,
    pub(super) of: Use,
    /// The request that asks it; none while hooks are asked.
    pub(super) request: Option<String>,
}

impl Open {
    /// True for a choice that turns the call down.
    pub(super) fn rejects(&self, choice: &Text<'_>) -> bool {
        let rejects = |effect| matches!(effect, Effect::RejectOnce | Effect::RejectAlways);
        self.question.options.iter().any(|option| option.id == *choice && rejects(option.effect))
    }
}

/// What the caller said to a question.
struct Heard {
    question: Box<Question<'static>>,
    of: Use,
    said: Said,
}

/// Who of the caller's said it.
enum Said {
    Hooks(Vec<Outcome>),
    Caller(Outcome),
}

/// An answer to a question.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) question: String,
    /// The id of the option.
    pub(super) choice: String,
    /// The reason for the model.
    pub(super) reason: Option<String>,
    /// True if the turn must stop.
    pub(super) interrupt: bool,
    /// What the caller should know.
    pub(super) note: Option<String>,
    /// The call, where it is turned down.
    pub(super) denied: Option<Use>,
}

impl Answers {
    pub(super) fn new(setup: &Setup, desk: Desk, hooks: Hooks) -> Self {
        Self {
            asks: setup.asks.in_mode(setup.mode_name),
            allow: setup.allow.clone(),
            ask: setup.ask.clone(),
            deny: setup.deny.clone(),
            desk,
            open: Vec::new(),
            waiting: JoinSet::new(),
            hooks,
            mode: setup.mode,
            denials: Vec::new(),
        }
    }

    /// Changes who answers.
    pub(super) fn set(&mut self, asks: Asks) {
        self.asks = asks;
    }

    /// The agent has another mode.
    pub(super) fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
    }

    pub(super) fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The calls of this turn that were turned down.
    pub(super) fn denials(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.denials)
    }

    /// A question: answered immediately if the caller need not be asked.
    pub(super) fn asked(&mut self, question: &Question<'static>) -> anyhow::Result<Option<Given>> {
        let of = in_claudes_words(question);
        let requests = self.hooks.about("PreToolUse", &of, json!({}));
        if requests.is_empty() {
            return self.by_rules(question, of, false);
        }
        let mut asked = Vec::new();
        for request in &requests {
            asked.push(self.desk.ask(request)?);
        }
        let question = Box::new(question.clone());
        self.open.push(Open { question: question.clone(), of: of.clone(), request: None });
        self.waiting.spawn(async move {
            let mut outcomes = Vec::new();
            for asked in asked {
                outcomes.push(asked.answer.await.unwrap_or_else(|_gone| Err(String::new())));
            }
            Heard { question, of, said: Said::Hooks(outcomes) }
        });
        Ok(None)
    }

    /// What the rules say to a question, else the caller is asked. `must` is true where a hook wants that.
    fn by_rules(
        &mut self,
        question: &Question<'static>,
        of: Use,
        must: bool,
    ) -> anyhow::Result<Option<Given>> {
        if self.denies(&of) {
            return Ok(Some(rejected(question, &of, None)));
        }
        let allows = |rule: &Rule| rule.allows(&of.tool, &of.input);
        let must = must || self.ask.iter().any(|rule| rule.denies(&of.tool, &of.input));
        if !must && (self.allow.iter().any(allows) || self.goes_unasked(question)) {
            return Ok(Some(allowed(question)));
        }
        if self.asks == Asks::Nobody {
            return Ok(Some(rejected(question, &of, None)));
        }
        let asked = self.desk.ask(&of.request())?;
        let question = Box::new(question.clone());
        let request = Some(asked.id.clone());
        self.open.push(Open { question: question.clone(), of: of.clone(), request });
        self.waiting.spawn(async move {
            let gone = |_gone| Err("the caller has disconnected".to_owned());
            let outcome = asked.answer.await.unwrap_or_else(gone);
            Heard { question, of, said: Said::Caller(outcome) }
        });
        Ok(None)
    }

    /// True for a call that a rule rejects. This overrides every permission.
    fn denies(&self, of: &Use) -> bool {
        self.deny.iter().any(|rule| rule.denies(&of.tool, &of.input))
    }

    /// True for a call that the agent asks about only because a hook is to have its say.
    fn goes_unasked(&self, question: &Question<'_>) -> bool {
        if !self.hooks.any("PreToolUse") {
            return false;
        }
        let own = question.tool.as_ref().map(ToString::to_string).unwrap_or_default();
        match (self.mode, tools::category(&own)) {
            (Mode::Yolo, _) | (_, Category::Read | Category::Search) => true,
            (Mode::AutoEdit, Category::Write) => true,
            _ => own == "write_todos",
        }
    }

    /// The next answer of the caller; none where it only led to another question.
    pub(super) async fn next(&mut self) -> anyhow::Result<Option<Given>> {
        let Some(Ok(heard)) = self.waiting.join_next().await else { return Ok(None) };
        let Heard { question, of, said } = heard;
        let id = question.id.to_string();
        let is = |open: &Open| open.question.id == *id.as_str();
        let Some(at) = self.open.iter().position(is) else { return Ok(None) };
        if matches!(said, Said::Hooks(_)) {
            self.open.remove(at);
        }
        match said {
            Said::Caller(outcome) => Ok(Some(Self::given(&question, &of, &outcome))),
            Said::Hooks(outcomes) => match hooks::said(&outcomes) {
                hooks::Said::Deny(why) => Ok(Some(rejected(&question, &of, Some(why)))),
                hooks::Said::Allow if self.denies(&of) => Ok(Some(rejected(&question, &of, None))),
                hooks::Said::Allow => Ok(Some(allowed(&question))),
                hooks::Said::Ask => self.by_rules(&question, of, true),
                hooks::Said::Nothing | hooks::Said::Context(_) => {
                    self.by_rules(&question, of, false)
                }
            },
        }
    }

    fn given(question: &Question<'_>, of: &Use, outcome: &Outcome) -> Given {
        match Answer::read(of, outcome) {
            Answer::Allow => allowed(question),
            Answer::AllowChanged(input) => {
                let reason = format!(
                    "The call of {} was not made. It is allowed only with this input: {input}",
                    of.tool
                );
                let note = format!(
                    "Gemini CLI cannot change the input of a call: {} was rejected, and the model was told which input is allowed",
                    of.tool
                );
                Given { note: Some(note), ..rejected(question, of, Some(reason)) }
            }
            Answer::Deny { message, interrupt } => {
                Given { interrupt, ..rejected(question, of, Some(message)) }
            }
        }
    }

    /// A call was turned down.
    pub(super) fn denied(&mut self, of: &Use) {
        self.denials.push(of.denial());
    }

    /// A question is no longer open. Gives it where the caller was asked and has not answered.
    pub(super) fn settled(&mut self, question: &str) -> Option<Open> {
        let at = self.open.iter().position(|open| open.question.id == *question)?;
        Some(self.open.remove(at))
    }
}

/// No.
fn rejected(question: &Question<'_>, of: &Use, reason: Option<String>) -> Given {
    let choice = option(question, [Effect::RejectOnce, Effect::RejectAlways]);
    Given {
        question: question.id.to_string(),
        choice,
        reason,
        interrupt: false,
        note: None,
        denied: Some(of.clone()),
    }
}

fn allowed(question: &Question<'_>) -> Given {
    let choice = option(question, [Effect::AllowOnce, Effect::AllowAlways]);
    Given {
        question: question.id.to_string(),
        choice,
        reason: None,
        interrupt: false,
        note: None,
        denied: None,
    }
}

/// The option that does one of two things, the first if it can be had.
fn option(question: &Question<'_>, wanted: [Effect; 2]) -> String {
    let find = |effect: Effect| question.options.iter().find(|option| option.effect == effect);
    let found = wanted.into_iter().find_map(find);
    found.map(|option| option.id.to_string()).unwrap_or_default()
}

/// A question in Claude's words: its name of the tool, and its arguments.
fn in_claudes_words(question: &Question<'_>) -> Use {
    let own = question.tool.as_ref().map(ToString::to_string).unwrap_or_default();
    let title = question.text.to_string();
    let raw =
        question.input.as_ref().and_then(|input| RawValue::from_string(input.to_string()).ok());
    let input = tools::input(&own, raw.as_deref()).to_value();
    let tool = tools::claude_name(own.into(), Some(&title)).into_owned();
    let id = question.tool_id.as_ref().map_or_else(|| question.id.to_string(), ToString::to_string);
    Use { id, tool, input, title }
}
