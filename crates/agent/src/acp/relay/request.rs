//! A question as the request that asks an editor. What is shown is what will be answered: it is made of the question itself, or
//! of the request that the question was made of.

use crate::model::{Choice, Effect, Meaning, Question};
use serde_json::{Value, json};

/// The parameters of the request, without the session.
pub(super) fn of(question: &Question<'_>) -> Value {
    let Some(mut own) = question.request.as_deref().filter(|own| is_of(own, question)).cloned()
    else {
        return json!({ "toolCall": call_of(question), "options": options(question) });
    };
    // What cannot be answered is not offered.
    match own["options"].as_array_mut() {
        Some(offered) => offered.retain(|option| {
            let id = option["optionId"].as_str();
            id.is_some_and(|id| question.options.iter().any(|option| option.id == *id))
        }),
        None => own["options"] = options(question),
    }
    if let Some(params) = own.as_object_mut() {
        params.remove("sessionId");
    }
    own
}

/// Whether a request is about the call that the question is about.
fn is_of(request: &Value, question: &Question<'_>) -> bool {
    let id = request["toolCall"]["toolCallId"].as_str();
    id.is_some() && id == question.tool_id.as_ref().map(|id| id.to_str()).as_deref()
}

fn call_of(question: &Question<'_>) -> Value {
    let id = question.tool_id.as_ref().unwrap_or(&question.id).to_str();
    let name = question.tool.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut call = call(&id, &name, question.meaning.as_deref());
    if question.meaning.is_none() {
        call["title"] = json!(question.text);
    }
    call["status"] = json!("pending");
    call
}

/// What can be answered. The protocol has no place for words with an answer.
fn options(question: &Question<'_>) -> Value {
    let option = |option: &Choice<'_>| {
        let kind = effect(option.effect)?;
        Some(json!({ "optionId": option.id, "name": option.label, "kind": kind }))
    };
    question.options.iter().filter_map(option).collect()
}

/// What a choice does, in the protocol's words, which knows yes and no only. A choice among things is a yes to that one.
fn effect(effect: Effect) -> Option<&'static str> {
    match effect {
        Effect::AllowOnce | Effect::Other => Some("allow_once"),
        Effect::AllowAlways => Some("allow_always"),
        Effect::RejectOnce => Some("reject_once"),
        Effect::RejectAlways => Some("reject_always"),
        Effect::Words => None,
    }
}

/// The beginning of a call, as an update tells it.
pub(super) fn call(id: &str, name: &str, meaning: Option<&Meaning>) -> Value {
    let (kind, title, shown) = match meaning {
        Some(Meaning::Command { command, .. }) => ("execute", command.as_str(), None),
        Some(Meaning::Mutation { path, diff, .. }) => ("edit", path.as_str(), diff.as_ref()),
        Some(Meaning::Card { title, .. }) => ("search", title.as_str(), None),
        Some(Meaning::Diff { diff, .. }) => ("edit", name, Some(diff)),
        None => ("other", name, None),
    };
    let mut call = json!({
        "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": kind, "status": "in_progress",
    });
    if let Some(diff) = shown {
        call["content"] = content(&format!("```diff\n{diff}\n```"));
    }
    call
}

pub(super) fn content(text: &str) -> Value {
    json!([{ "type": "content", "content": { "type": "text", "text": text } }])
}
