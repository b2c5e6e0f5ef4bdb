//! What an agent says about itself and about a session: read loosely, kept whole.

use super::wire::{Json, object, text};
use crate::loose::{List, loose_object};
use crate::model::Mode;
use serde::Serialize;
use serde_json::value::RawValue;

loose_object! {
    /// The answer to `initialize`.
    Hello {
        "protocolVersion" => protocol: Json<'a>,
        "agentInfo" => info: Option<Info<'a>>,
        "authMethods" => auth: List<Method<'a>>,
        "agentCapabilities" => can: Option<Can<'a>>,
    }
}

loose_object! {
    /// `agentInfo`.
    Info {
        "name" => name: Json<'a>,
        "title" => title: Json<'a>,
        "version" => version: Json<'a>,
    }
}

loose_object! {
    /// `authMethods[]`.
    Method {
        "id" => id: Json<'a>,
        "name" => name: Json<'a>,
    }
}

loose_object! {
    /// `agentCapabilities`.
    Can {
        "loadSession" => load: Json<'a>,
        "promptCapabilities" => prompt: Option<Prompts<'a>>,
        "mcpCapabilities" => mcp: Option<Mcp<'a>>,
    }
}

loose_object! {
    /// `promptCapabilities`.
    Prompts {
        "image" => image: Json<'a>,
        "audio" => audio: Json<'a>,
        "embeddedContext" => embedded: Json<'a>,
    }
}

loose_object! {
    /// `mcpCapabilities`.
    Mcp {
        "http" => http: Json<'a>,
        "sse" => sse: Json<'a>,
    }
}

loose_object! {
    /// The answer to `session/new` and `session/load`.
    Opening {
        "sessionId" => session_id: Json<'a>,
        "modes" => modes: Option<Modes<'a>>,
        "models" => models: Option<Models<'a>>,
    }
}

loose_object! {
    /// `modes`.
    Modes {
        "availableModes" => available: List<Method<'a>>,
        "currentModeId" => current: Json<'a>,
    }
}

loose_object! {
    /// `models`, which the published schema has dropped and Gemini CLI has not.
    Models {
        "availableModels" => available: List<Model<'a>>,
        "currentModelId" => current: Json<'a>,
    }
}

loose_object! {
    /// `availableModels[]`.
    Model {
        "modelId" => id: Json<'a>,
        "name" => name: Json<'a>,
    }
}

/// What an agent says about itself.
#[derive(Debug, Clone, Serialize)]
pub struct About {
    /// The version of the protocol that it speaks.
    pub protocol: i64,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The ways to sign in.
    pub auth: Vec<Named>,
    /// What it can do.
    pub can: Abilities,
    /// Its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// The answer to `initialize`, as it was.
    #[serde(rename = "_original")]
    pub original: Box<RawValue>,
}

/// What an agent can do.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word of the protocol")]
pub struct Abilities {
    /// Load a session.
    pub load: bool,
    /// Take pictures in a prompt.
    pub image: bool,
    /// Take sound in a prompt.
    pub audio: bool,
    /// Take files in a prompt.
    pub embedded: bool,
    /// Use MCP servers over HTTP.
    pub mcp_http: bool,
    /// Use MCP servers over server-sent events.
    pub mcp_sse: bool,
}

/// Something with an id and a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Named {
    /// Its id.
    pub id: String,
    /// What a person reads.
    pub name: String,
}

/// A session that was opened.
#[derive(Debug, Clone, Serialize)]
pub struct Opened {
    /// Its id.
    pub session_id: String,
    /// The modes that the agent offers.
    pub modes: Vec<Named>,
    /// The mode that it is in, in the agent's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The models that the agent offers.
    pub models: Vec<Named>,
    /// The model that is asked, in the agent's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The answer, as it was.
    #[serde(rename = "_original")]
    pub original: Box<RawValue>,
}

fn yes(json: Json<'_>) -> bool {
    json.is_some_and(|json| json.get() == "true")
}

fn own(json: Json<'_>) -> Option<String> {
    text(json).map(std::borrow::Cow::into_owned)
}

fn methods(list: &List<Method<'_>>) -> Vec<Named> {
    let named = |method: &Method<'_>| {
        let id = own(method.id)?;
        Some(Named { name: own(method.name).unwrap_or_else(|| id.clone()), id })
    };
    list.items.iter().filter_map(named).collect()
}

fn whole(json: Json<'_>) -> Box<RawValue> {
    json.unwrap_or(RawValue::NULL).to_owned()
}

impl About {
    pub(super) fn read(json: Json<'_>, process: Option<u32>) -> Self {
        let hello: Hello<'_> = object(json);
        let info = hello.info.unwrap_or_default();
        let can = hello.can.unwrap_or_default();
        let prompt = can.prompt.unwrap_or_default();
        let mcp = can.mcp.unwrap_or_default();
        Self {
            protocol: super::wire::number(hello.protocol).unwrap_or(0),
            name: own(info.title).or_else(|| own(info.name)),
            version: own(info.version),
            auth: methods(&hello.auth),
            can: Abilities {
                load: yes(can.load),
                image: yes(prompt.image),
                audio: yes(prompt.audio),
                embedded: yes(prompt.embedded),
                mcp_http: yes(mcp.http),
                mcp_sse: yes(mcp.sse),
            },
            process,
            original: whole(json),
        }
    }
}

impl Opened {
    /// Reads the answer that opened a session. `loaded` is the id that was asked for; an answer to a load has none.
    pub(super) fn read(json: Json<'_>, loaded: Option<&str>) -> Option<Self> {
        let opening: Opening<'_> = object(json);
        let modes = opening.modes.unwrap_or_default();
        let models = opening.models.unwrap_or_default();
        let model = |model: &Model<'_>| {
            let id = own(model.id)?;
            Some(Named { name: own(model.name).unwrap_or_else(|| id.clone()), id })
        };
        Some(Self {
            session_id: own(opening.session_id).or_else(|| loaded.map(str::to_owned))?,
            modes: methods(&modes.available),
            mode: own(modes.current),
            models: models.available.items.iter().filter_map(model).collect(),
            model: own(models.current),
            original: whole(json),
        })
    }

    /// The agent's own id of a mode, where it offers it: some say `autoEdit`, some `auto_edit`.
    pub fn mode_id(&self, mode: Mode) -> Option<&str> {
        let ids = self.modes.iter().map(|named| named.id.as_str());
        ids.into_iter().find(|id| Mode::named(id) == Some(mode))
    }
}
