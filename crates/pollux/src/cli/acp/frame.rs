//! One line of an editor as a message of JSON-RPC, or as what is wrong with it. Pure.

use serde_json::{Map, Value};

/// JSON-RPC's code for what is no JSON.
const NO_JSON: i64 = -32700;
/// JSON-RPC's code for JSON that is no message.
const NO_MESSAGE: i64 = -32600;
/// JSON-RPC's code for a method that is not there.
pub(super) const NO_METHOD: i64 = -32601;
/// JSON-RPC's code for wrong parameters.
pub(super) const BAD_PARAMS: i64 = -32602;

/// What an editor asks, or tells.
#[derive(Debug, PartialEq)]
pub(super) struct Call {
    /// None where no answer is wanted.
    pub(super) id: Option<Value>,
    pub(super) method: String,
    pub(super) params: Value,
}

/// What a line is.
#[derive(Debug, PartialEq)]
pub(super) enum Frame {
    Call(Call),
    /// An answer to a request of ours; null where it is an error.
    Answer {
        id: Value,
        result: Value,
    },
    /// No message: what is answered to it, with the id as far as it is known.
    Wrong {
        id: Value,
        code: i64,
        message: &'static str,
    },
}

impl Frame {
    /// Reads one line; none where it is empty.
    pub(super) fn read(line: &str) -> Option<Self> {
        if line.trim().is_empty() {
            return None;
        }
        let wrong = |code, message| Self::Wrong { id: Value::Null, code, message };
        Some(match serde_json::from_str(line) {
            Ok(Value::Object(json)) => Self::of(json),
            Ok(Value::Array(_)) => {
                wrong(NO_MESSAGE, "batches are not supported: send one message on each line")
            }
            Ok(_) => wrong(NO_MESSAGE, "a message must be an object"),
            Err(_) => wrong(NO_JSON, "the line is not JSON"),
        })
    }

    fn of(mut json: Map<String, Value>) -> Self {
        let id = json.remove("id");
        let known = id.clone().filter(is_id).unwrap_or_default();
        let wrong = |code, message| Self::Wrong { id: known.clone(), code, message };
        // Some leave it out, and mean the same.
        if json.get("jsonrpc").is_some_and(|version| version != "2.0") {
            return wrong(NO_MESSAGE, "`jsonrpc` must be \"2.0\"");
        }
        let method = match json.remove("method") {
            Some(Value::String(method)) => method,
            Some(_) => return wrong(NO_MESSAGE, "`method` must be a string"),
            // Nobody answers an answer.
            None if json.contains_key("result") || json.contains_key("error") => {
                let result = json.remove("result").unwrap_or_default();
                return Self::Answer { id: known, result };
            }
            None => return wrong(NO_MESSAGE, "`method` is missing"),
        };
        if id.as_ref().is_some_and(|id| !is_id(id)) {
            return wrong(NO_MESSAGE, "`id` must be a string or a number");
        }
        // What is only told is told, whatever stands for its id.
        let id = id.filter(|id| !(id.is_null() && is_told(&method)));
        let params = json.remove("params").unwrap_or_default();
        match (wrong_params(&method, &params), id) {
            (Some(message), Some(_)) => wrong(BAD_PARAMS, message),
            (_, id) => Self::Call(Call { id, method, params }),
        }
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_number() || id.is_null()
}

/// True for a notification, which has no answer.
fn is_told(method: &str) -> bool {
    method == "session/cancel" || method.starts_with("$/")
}

/// What is wrong with the parameters of a request, as far as that can be seen without doing it.
fn wrong_params(method: &str, params: &Value) -> Option<&'static str> {
    if !matches!(params, Value::Null | Value::Object(_) | Value::Array(_)) {
        return Some("`params` must be an object");
    }
    let opens =
        matches!(method, "session/new" | "session/load" | "session/resume" | "session/fork");
    let about = (opens && method != "session/new")
        || matches!(method, "session/prompt" | "session/set_mode" | "session/set_model")
        || matches!(method, "session/set_config_option" | "session/close");
    let text = |name: &str| params[name].as_str();
    let wrong = |holds: bool, message| (!holds).then_some(message);
    let path = text("cwd").is_some_and(|cwd| cwd.starts_with('/'));
    let checks = [
        wrong(!about || text("sessionId").is_some(), "`sessionId` must be a session ID"),
        wrong(!opens || path, "`cwd` must be an absolute path"),
        wrong(
            !opens || matches!(&params["mcpServers"], Value::Null | Value::Array(_)),
            "`mcpServers` must be an array",
        ),
        wrong(
            method != "session/prompt" || params["prompt"].is_array(),
            "`prompt` must be an array of blocks",
        ),
        wrong(
            method != "session/set_mode" || text("modeId").is_some(),
            "`modeId` must be a mode ID",
        ),
        wrong(
            method != "session/set_model" || text("modelId").is_some(),
            "`modelId` must be a model ID",
        ),
        wrong(
            method != "session/set_config_option" || text("configId").is_some(),
            "`configId` must be an option ID",
        ),
        wrong(
            method != "authenticate" || text("methodId").is_some(),
            "`methodId` must be a sign-in method ID",
        ),
    ];
    checks.into_iter().flatten().next()
}

#[cfg(test)]
mod tests {
    use super::{Call, Frame};
    use serde_json::{Value, json};

    /// The id and the code that a line is answered with; none where it is a message.
    fn wrong(line: &str) -> Option<(Value, i64)> {
        match Frame::read(line) {
            Some(Frame::Wrong { id, code, .. }) => Some((id, code)),
            _ => None,
        }
    }

    #[test]
    fn what_is_no_message_is_answered_as_the_specification_says() {
        let none = Value::Null;
        assert_eq!(wrong("{\"jsonrpc\":\"2.0\",\"id\":1"), Some((none.clone(), -32700)));
        assert_eq!(wrong("hello"), Some((none.clone(), -32700)));
        for no_message in ["17", "null", "\"x\"", "[]", "[1]", "{}", r#"{"foo":"boo"}"#] {
            assert_eq!(wrong(no_message), Some((none.clone(), -32600)), "{no_message}");
        }
        let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"initialize"}]"#;
        assert_eq!(wrong(batch), Some((none.clone(), -32600)));
        assert_eq!(wrong(r#"{"id":7}"#), Some((json!(7), -32600)));
        assert_eq!(wrong(r#"{"id":"a","method":1}"#), Some((json!("a"), -32600)));
        assert_eq!(wrong(r#"{"id":[1],"method":"initialize"}"#), Some((none, -32600)));
        let old = r#"{"jsonrpc":"1.0","id":7,"method":"initialize"}"#;
        assert_eq!(wrong(old), Some((json!(7), -32600)));
        assert!(Frame::read("  ").is_none());
    }

    #[test]
    fn wrong_parameters_of_a_request_are_answered_and_those_of_a_notification_are_not() {
        let cases = [
            ("session/new", json!({})),
            ("session/new", json!({ "cwd": "here" })),
            ("session/new", json!({ "cwd": "/here", "mcpServers": {} })),
            ("session/load", json!({ "cwd": "/here" })),
            ("session/prompt", json!({ "sessionId": "s", "prompt": "words" })),
            ("session/prompt", json!(["s"])),
            ("session/set_mode", json!({ "sessionId": "s" })),
            ("session/close", json!({ "sessionId": 7 })),
            ("authenticate", json!({})),
            ("initialize", json!("x")),
        ];
        for (method, params) in cases {
            let mut line = json!({ "id": 7, "method": method, "params": params });
            assert_eq!(wrong(&line.to_string()), Some((json!(7), -32602)), "{line}");
            line.as_object_mut().unwrap().remove("id");
            assert_eq!(wrong(&line.to_string()), None, "{line}");
        }
    }

    #[test]
    fn what_is_only_told_wants_no_answer_and_answers_are_not_answered() {
        let told = r#"{"id":null,"method":"session/cancel","params":{"sessionId":"s"}}"#;
        let Some(Frame::Call(Call { id: None, .. })) = Frame::read(told) else { panic!("{told}") };
        // The specification knows it as a request.
        let asked = r#"{"id":null,"method":"initialize"}"#;
        let Some(Frame::Call(Call { id: Some(Value::Null), .. })) = Frame::read(asked) else {
            panic!("{asked}")
        };
        for (answer, result) in [
            (r#"{"id":"pollux-1","result":{"a":1}}"#, json!({ "a": 1 })),
            (r#"{"id":"pollux-1","error":{"code":1}}"#, Value::Null),
        ] {
            let id = json!("pollux-1");
            assert_eq!(Frame::read(answer), Some(Frame::Answer { id, result }));
        }
    }
}
