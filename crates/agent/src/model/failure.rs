//! A failure of a run, in one shape, whichever of its many ways the agent chose to say it.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fmt;

/// Why a run failed.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema), ts(optional_fields))]
pub struct Failure {
    /// The phase that failed.
    pub phase: Phase,
    /// A machine-readable code, such as `not_signed_in`.
    pub code: &'static str,
    /// A human-readable description of the failure.
    pub message: String,
    /// A suggested fix. May be missing in old logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Box<str>>,
    /// True if a retry may succeed.
    pub retryable: bool,
    /// The agent's exit code; absent if it did not start or was killed by a signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that killed the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The HTTP status of the model's server, if it answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// The last output of the agent on stderr.
    #[serde(skip_serializing_if = "str::is_empty")]
    #[cfg_attr(feature = "schema", ts(as = "Option<String>"))]
    pub stderr: Box<str>,
    /// The code of the JSON-RPC error, if the agent returned one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rpc_code: Option<i32>,
    /// The agent's original error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(as = "Option<serde_json::Value>"))]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub upstream: Option<Box<RawValue>>,
}

/// The phase in which a run failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Finding the agent.
    Find,
    /// Starting the agent: arguments, settings, sign-in, folder trust.
    Start,
    /// The protocol handshake.
    Handshake,
    /// Signing in.
    Auth,
    /// The request to the model.
    Request,
    /// The response of the model.
    Response,
    /// Running a tool.
    Tool,
    /// A limit was reached.
    Budget,
    /// A user or program cancelled it.
    Cancelled,
}

impl Phase {
    /// What to do about a failure of which no more is known than how far it came.
    fn hint(self) -> &'static str {
        match self {
            Self::Find => "run `pollux doctor` to see what is missing",
            Self::Start => "run `pollux doctor`, or run the agent yourself to see its error",
            Self::Handshake => "update the agent, or run it yourself to see its error",
            Self::Auth => "run the agent yourself once and sign in",
            Self::Request | Self::Response => {
                "try again; `pollux doctor` checks the agent and its settings"
            }
            Self::Tool => "check the tool's output, and try again",
            Self::Budget => "raise the limit, or continue the session",
            Self::Cancelled => "the session is kept and can be resumed",
        }
    }
}

impl Failure {
    /// A failure of which nothing else is known. What to do about it is what helps in most failures of this phase.
    pub fn new(phase: Phase, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            phase,
            code,
            message: message.into(),
            hint: Some(phase.hint().into()),
            retryable: false,
            exit_code: None,
            signal: None,
            http_status: None,
            rpc_code: None,
            stderr: Box::default(),
            upstream: None,
        }
    }

    /// The same with what to do about this one.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into().into_boxed_str());
        self
    }

    /// The same, but worth another try.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
