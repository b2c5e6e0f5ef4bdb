//! A failure of a run, in one shape, whichever of its many ways the agent chose to say it.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fmt;

/// Why a run did not do what was asked.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema), ts(optional_fields))]
pub struct Failure {
    /// How far it came.
    pub phase: Phase,
    /// One word for programs, such as `not_signed_in`.
    pub code: &'static str,
    /// What failed, for people.
    pub message: String,
    /// What to do about it. Every failure is made with one; those of old logs may have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Box<str>>,
    /// True where the same run may succeed when it is tried again.
    pub retryable: bool,
    /// The agent's exit code; none where it was not started, or where a signal ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The answer of the model's server, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// The last that the agent wrote to stderr.
    #[serde(skip_serializing_if = "str::is_empty")]
    #[cfg_attr(feature = "schema", ts(as = "Option<String>"))]
    pub stderr: Box<str>,
    /// The code of the JSON-RPC error, where the agent answered with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rpc_code: Option<i32>,
    /// What the agent said about it, as it said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(as = "Option<serde_json::Value>"))]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub upstream: Option<Box<RawValue>>,
}

/// How far a run came before it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The agent was looked for.
    Find,
    /// The agent was started: its arguments, its settings, who is signed in, which folders are trusted.
    Start,
    /// The agent was asked what it can do.
    Handshake,
    /// Somebody had to sign in.
    Auth,
    /// The model was asked.
    Request,
    /// The model answered.
    Response,
    /// A tool ran.
    Tool,
    /// A limit was reached.
    Budget,
    /// Somebody stopped it.
    Cancelled,
}

impl Phase {
    /// What to do about a failure of which no more is known than how far it came.
    fn hint(self) -> &'static str {
        match self {
            Self::Find => "`pollux doctor` tells what is missing",
            Self::Start => {
                "`pollux doctor` tells what is wrong; else start the agent by hand and see what it says"
            }
            Self::Handshake => "update the agent, or start it by hand and see what it says",
            Self::Auth => "start the agent by hand once and sign in",
            Self::Request | Self::Response => {
                "try again; `pollux doctor` looks at the agent and its settings"
            }
            Self::Tool => "see what the tool said, and try again",
            Self::Budget => "allow more, or go on with the session",
            Self::Cancelled => "the session is kept: go on with it when you like",
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
