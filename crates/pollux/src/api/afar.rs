//! What reaches out of the daemon: links that show a session, and calls to devices.

use super::frame::Recorded;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use ts_rs::TS;
use utoipa::ToSchema;

/// How long a link shall show a session.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct Share {
    /// For so many hours: a day unless told otherwise, a month at most.
    #[serde(default)]
    pub hours: Option<u32>,
}

/// A link that shows a session.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct ShareLink {
    /// Where it is to be seen. The token is behind the `#`, which no server sees.
    pub urls: Vec<String>,
    /// Until when.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub expires_at: Timestamp,
}

/// Asks for a session that is shown.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct Watched {
    /// The token of the link.
    pub token: String,
    /// Messages before this place.
    #[serde(default)]
    pub before: Option<u64>,
}

/// A session that is shown, without its secrets.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Shared {
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A page of messages, oldest first.
    #[schema(value_type = Vec<Object>)]
    pub messages: Vec<Recorded>,
    /// Ask for those before this place; none where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Until when it is shown.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub expires_at: Timestamp,
}

/// The key that a browser wants to know before it can be called.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct PushKey {
    /// `applicationServerKey`, in Base64 for addresses.
    pub key: String,
}

/// A browser's subscription, as it gives it.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Subscribe {
    /// Where calls go.
    pub endpoint: String,
    /// Its keys.
    pub keys: SubscribeKeys,
}

/// The keys of a browser's subscription.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct SubscribeKeys {
    /// Its public key.
    pub p256dh: String,
    /// Its secret.
    pub auth: String,
}

/// A browser that is called no more.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Unsubscribe {
    /// Where calls went.
    pub endpoint: String,
}

/// How many browsers of this device were called.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Called {
    /// How many.
    pub called: usize,
}

/// What a device is told that is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Call {
    /// What it is about.
    pub kind: CallKind,
    /// What the session is about.
    pub title: String,
    /// What is asked, or what was said last.
    pub body: String,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// Why a device is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// The agent asks.
    Question,
    /// What the device was called for is answered: somewhere else, or by the agent itself.
    Answered,
    /// A turn is over.
    Done,
    /// A turn has failed, or the agent is gone.
    Failed,
    /// The agent works, and says nothing.
    Stalled,
    /// To see that the device hears.
    Test,
}
