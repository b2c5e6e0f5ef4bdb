//! What reaches out of the daemon: links that show a session, and calls to devices.

use super::frame::Recorded;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use ts_rs::TS;
use utoipa::ToSchema;

/// Creates a share link for a session.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct Share {
    /// Lifetime in hours: 24 by default, at most one month.
    #[serde(default)]
    pub hours: Option<u32>,
}

/// A read-only link to a session.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct ShareLink {
    /// URLs of the link. The token follows the `#`, so browsers do not send it to a server.
    pub urls: Vec<String>,
    /// When the link expires.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub expires_at: Timestamp,
}

/// Reads a shared session.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct Watched {
    /// Token from the link.
    pub token: String,
    /// Return messages before this position.
    #[serde(default)]
    pub before: Option<u64>,
}

/// A shared session, with secrets removed.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Shared {
    /// Title of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A page of messages, oldest first.
    #[schema(value_type = Vec<Object>)]
    pub messages: Vec<Recorded>,
    /// Position to request older messages with; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// When the link expires.
    #[ts(type = "string")]
    #[schema(value_type = String)]
    pub expires_at: Timestamp,
}

/// The server key that a browser needs to subscribe to push notifications.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct PushKey {
    /// `applicationServerKey`, in URL-safe Base64.
    pub key: String,
}

/// A browser's push subscription, as the Push API returns it.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Subscribe {
    /// URL of the push service for this browser.
    pub endpoint: String,
    /// Keys of the subscription.
    pub keys: SubscribeKeys,
}

/// The keys of a push subscription.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct SubscribeKeys {
    /// Public key of the browser.
    pub p256dh: String,
    /// Authentication secret of the browser.
    pub auth: String,
}

/// Ends a push subscription.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Unsubscribe {
    /// URL of the push service for this browser.
    pub endpoint: String,
}

/// Result of a test notification.
#[derive(Debug, Clone, Serialize, Deserialize, TS, ToSchema)]
pub struct Called {
    /// Number of browsers that were notified.
    pub called: usize,
}

/// The content of a push notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
#[ts(optional_fields)]
pub struct Call {
    /// Why the notification was sent.
    pub kind: CallKind,
    /// Title of the session.
    pub title: String,
    /// The question, or the end of the last answer.
    pub body: String,
    /// ID of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// The reason for a push notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// The agent asks a question.
    Question,
    /// The question was answered on another device or by the agent itself.
    Answered,
    /// A turn has ended.
    Done,
    /// A turn failed, or the agent has exited.
    Failed,
    /// The agent is working but has sent nothing for a while.
    Stalled,
    /// A test notification.
    Test,
}
