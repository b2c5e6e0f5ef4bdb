//! The fields that Claude's types demand although there is nothing to say in them. Pure.

use super::row::Tokens;
use serde_json::{Value, json};

/// Tokens of a message.
pub(super) fn usage(tokens: Tokens) -> Value {
    let mut usage = delta(tokens);
    for name in ["cache_creation", "inference_geo", "service_tier", "speed"] {
        usage[name] = Value::Null;
    }
    usage
}

/// Tokens of a message that grows.
pub(super) fn delta(tokens: Tokens) -> Value {
    let mut usage = serde_json::to_value(tokens).unwrap_or_default();
    for name in ["fallback_credit", "iterations", "output_tokens_details", "server_tool_use"] {
        usage[name] = Value::Null;
    }
    usage
}

/// Tokens of a turn. Here nothing may be missing.
pub(super) fn total(tokens: Tokens, thoughts: u64) -> Value {
    let mut usage = serde_json::to_value(tokens).unwrap_or_default();
    usage["cache_creation"] =
        json!({ "ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0 });
    usage["fallback_credit"] = Value::Null;
    usage["inference_geo"] = json!("");
    usage["iterations"] = json!([]);
    usage["output_tokens_details"] = json!({ "thinking_tokens": thoughts });
    usage["server_tool_use"] = json!({ "web_search_requests": 0, "web_fetch_requests": 0 });
    usage["service_tier"] = json!("standard");
    usage["speed"] = json!("standard");
    usage
}

/// Completes a message of the model.
pub(super) fn message(mut message: Value, tokens: Tokens) -> Value {
    for name in ["container", "context_management", "diagnostics", "stop_details"] {
        message[name] = Value::Null;
    }
    message["usage"] = usage(tokens);
    for block in message["content"].as_array_mut().into_iter().flatten() {
        if block["type"] == "text" {
            block["citations"] = Value::Null;
        }
    }
    message
}
