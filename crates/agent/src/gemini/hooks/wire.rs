//! Their words: what the CLI tells a hook, under its own names.

use super::super::loose::loose_object;
use serde_json::value::RawValue;

/// A value that is looked at later, if at all. `null` is none.
pub(super) type Json<'a> = Option<&'a RawValue>;

loose_object! {
    /// What every event has, and what some have.
    Payload {
        "session_id" => session_id: Json<'a>,
        "hook_event_name" => hook_event_name: Json<'a>,
        "timestamp" => timestamp: Json<'a>,
        "source" => source: Json<'a>,
        "reason" => reason: Json<'a>,
        "prompt" => prompt: Json<'a>,
        "tool_name" => tool_name: Json<'a>,
        "tool_input" => tool_input: Json<'a>,
        "tool_response" => tool_response: Json<'a>,
        "notification_type" => notification_type: Json<'a>,
        "message" => message: Json<'a>,
        "details" => details: Json<'a>,
    }
}

loose_object! {
    /// What a tool gave back: to the model, and for a person to see.
    Response {
        "llmContent" => llm_content: Json<'a>,
        "returnDisplay" => return_display: Json<'a>,
        "error" => error: Json<'a>,
    }
}

loose_object! {
    /// An error with a message.
    Wrong {
        "message" => message: Json<'a>,
    }
}

loose_object! {
    /// What the agent asks permission for.
    Details {
        "type" => kind: Json<'a>,
        "title" => title: Json<'a>,
        "command" => command: Json<'a>,
        "filePath" => file_path: Json<'a>,
        "fileDiff" => file_diff: Json<'a>,
        "toolName" => tool_name: Json<'a>,
        "toolDisplayName" => tool_display_name: Json<'a>,
        "prompt" => prompt: Json<'a>,
        "urls" => urls: Json<'a>,
    }
}

loose_object! {
    /// How a payload is handed over: with the name of the event and the key of a session that has no id yet.
    Frame {
        "event" => event: Json<'a>,
        "key" => key: Json<'a>,
        "payload" => payload: Json<'a>,
    }
}
