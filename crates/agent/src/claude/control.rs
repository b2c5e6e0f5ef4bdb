//! The control protocol that Claude's SDKs speak with the program that they start: one JSON object on each line, both
//! ways. Pure: lines in, what they ask for out, and the lines that answer them.
//!
//! ```
//! use pollux_agent::claude::control::{Ask, Line};
//!
//! let line = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"set_model","model":"pro"}}"#;
//! let Line::Asked { id, ask: Ask::SetModel(Some(model)) } = Line::read(line) else { panic!() };
//! assert_eq!((id.as_str(), model.as_str()), ("r1", "pro"));
//! ```

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// One line of whoever drives us.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// A prompt.
    User(User),
    /// A request, which is to be answered once.
    Asked {
        /// Its id.
        id: String,
        /// What is asked.
        ask: Ask,
    },
    /// The answer to a request of ours, or why there is none.
    Answered {
        /// The id of our request.
        id: String,
        /// The answer.
        outcome: Result<Value, String>,
    },
    /// A request is not to be answered any more.
    Withdrawn {
        /// Its id.
        id: String,
    },
    /// A sign of life, and what else needs no answer.
    Idle,
    /// A line that is none of those: why.
    Unread(String),
}

/// A prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct User {
    /// Its blocks, in the words of the Agent Client Protocol.
    pub blocks: Vec<Value>,
    /// The kinds of blocks that have no counterpart there.
    pub left_out: Vec<String>,
    /// The name that the sender gave it.
    pub uuid: Option<String>,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// The first request: what the caller brings along.
    Initialize(Box<Start>),
    /// The turn shall stop.
    Interrupt,
    /// Another mode, by Claude's name.
    SetMode(String),
    /// Another model; none for the one that it began with.
    SetModel(Option<String>),
    /// Which MCP servers there are.
    McpStatus,
    /// What an MCP server in the caller's process says by itself.
    Mcp {
        /// Its name.
        server: String,
        /// What it says.
        message: Value,
    },
    /// Which models there are.
    Models,
    /// Which version this is.
    Version,
    /// Anything else, by its name.
    Other(String),
}

/// What the caller brings along.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Start {
    /// The system prompt, where it is one of the caller's own.
    pub system_prompt: Option<String>,
    /// What is added to the system prompt.
    pub append: Option<String>,
    /// The hooks that it wants to be called at, by the name of the event.
    pub hooks: BTreeMap<String, Vec<Hook>>,
    /// The MCP servers that live in its own process.
    pub servers: Vec<String>,
    /// What it brings along that is not known here, by name.
    pub other: Vec<String>,
}

/// Functions of the caller that are called at an event.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hook {
    /// Which tools it is about; all of them where there is none.
    pub matcher: Option<String>,
    /// The names of the functions.
    pub callbacks: Vec<String>,
}

impl Line {
    /// Reads one line.
    pub fn read(line: &str) -> Self {
        let Ok(json) = serde_json::from_str::<Value>(line) else {
            return Self::Unread("the line is not JSON".to_owned());
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match json["type"].as_str() {
            Some("user") => Self::User(User::read(&json)),
            Some("control_request") => {
                Self::Asked { id: text(&json["request_id"]), ask: Ask::read(&json["request"]) }
            }
            Some("control_response") => {
                let response = &json["response"];
                let outcome = match response["subtype"].as_str() {
                    Some("success") => Ok(response["response"].clone()),
                    _ => Err(text(&response["error"])),
                };
                Self::Answered { id: text(&response["request_id"]), outcome }
            }
            Some("control_cancel_request") => Self::Withdrawn { id: text(&json["request_id"]) },
            Some("keep_alive" | "update_environment_variables") => Self::Idle,
            Some(other) => Self::Unread(format!("unknown line type `{other}`")),
            None => Self::Unread("the line has no type".to_owned()),
        }
    }
}

impl User {
    fn read(json: &Value) -> Self {
        let mut user = Self { uuid: json["uuid"].as_str().map(str::to_owned), ..Self::default() };
        match &json["message"]["content"] {
            Value::String(text) => user.blocks.push(json!({ "type": "text", "text": text })),
            Value::Array(blocks) => blocks.iter().for_each(|block| user.add(block)),
            _ => {}
        }
        user
    }

    fn add(&mut self, block: &Value) {
        let kind = block["type"].as_str().unwrap_or_default();
        let source = &block["source"];
        match (kind, source["type"].as_str()) {
            ("text", _) => self.blocks.push(json!({ "type": "text", "text": block["text"] })),
            ("image", Some("base64")) => self.blocks.push(json!({
                "type": "image",
                "mimeType": source["media_type"],
                "data": source["data"],
            })),
            ("document", Some("text")) => {
                self.blocks.push(json!({ "type": "text", "text": source["data"] }));
            }
            (kind, _) => self.left_out.push(kind.to_owned()),
        }
    }
}

impl Ask {
    fn read(json: &Value) -> Self {
        let text = |name: &str| json[name].as_str().map(str::to_owned);
        match json["subtype"].as_str().unwrap_or_default() {
            "initialize" => Self::Initialize(Box::new(Start::read(json))),
            "interrupt" => Self::Interrupt,
            "set_permission_mode" => Self::SetMode(text("mode").unwrap_or_default()),
            "set_model" => Self::SetModel(text("model").filter(|model| model != "default")),
            "mcp_status" => Self::McpStatus,
            "mcp_message" => Self::Mcp {
                server: text("server_name").unwrap_or_default(),
                message: json["message"].clone(),
            },
            "list_models" => Self::Models,
            "get_binary_version" => Self::Version,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl Start {
    /// The members of the request that are read here, or that say nothing an agent could do differently.
    const KNOWN: [&str; 15] = [
        "subtype",
        "hooks",
        "sdkMcpServers",
        "sdkMcpServerConfigs",
        "sdkMcpServerManifests",
        "sdkMcpServerManifestsOrigin",
        "systemPrompt",
        "systemPromptSnapshot",
        "appendSystemPrompt",
        "excludeDynamicSections",
        "promptSuggestions",
        "agentProgressSummaries",
        "supportedDialogKinds",
        "perTaskStopAffordance",
        "title",
    ];

    fn read(json: &Value) -> Self {
        let lines = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Array(parts) => {
                parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
            }
            _ => String::new(),
        };
        let said = |value: &Value| Some(lines(value)).filter(|text| !text.trim().is_empty());
        let names = |value: &Value| -> Vec<String> {
            let all = value.as_array().into_iter().flatten();
            all.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let hook = |hook: &Value| Hook {
            matcher: hook["matcher"].as_str().map(str::to_owned),
            callbacks: names(&hook["hookCallbackIds"]),
        };
        let hooks = json["hooks"].as_object().into_iter().flatten();
        let given = json.as_object().into_iter().flatten();
        let given = given.filter(|(_, value)| !is_nothing(value)).map(|(name, _)| name.clone());
        Self {
            system_prompt: said(&json["systemPrompt"]),
            append: said(&json["appendSystemPrompt"]),
            hooks: hooks
                .map(|(event, of)| {
                    let of = of.as_array().into_iter().flatten();
                    (event.clone(), of.map(hook).collect())
                })
                .collect(),
            servers: names(&json["sdkMcpServers"]),
            other: given.filter(|name| !Self::KNOWN.contains(&name.as_str())).collect(),
        }
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Object(members) => members.is_empty(),
        Value::Array(members) => members.is_empty(),
        _ => false,
    }
}

/// The line that answers a request.
pub fn answered(id: &str, response: &Value) -> Value {
    json!({
        "type": "control_response",
        "response": { "subtype": "success", "request_id": id, "response": response },
    })
}

/// The line that turns a request down.
pub fn refused(id: &str, why: &str) -> Value {
    json!({
        "type": "control_response",
        "response": { "subtype": "error", "request_id": id, "error": why },
    })
}

/// A request of ours.
pub fn request(id: &str, request: &Value) -> Value {
    json!({ "type": "control_request", "request_id": id, "request": request })
}

/// Takes a request of ours back.
pub fn withdrawn(id: &str) -> Value {
    json!({ "type": "control_cancel_request", "request_id": id })
}
