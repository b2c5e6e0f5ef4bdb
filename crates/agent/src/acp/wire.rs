//! The words of the Agent Client Protocol as they come in, read without conditions: a field of the wrong type is
//! missing, not an error, and a message that is not known is kept with its text. Pure.

use crate::loose::{List, Loose, Mend, loose_object};
use crate::model::Text;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Raw JSON that may be missing.
pub(crate) type Json<'a> = Option<&'a RawValue>;

/// The id of a message. `null` is one too, where somebody has written it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Id<'a>(Json<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for Id<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&'a RawValue>::deserialize(deserializer).map(|raw| Self(Some(raw)))
    }
}

impl<'a> Mend<'a> for Id<'a> {
    fn mend(raw: &'a RawValue) -> Self {
        Self(Some(raw))
    }
}

loose_object! {
    /// One line: JSON-RPC 2.0.
    Row {
        "id" => id: Id<'a>,
        "method" => method: Json<'a>,
        "params" => params: Json<'a>,
        "result" => result: Json<'a>,
        "error" => error: Json<'a>,
    }
}

loose_object! {
    /// An error that answers a request.
    Wrong {
        "code" => code: Json<'a>,
        "message" => message: Json<'a>,
        "data" => data: Json<'a>,
    }
}

loose_object! {
    /// The parameters of what an agent asks and tells.
    Params {
        "sessionId" => session_id: Json<'a>,
        "update" => update: Json<'a>,
        "toolCall" => tool_call: Json<'a>,
        "options" => options: List<Offer<'a>>,
        "path" => path: Json<'a>,
        "content" => content: Json<'a>,
        "line" => line: Json<'a>,
        "limit" => limit: Json<'a>,
        "terminalId" => terminal_id: Json<'a>,
        "command" => command: Json<'a>,
        "args" => args: Json<'a>,
        "env" => env: List<Named<'a>>,
        "cwd" => cwd: Json<'a>,
        "outputByteLimit" => output_byte_limit: Json<'a>,
    }
}

loose_object! {
    /// `options[]` of a permission request.
    Offer {
        "optionId" => id: Json<'a>,
        "name" => name: Json<'a>,
        "kind" => kind: Json<'a>,
    }
}

loose_object! {
    /// A name with a value.
    Named {
        "name" => name: Json<'a>,
        "value" => value: Json<'a>,
    }
}

loose_object! {
    /// `update` of `session/update`, whichever it is.
    Update {
        "sessionUpdate" => kind: Json<'a>,
        "content" => content: Json<'a>,
        "messageId" => message_id: Json<'a>,
        "currentModeId" => mode: Json<'a>,
        "title" => title: Json<'a>,
    }
}

loose_object! {
    /// A call, in an update or in a permission request.
    ToolCall {
        "toolCallId" => id: Json<'a>,
        "title" => title: Json<'a>,
        "kind" => kind: Json<'a>,
        "status" => status: Json<'a>,
        "content" => content: List<Piece<'a>>,
        "rawInput" => raw_input: Json<'a>,
    }
}

loose_object! {
    /// `content[]` of a call, and the block inside.
    Piece {
        "type" => kind: Json<'a>,
        "content" => content: Json<'a>,
        "text" => text: Json<'a>,
        "path" => path: Json<'a>,
        "oldText" => old_text: Json<'a>,
        "newText" => new_text: Json<'a>,
    }
}

/// What one line is.
#[derive(Debug)]
pub(crate) enum Frame<'a> {
    /// An answer to a request of ours.
    Response {
        /// The id, as it was written.
        id: &'a RawValue,
        /// What was answered.
        outcome: Result<Json<'a>, RpcError<'a>>,
    },
    /// The agent wants something.
    Request {
        /// The id, as it was written.
        id: &'a RawValue,
        /// What it wants.
        method: Cow<'a, str>,
        /// Of whom.
        params: Json<'a>,
    },
    /// The agent tells something.
    Notification {
        /// What.
        method: Cow<'a, str>,
        /// About whom.
        params: Json<'a>,
    },
}

/// An error that answers a request.
#[derive(Debug, Clone)]
pub struct RpcError<'a> {
    /// The number.
    pub code: i64,
    /// The words.
    pub message: Cow<'a, str>,
    /// What the agent adds.
    pub data: Option<&'a RawValue>,
    /// The whole error, as it was written.
    pub whole: &'a RawValue,
}

impl<'a> Frame<'a> {
    /// Reads one line. What is no message of JSON-RPC has a reason instead.
    pub(crate) fn read(line: &'a str) -> Result<Self, &'static str> {
        let row: Row<'a> = match serde_json::from_str(line) {
            Ok(row) => row,
            Err(_) if line.trim_start().starts_with('{') => {
                return Err("the line is incomplete JSON");
            }
            Err(_) => return Err("the line is not JSON"),
        };
        if !row.read {
            return Err("the line is not a JSON-RPC message");
        }
        match (text(row.method), row.id.0) {
            // What is only told is told, whatever stands for its id.
            (Some(method), Some(id)) if id.get() == "null" && !wants_answer(&method) => {
                Ok(Self::Notification { method, params: row.params })
            }
            (Some(method), Some(id)) => Ok(Self::Request { id, method, params: row.params }),
            (Some(method), None) => Ok(Self::Notification { method, params: row.params }),
            (None, Some(id)) => Ok(Self::Response { id, outcome: outcome(&row) }),
            (None, None) => Err("the line is neither a request nor a response"),
        }
    }
}

/// Whether an agent that says this waits for an answer.
fn wants_answer(method: &str) -> bool {
    method == "session/request_permission"
        || method.starts_with("fs/")
        || method.starts_with("terminal/")
}

fn outcome<'a>(row: &Row<'a>) -> Result<Json<'a>, RpcError<'a>> {
    let Some(whole) = row.error else { return Ok(row.result) };
    let wrong: Wrong<'a> = object(Some(whole));
    Err(RpcError {
        code: number(wrong.code).unwrap_or(0),
        message: text(wrong.message).unwrap_or_default(),
        data: wrong.data,
        whole,
    })
}

/// The text of a JSON string.
pub(crate) fn text(json: Json<'_>) -> Option<Cow<'_, str>> {
    let raw = json?;
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    Text::from_raw(raw).map(|text| Cow::Owned(text.to_str().into_owned()))
}

/// The number of a request of ours, in an answer to it. Some languages write it as text, or with a fraction.
pub(crate) fn request_number(id: &RawValue) -> Option<u64> {
    let id = id.get();
    let id = id.strip_prefix('"').and_then(|id| id.strip_suffix('"')).unwrap_or(id);
    id.strip_suffix(".0").unwrap_or(id).parse().ok()
}

/// A whole number.
pub(crate) fn number(json: Json<'_>) -> Option<i64> {
    json.and_then(|raw| raw.get().parse().ok())
}

/// An object, read by its known keys; empty where something else stands.
pub(crate) fn object<'a, T: Loose + Deserialize<'a> + Default>(json: Json<'a>) -> T {
    let read = json.and_then(|raw| serde_json::from_str(raw.get()).ok());
    read.filter(Loose::is_object).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Frame;

    #[test]
    fn a_line_is_a_request_an_answer_a_notification_or_noise() {
        assert!(matches!(Frame::read(r#"{"id":"a","method":"x"}"#), Ok(Frame::Request { .. })));
        assert!(matches!(Frame::read(r#"{"method":"x"}"#), Ok(Frame::Notification { .. })));
        assert!(matches!(
            Frame::read(r#"{"id":1,"result":null}"#),
            Ok(Frame::Response { outcome: Ok(None), .. })
        ));
        for noise in ["17", "[]", "null", "Loaded cached credentials.", "{\"id\":1", "{}", ""] {
            assert!(Frame::read(noise).is_err(), "{noise}");
        }
    }

    #[test]
    fn an_error_of_a_wrong_shape_is_an_error_all_the_same() {
        let Ok(Frame::Response { outcome: Err(error), .. }) =
            Frame::read(r#"{"id":1,"error":"no"}"#)
        else {
            panic!("an answer")
        };
        assert_eq!((error.code, error.whole.get()), (0, "\"no\""));
    }
}
