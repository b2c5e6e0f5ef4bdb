//! What was refused to the agent in a run: by a person, by a policy, by the CLI itself. Pure.

use pollux_agent::gemini::tools::is_denied;
use pollux_agent::model::{Answer, Effect, Event, EventKind, Question, Status, Text};
use serde::Serialize;
use std::collections::HashMap;

/// One thing that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Denial {
    /// The agent's own name of the tool.
    tool: String,
    /// The call, where the agent has told which.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_id: Option<String>,
    reason: String,
}

/// Hears the events of a run.
#[derive(Debug, Default)]
pub(super) struct Denials {
    all: Vec<Denial>,
    open: HashMap<String, Question<'static>>,
    /// The tools of the calls that have begun.
    names: HashMap<String, String>,
}

impl Denials {
    pub(super) fn event(&mut self, event: &Event<'_>) {
        match &event.kind {
            EventKind::Asked(question) => {
                self.open.insert(question.id.to_string(), question.as_ref().clone().into_owned());
            }
            EventKind::Answered { question_id, answer } => {
                let question = self.open.remove(question_id.to_str().as_ref());
                let reason = question.as_ref().and_then(|it| refusal(it, answer, event.derived));
                if let (Some(question), Some(reason)) = (question, reason) {
                    self.refused(&question, reason);
                }
            }
            EventKind::ToolStarted { id, name, .. } => {
                self.names.insert(id.to_string(), name.to_string());
            }
            EventKind::ToolEnded {
                id, name, status: Status::Error, error: Some(error), ..
            } => {
                let known = || self.names.get(id.to_str().as_ref()).cloned();
                let tool = name.as_ref().map(ToString::to_string).or_else(known);
                let (tool, error) = (tool.unwrap_or_default(), error.to_str());
                if is_denied(&tool, &error) {
                    self.push(Denial { tool, tool_id: Some(id.to_string()), reason: error.into() });
                }
            }
            _ => {}
        }
    }

    /// All of them, in their order. What comes next is of another turn.
    pub(super) fn take(&mut self) -> Vec<Denial> {
        std::mem::take(&mut self.all)
    }

    fn refused(&mut self, question: &Question<'_>, reason: String) {
        let tool_id = question.tool_id.as_ref().map(ToString::to_string);
        let begun = tool_id.as_ref().and_then(|id| self.names.get(id));
        let tool = question.tool.as_ref().map(ToString::to_string);
        let tool = tool.or_else(|| begun.cloned()).unwrap_or_else(|| question.text.to_string());
        self.push(Denial { tool, tool_id, reason });
    }

    /// A call that was refused ends, too, and some ends are told twice.
    fn push(&mut self, denial: Denial) {
        let id = denial.tool_id.as_ref();
        if id.is_none() || !self.all.iter().any(|known| known.tool_id.as_ref() == id) {
            self.all.push(denial);
        }
    }
}

/// Why a question was answered with no; none where it was not.
fn refusal(
    question: &Question<'_>,
    answer: &Answer<'_>,
    derived: Option<&'static str>,
) -> Option<String> {
    match answer {
        Answer::Chosen { choice, reason } => {
            let is_it = |option: &&pollux_agent::model::Choice<'_>| option.id == *choice;
            let effect = question.options.iter().find(is_it).map(|option| option.effect);
            if !matches!(effect, Some(Effect::RejectOnce | Effect::RejectAlways)) {
                return None;
            }
            let by = match derived {
                Some("policy") => "denied by the permission policy of this run",
                _ => "rejected by the user",
            };
            Some(reason.as_ref().map_or_else(|| by.to_owned(), Text::to_string))
        }
        Answer::Cancelled => Some("the question was cancelled without an answer".to_owned()),
        Answer::Elsewhere => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Denials;
    use pollux_agent::model::Event;
    use serde_json::{Value, json};

    /// What was refused in a run with these events.
    fn denials(events: &[Value]) -> Value {
        let mut denials = Denials::default();
        for event in events {
            let text = event.to_string();
            denials.event(&Event::from_json(&text).unwrap());
        }
        serde_json::to_value(denials.take()).unwrap()
    }

    fn asked(id: &str) -> Value {
        let option = |id: &str, effect: &str| json!({ "id": id, "label": id, "effect": effect });
        json!({ "type": "asked", "source": "acp", "id": id, "kind": "command", "text": "Allow?",
            "tool": "run_shell_command", "tool_id": format!("call-{id}"), "options":
            [option("yes", "allow_once"), option("no", "reject_once")] })
    }

    fn answered(id: &str, answer: &Value) -> Value {
        let mut event = json!({ "type": "answered", "source": "pollux", "question_id": id });
        event.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        event
    }

    #[test]
    fn what_was_answered_with_no_is_a_denial_with_its_reason_and_a_yes_is_none() {
        let no = |more: Value| {
            let mut no = json!({ "outcome": "chosen", "choice": "no" });
            no.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            no
        };
        let told = denials(&[
            asked("1"),
            answered("1", &json!({ "outcome": "chosen", "choice": "yes" })),
            asked("2"),
            answered("2", &no(json!({ "derived": "policy" }))),
            asked("3"),
            answered("3", &no(json!({ "reason": "not today" }))),
            asked("4"),
            answered("4", &json!({ "outcome": "cancelled" })),
        ]);
        let reasons: Vec<&Value> =
            told.as_array().unwrap().iter().map(|it| &it["reason"]).collect();
        let policy = "denied by the permission policy of this run";
        assert_eq!(
            reasons,
            [policy, "not today", "the question was cancelled without an answer"],
            "{told:#}"
        );
        assert_eq!(told[0]["tool"], "run_shell_command");
        assert_eq!(told[0]["tool_id"], "call-2");
    }

    #[test]
    fn what_the_cli_does_not_allow_is_told_once_and_what_only_fails_is_not() {
        let begun = json!({ "type": "tool_started", "source": "stream", "id": "a",
            "name": "write_file", "input": {} });
        let ended = |id: &str, error: &str| {
            json!({ "type": "tool_ended", "source": "stream", "id": id, "status": "error",
            "changed": false, "error": error })
        };
        let denied = ended("a", "Tool execution denied by policy. You are in Plan Mode.");
        let told = denials(&[begun, denied.clone(), denied, ended("b", "File not found")]);
        let reason = "Tool execution denied by policy. You are in Plan Mode.";
        assert_eq!(told, json!([{ "tool": "write_file", "tool_id": "a", "reason": reason }]));
    }
}
