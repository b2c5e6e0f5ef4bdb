//! Who answers the agent's questions: rules, then the caller, then nobody.

use super::desk::{Desk, Outcome};
use super::setup::{Asks, Setup};
use pollux_agent::claude::permission::{Answer, Rule, Use};
use pollux_agent::gemini::tools;
use pollux_agent::model::{Effect, Question};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::task::JoinSet;

/// Who answers the agent's questions.
pub(super) struct Answers {
    asks: Asks,
    allow: Vec<Rule>,
    deny: Vec<Rule>,
    desk: Desk,
    /// Requests that the caller has not answered yet: the question's id with the request's.
    open: Vec<(String, String)>,
    waiting: JoinSet<(Box<Question<'static>>, Use, Outcome)>,
    denials: Vec<Value>,
}

/// An answer to a question.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) question: String,
    /// The id of the option.
    pub(super) choice: String,
    /// What the model is told.
    pub(super) reason: Option<String>,
    /// Whether the turn shall stop.
    pub(super) interrupt: bool,
    /// What the caller should know.
    pub(super) note: Option<String>,
}

impl Answers {
    pub(super) fn new(asks: Asks, setup: &Setup, desk: Desk) -> Self {
        Self {
            asks,
            allow: setup.allow.clone(),
            deny: setup.deny.clone(),
            desk,
            open: Vec::new(),
            waiting: JoinSet::new(),
            denials: Vec::new(),
        }
    }

    /// From now on somebody else answers.
    pub(super) fn set(&mut self, asks: Asks) {
        self.asks = asks;
    }

    pub(super) fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The calls of this turn that were turned down.
    pub(super) fn denials(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.denials)
    }

    /// A question: answered at once where nobody needs to be asked.
    pub(super) fn asked(&mut self, question: &Question<'static>) -> anyhow::Result<Option<Given>> {
        let of = in_claudes_words(question);
        let fits = |rules: &[Rule]| rules.iter().any(|rule| rule.fits(&of.tool, &of.input));
        if fits(&self.deny) {
            return Ok(Some(self.denied(question, &of, None)));
        }
        if fits(&self.allow) {
            return Ok(Some(allowed(question)));
        }
        if self.asks == Asks::Nobody {
            return Ok(Some(self.denied(question, &of, None)));
        }
        let asked = self.desk.ask(&of.request())?;
        self.open.push((question.id.to_string(), asked.id.clone()));
        let question = Box::new(question.clone());
        self.waiting.spawn(async move {
            let gone = |_gone| Err("nobody is there any more".to_owned());
            let outcome = asked.answer.await.unwrap_or_else(gone);
            (question, of, outcome)
        });
        Ok(None)
    }

    /// The next answer of the caller.
    pub(super) async fn next(&mut self) -> Given {
        loop {
            let Some(Ok((question, of, outcome))) = self.waiting.join_next().await else {
                std::future::pending::<()>().await;
                continue;
            };
            let id = question.id.to_string();
            let Some(at) = self.open.iter().position(|(open, _)| *open == id) else { continue };
            self.open.remove(at);
            return self.given(&question, &of, &outcome);
        }
    }

    fn given(&mut self, question: &Question<'_>, of: &Use, outcome: &Outcome) -> Given {
        match Answer::read(of, outcome) {
            Answer::Allow => allowed(question),
            Answer::AllowChanged(input) => {
                let reason = format!(
                    "The call of {} was not made. It was allowed only with this input: {input}",
                    of.tool
                );
                let note = format!(
                    "Gemini CLI cannot be given another input for a call: {} was turned down, and the model was told what was wanted",
                    of.tool
                );
                Given { note: Some(note), ..self.denied(question, of, Some(reason)) }
            }
            Answer::Deny { message, interrupt } => Given {
                interrupt,
                ..self.denied(question, of, Some(message).filter(|_| !interrupt))
            },
        }
    }

    fn denied(&mut self, question: &Question<'_>, of: &Use, reason: Option<String>) -> Given {
        self.denials.push(of.denial());
        let choice = option(question, [Effect::RejectOnce, Effect::RejectAlways]);
        Given { question: question.id.to_string(), choice, reason, interrupt: false, note: None }
    }

    /// A question is no longer open. Gives the request that asked the caller, if one still does.
    pub(super) fn settled(&mut self, question: &str) -> Option<String> {
        let at = self.open.iter().position(|(open, _)| open == question)?;
        Some(self.open.remove(at).1)
    }
}

fn allowed(question: &Question<'_>) -> Given {
    let choice = option(question, [Effect::AllowOnce, Effect::AllowAlways]);
    Given { question: question.id.to_string(), choice, reason: None, interrupt: false, note: None }
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
