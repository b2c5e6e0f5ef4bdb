//! Hooks of a caller: functions in its process that are called before and after things happen. Pure.

use super::control::Hook;
use super::permission::Use;
use regex::Regex;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The events that have a counterpart.
pub const EVENTS: [&str; 5] =
    ["PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart", "SessionEnd"];

/// The hooks of a caller.
#[derive(Debug, Clone, Default)]
pub struct Hooks {
    by_event: BTreeMap<String, Vec<Hook>>,
    session_id: String,
    cwd: String,
}

/// What a hook says about a call, or about a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Nothing: it goes on as it would without the hook.
    Nothing,
    /// Yes.
    Allow,
    /// Somebody is to be asked.
    Ask,
    /// No, and why.
    Deny(String),
    /// It goes on, and the model is told something more.
    Context(String),
}

impl Hooks {
    /// The hooks of a session.
    pub fn new(by_event: BTreeMap<String, Vec<Hook>>, session_id: &str, cwd: &str) -> Self {
        Self { by_event, session_id: session_id.to_owned(), cwd: cwd.to_owned() }
    }

    /// The first event that has no counterpart, if there is one.
    pub fn unknown(by_event: &BTreeMap<String, Vec<Hook>>) -> Option<&str> {
        let given = by_event.iter().filter(|(_, hooks)| !hooks.is_empty());
        let mut unknown: Vec<&str> = given.map(|(event, _)| event.as_str()).collect();
        unknown.retain(|event| !EVENTS.contains(event));
        unknown.into_iter().min()
    }

    /// The first matcher that cannot be read, if there is one: a hook that is never called would be missed by nobody.
    pub fn unreadable(by_event: &BTreeMap<String, Vec<Hook>>) -> Option<&str> {
        let all = by_event.values().flatten().filter_map(|hook| hook.matcher.as_deref());
        { all }.find(|matcher| !is_any(matcher) && pattern(matcher).is_none())
    }

    /// True where a caller wants to be called at an event.
    pub fn any(&self, event: &str) -> bool {
        self.by_event.get(event).is_some_and(|hooks| !hooks.is_empty())
    }

    /// The requests that call the functions for an event about a call.
    pub fn about(&self, event: &str, of: &Use, more: Value) -> Vec<Value> {
        let mut more = more;
        more["tool_name"] = json!(of.tool);
        more["tool_input"] = of.input.clone();
        more["tool_use_id"] = json!(of.id);
        self.requests(event, Some(of), more)
    }

    /// The requests that call the functions for an event about the session.
    pub fn requests(&self, event: &str, of: Option<&Use>, more: Value) -> Vec<Value> {
        let hooks = self.by_event.get(event).into_iter().flatten();
        let tool = of.map(|of| of.tool.as_str());
        let wanted =
            hooks.filter(|hook| tool.is_none_or(|tool| fits(hook.matcher.as_deref(), tool)));
        let mut input = more;
        input["hook_event_name"] = json!(event);
        input["session_id"] = json!(self.session_id);
        input["cwd"] = json!(self.cwd);
        input["transcript_path"] = json!("");
        let request = |callback: &String| {
            let mut request =
                json!({ "subtype": "hook_callback", "callback_id": callback, "input": input });
            if let Some(of) = of {
                request["tool_use_id"] = json!(of.id);
            }
            request
        };
        wanted.flat_map(|hook| hook.callbacks.iter().map(request).collect::<Vec<_>>()).collect()
    }
}

/// True where a matcher is about a tool: an expression for all of its name, or nothing at all.
fn fits(matcher: Option<&str>, tool: &str) -> bool {
    let of =
        |matcher: &str| is_any(matcher) || pattern(matcher).is_some_and(|it| it.is_match(tool));
    matcher.is_none_or(of)
}

fn is_any(matcher: &str) -> bool {
    matches!(matcher.trim(), "" | "*")
}

fn pattern(matcher: &str) -> Option<Regex> {
    Regex::new(&format!("^(?:{})$", matcher.trim())).ok()
}

/// What functions said together: a no before all else, then somebody is to be asked, then a yes.
pub fn said(outcomes: &[Result<Value, String>]) -> Said {
    let mut all: Vec<Said> = outcomes.iter().flatten().map(one).collect();
    let first = |all: &mut Vec<Said>, is: fn(&Said) -> bool| {
        all.iter().position(is).map(|at| all.swap_remove(at))
    };
    first(&mut all, |said| matches!(said, Said::Deny(_)))
        .or_else(|| first(&mut all, |said| *said == Said::Ask))
        .or_else(|| first(&mut all, |said| *said == Said::Allow))
        .unwrap_or_else(|| context(all))
}

/// What the model is told more: by each function that says something.
fn context(all: Vec<Said>) -> Said {
    let told = all.into_iter().filter_map(|said| match said {
        Said::Context(text) => Some(text),
        _ => None,
    });
    match told.collect::<Vec<_>>().join("\n") {
        told if told.is_empty() => Said::Nothing,
        told => Said::Context(told),
    }
}

fn one(answer: &Value) -> Said {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let own = &answer["hookSpecificOutput"];
    if answer["continue"] == json!(false) {
        return Said::Deny(text(&answer["stopReason"]));
    }
    match own["permissionDecision"].as_str() {
        // Another input has no counterpart: the call may not be made with the one that it has.
        Some("allow") if !own["updatedInput"].is_null() => {
            return Said::Deny(format!("allowed only with this input: {}", own["updatedInput"]));
        }
        Some("allow") => return Said::Allow,
        Some("deny") => return Said::Deny(text(&own["permissionDecisionReason"])),
        Some("ask") => return Said::Ask,
        _ => {}
    }
    match answer["decision"].as_str() {
        Some("block") => Said::Deny(text(&answer["reason"])),
        Some("approve") => Said::Allow,
        _ => match text(&own["additionalContext"]) {
            context if context.is_empty() => Said::Nothing,
            context => Said::Context(context),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{Hooks, Said, fits, said};
    use crate::claude::control::Hook;
    use serde_json::json;
    use std::collections::BTreeMap;

    #[test]
    fn a_no_of_one_hook_is_the_no_of_all() {
        let allow = Ok(json!({ "hookSpecificOutput": { "permissionDecision": "allow" } }));
        let deny = Ok(json!({ "decision": "block", "reason": "no" }));
        assert_eq!(said(&[allow.clone(), deny]), Said::Deny("no".into()));
        assert_eq!(said(&[Ok(json!({})), allow]), Said::Allow);
        assert_eq!(said(&[Err("broken".into()), Ok(json!({}))]), Said::Nothing);
        let changed = json!({ "hookSpecificOutput": { "permissionDecision": "allow", "updatedInput": { "a": 1 } } });
        assert!(matches!(said(&[Ok(changed)]), Said::Deny(_)));
    }

    #[test]
    fn what_every_hook_adds_is_told() {
        let adds = |text: &str| Ok(json!({ "hookSpecificOutput": { "additionalContext": text } }));
        assert_eq!(said(&[adds("one"), adds("two")]), Said::Context("one\ntwo".into()));
    }

    #[test]
    fn a_matcher_is_about_some_tools() {
        for about in ["", "*", ".*", "Edit|Write", "(Edit|Write)", "^W.+$", " Write "] {
            assert!(fits(Some(about), "Write"), "{about}");
        }
        assert!(fits(None, "Bash") && fits(Some("mcp__.*"), "mcp__a__b"));
        assert!(!fits(Some("Edit|Write"), "Bash") && !fits(Some("Bash"), "BashOutput"));
        let hooks = BTreeMap::from([("Stop".to_owned(), vec![Hook::default()])]);
        assert_eq!(Hooks::unknown(&hooks), Some("Stop"));
        assert_eq!(Hooks::unreadable(&hooks), None);
        let broken = Hook { matcher: Some("Edit(".to_owned()), ..Hook::default() };
        let hooks = BTreeMap::from([("PreToolUse".to_owned(), vec![broken])]);
        assert_eq!(Hooks::unreadable(&hooks), Some("Edit("));
    }
}
