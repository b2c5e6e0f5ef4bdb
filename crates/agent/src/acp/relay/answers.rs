//! Answers to an editor: what we are, what a session offers, and how a turn ended.

use super::super::about::{About, Opened};
use super::super::config::{McpServer, Transport, Variable};
use super::tokens;
use crate::model::{Mode, StopReason, Usage};
use serde_json::{Value, json};

/// The answer to `initialize`: the agent's own, with what we add. `store` is true where sessions can be listed, resumed and
/// forked by us.
pub fn about(about: &About, store: bool) -> Value {
    let mut answer: Value = serde_json::from_str(about.original.get()).unwrap_or_default();
    if !answer.is_object() {
        answer = json!({});
    }
    answer["protocolVersion"] = json!(1);
    if !answer["agentCapabilities"].is_object() {
        answer["agentCapabilities"] = json!({});
    }
    let can = &mut answer["agentCapabilities"];
    // What the agent itself may have beyond that does not go through us.
    can["sessionCapabilities"] = json!({ "close": {} });
    if store {
        can["loadSession"] = json!(true);
        for ability in ["list", "resume", "fork"] {
            can["sessionCapabilities"][ability] = json!({});
        }
    }
    let name = about.name.as_deref().unwrap_or("an agent");
    let title = format!("Pollux, with {name}");
    answer["agentInfo"] =
        json!({ "name": "pollux", "title": title, "version": env!("CARGO_PKG_VERSION") });
    answer
}

/// The answer to what opened a session: its modes, and its models as the option that the protocol has for them today, beside
/// the older form.
pub fn opened(opened: &Opened, with_id: bool) -> Value {
    let mut answer: Value = serde_json::from_str(opened.original.get()).unwrap_or_default();
    if !answer.is_object() {
        answer = json!({});
    }
    if with_id {
        answer["sessionId"] = json!(opened.session_id);
    } else if let Some(members) = answer.as_object_mut() {
        members.remove("sessionId");
    }
    rename_modes(&mut answer);
    if !opened.models.is_empty() && answer.get("configOptions").is_none() {
        answer["configOptions"] = json!([models(opened, opened.model.as_deref())]);
    }
    answer
}

/// Gives the modes of an answer the names that `current_mode_update` tells. One that has none, or odd ones, stays as it is.
fn rename_modes(answer: &mut Value) {
    if let Some(now) = answer.pointer_mut("/modes/currentModeId") {
        rename(now);
    }
    let offered = answer.pointer_mut("/modes/availableModes").and_then(Value::as_array_mut);
    offered.into_iter().flatten().filter_map(|mode| mode.get_mut("id")).for_each(rename);
}

/// Gives a mode the name that editors know, where we have a word for it.
pub(super) fn rename(id: &mut Value) {
    if let Some(mode) = id.as_str().and_then(Mode::named) {
        *id = json!(mode.upstream());
    }
}

/// The models of a session as an option.
pub fn models(opened: &Opened, now: Option<&str>) -> Value {
    let option =
        |model: &super::super::about::Named| json!({ "value": model.id, "name": model.name });
    json!({
        "id": "model",
        "name": "Model",
        "category": "model",
        "type": "select",
        "currentValue": now.unwrap_or_default(),
        "options": opened.models.iter().map(option).collect::<Vec<_>>(),
    })
}

/// The answer to a prompt.
pub fn stopped(reason: StopReason, usage: Usage) -> Value {
    let reason = match reason {
        StopReason::EndTurn | StopReason::Error => "end_turn",
        StopReason::Cancelled | StopReason::Timeout => "cancelled",
        StopReason::MaxTurns => "max_turn_requests",
    };
    json!({ "stopReason": reason, "usage": tokens(usage) })
}

/// How full the model's window is.
pub fn used(last: Usage, size: u64) -> Value {
    json!({ "sessionUpdate": "usage_update", "used": last.total_tokens, "size": size })
}

/// The MCP servers that an editor wants to be used.
pub fn servers(json: &Value) -> Vec<McpServer> {
    let pairs = |value: &Value| -> Vec<Variable> {
        let pair = |pair: &Value| {
            let text = |name: &str| pair[name].as_str().map(str::to_owned);
            Some(Variable { name: text("name")?, value: text("value")? })
        };
        value.as_array().into_iter().flatten().filter_map(pair).collect()
    };
    let server = |server: &Value| {
        let name = server["name"].as_str()?.to_owned();
        let transport = match server["type"].as_str() {
            Some("http") => Transport::Http,
            Some("sse") => Transport::Sse,
            _ => {
                let args = server["args"].as_array().into_iter().flatten();
                return Some(McpServer::Stdio {
                    name,
                    command: server["command"].as_str()?.into(),
                    args: args.filter_map(Value::as_str).map(str::to_owned).collect(),
                    env: pairs(&server["env"]),
                });
            }
        };
        let url = server["url"].as_str()?.to_owned();
        Some(McpServer::Remote { transport, name, url, headers: pairs(&server["headers"]) })
    };
    json.as_array().into_iter().flatten().filter_map(server).collect()
}
