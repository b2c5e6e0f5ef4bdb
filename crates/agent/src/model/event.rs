//! An event: a fact, in the past tense, with the source that it came from.

use super::{
    Answer, At, Failure, Input, Level, Meaning, Message, Mode, Question, Status, Text, Usage,
};
use serde::{Deserialize, Serialize};

/// A fact about a session.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema), ts(optional_fields))]
pub struct Event<'a> {
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind<'a>,
    /// The source of the event.
    pub source: Source,
    /// If the event was inferred, what it was inferred from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derived: Option<&'static str>,
    /// The time of the event, if the source has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<At>,
}

impl<'a> Event<'a> {
    /// A fact that was read, not concluded.
    pub fn new(source: Source, kind: EventKind<'a>) -> Self {
        Self { kind, source, derived: None, at: None }
    }

    /// The same fact, with a time.
    #[must_use]
    pub fn at(mut self, at: Option<At>) -> Self {
        self.at = at;
        self
    }

    /// The same fact, concluded from something.
    #[must_use]
    pub fn derived(mut self, from: &'static str) -> Self {
        self.derived = Some(from);
        self
    }

    /// The same event, owned.
    pub fn into_owned(self) -> Event<'static> {
        Event {
            kind: self.kind.into_owned(),
            source: self.source,
            derived: self.derived,
            at: self.at,
        }
    }
}

/// The source of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The agent's output stream.
    Stream,
    /// Pollux itself: how a run began and ended.
    Pollux,
    /// A session file of the agent.
    SessionFile,
    /// Messages of the Agent Client Protocol.
    Acp,
    /// The agent's screen, or the title of its window.
    Screen,
    /// A hook of the agent.
    Hook,
}

/// What happened.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema), ts(optional_fields))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventKind<'a> {
    /// A session exists.
    SessionStarted {
        /// Its id.
        session_id: Text<'a>,
        /// SHA-256 of the project's path, as the agent wrote it.
        #[serde(skip_serializing_if = "Option::is_none")]
        project_hash: Option<Text<'a>>,
        /// When the session started.
        #[serde(skip_serializing_if = "Option::is_none")]
        started_at: Option<At>,
        /// `main` or `subagent`.
        #[serde(skip_serializing_if = "Option::is_none")]
        kind: Option<Text<'a>>,
        /// The requested model, as the agent calls it. Messages name the model that answered.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<Text<'a>>,
    },
    /// Properties of the session changed. Contains only the changed ones.
    SessionChanged(SessionChange<'a>),
    /// A session with a temporary id received its final id.
    SessionRekeyed {
        /// The temporary id.
        from: Text<'a>,
        /// Its id.
        session_id: Text<'a>,
    },
    /// The agent asks a question and waits for the answer.
    Asked(Box<Question<'a>>),
    /// A question is no longer open.
    Answered {
        /// The id of the question.
        question_id: Text<'a>,
        /// The outcome.
        #[serde(flatten)]
        answer: Answer<'a>,
    },
    /// The agent started to work on a prompt.
    TurnStarted {
        /// The prompt, as the agent understood it.
        prompt: Text<'a>,
    },
    /// Text was appended to a message.
    TextGrew {
        /// The kind of text.
        part: Part,
        /// The appended text, which may be blank.
        text: Text<'a>,
        /// The id of the message, if the source has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<Text<'a>>,
    },
    /// The model called a tool.
    ToolStarted {
        /// The id of the call, the same in every source.
        id: Text<'a>,
        /// The agent's name of the tool.
        name: Text<'a>,
        /// The arguments, as the model wrote them.
        input: Input<'a>,
        /// What the call does.
        #[serde(skip_serializing_if = "Option::is_none")]
        meaning: Option<Box<Meaning>>,
    },
    /// A tool call ended, or more is known about an ended call.
    ToolEnded {
        /// The id of the call.
        id: Text<'a>,
        /// The agent's name of the tool, if the start of the call was seen.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<Text<'a>>,
        /// How it ended.
        status: Status,
        /// True if another source reported this end before and this one has more details.
        changed: bool,
        /// The output of the tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<Text<'a>>,
        /// What went wrong.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Text<'a>>,
        /// What the call did.
        #[serde(skip_serializing_if = "Option::is_none")]
        meaning: Option<Box<Meaning>>,
    },
    /// The token count changed.
    UsageChanged {
        /// The scope of the count.
        scope: Scope,
        /// The tokens.
        usage: Usage,
        /// The model that used them.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<Text<'a>>,
        /// The id of the message that used them.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<Text<'a>>,
    },
    /// The agent stopped working.
    TurnEnded {
        /// Why.
        stop_reason: StopReason,
        /// The duration, as reported by the agent.
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        /// The number of tool calls, as reported by the agent.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_calls: Option<u64>,
        /// What went wrong.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Box<Failure>>,
    },
    /// A message is complete, or a recorded message was updated.
    MessageRecorded {
        /// True if it replaces a recorded message with the same id.
        changed: bool,
        /// The message.
        message: Box<Message<'a>>,
    },
    /// Recorded messages were removed from the conversation.
    HistoryRewritten {
        /// The number of rewrites of this session so far.
        epoch: u64,
        /// Why.
        reason: Rewrite,
        /// The ids of the removed messages.
        removed: Vec<Text<'a>>,
        /// Streamed text that is in no message, because the attempt failed and was retried.
        #[serde(skip_serializing_if = "Option::is_none")]
        superseded: Option<Text<'a>>,
    },
    /// A notice for the user.
    Notice {
        /// The severity.
        level: Level,
        /// The text of the notice.
        text: String,
    },
    /// A line that Pollux could not parse and skipped.
    Unread {
        /// The line number, starting at 1, if the source has lines.
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<u64>,
        /// Why.
        reason: String,
        /// The text.
        text: String,
    },
    /// The session ended. No more events follow.
    SessionEnded {
        /// Why.
        reason: String,
    },
}

/// The changed properties of a session.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema), ts(optional_fields))]
pub struct SessionChange<'a> {
    /// The title, as given by the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Text<'a>>,
    /// The status of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<SessionStatus>,
    /// What the agent may do without asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The agent's own name of the mode, if Pollux does not know the mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode_id: Option<Text<'a>>,
    /// The current model, as the agent calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Text<'a>>,
}

/// The status of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, utoipa::ToSchema, schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// It is not ready yet.
    Starting,
    /// It is idle.
    Idle,
    /// It works on a prompt.
    Working,
    /// It waits for an answer to a question.
    Waiting,
    /// It failed and needs help.
    Error,
    /// It has exited.
    Exited,
}

/// Why a history was rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Rewrite {
    /// A user rewound to an earlier message.
    Rewind,
    /// The agent replaced all messages: on resume, compression or after a failed prompt.
    Checkpoint,
    /// The file was replaced, truncated or rewritten.
    Replaced,
    /// An attempt failed, and the agent retried the message.
    Retried,
}

/// A part of a message that grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The model's answer.
    Text,
    /// The model's thoughts.
    Thinking,
}

/// The scope of a token count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema), ts(rename = "UsageScope"))]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One message.
    Message,
    /// All requests to one model in this run, including hidden ones such as model selection.
    Model,
    /// The whole run.
    Run,
}

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The agent finished its answer.
    EndTurn,
    /// A user or program cancelled it.
    Cancelled,
    /// It reached the limit of model requests.
    MaxTurns,
    /// It reached the time limit.
    Timeout,
    /// Something failed.
    Error,
}

fn owned(text: Option<Text<'_>>) -> Option<Text<'static>> {
    text.map(Text::into_owned)
}

impl EventKind<'_> {
    /// The same fact, owned.
    pub fn into_owned(self) -> EventKind<'static> {
        match self {
            Self::SessionStarted { session_id, project_hash, started_at, kind, model } => {
                EventKind::SessionStarted {
                    session_id: session_id.into_owned(),
                    project_hash: owned(project_hash),
                    started_at,
                    kind: owned(kind),
                    model: owned(model),
                }
            }
            Self::SessionChanged(SessionChange { title, status, mode, mode_id, model }) => {
                EventKind::SessionChanged(SessionChange {
                    title: owned(title),
                    status,
                    mode,
                    mode_id: owned(mode_id),
                    model: owned(model),
                })
            }
            Self::SessionRekeyed { from, session_id } => EventKind::SessionRekeyed {
                from: from.into_owned(),
                session_id: session_id.into_owned(),
            },
            Self::Asked(question) => EventKind::Asked(Box::new(question.into_owned())),
            Self::Answered { question_id, answer } => EventKind::Answered {
                question_id: question_id.into_owned(),
                answer: answer.into_owned(),
            },
            Self::TurnStarted { prompt } => EventKind::TurnStarted { prompt: prompt.into_owned() },
            Self::TextGrew { part, text, message_id } => {
                EventKind::TextGrew { part, text: text.into_owned(), message_id: owned(message_id) }
            }
            Self::ToolStarted { id, name, input, meaning } => EventKind::ToolStarted {
                id: id.into_owned(),
                name: name.into_owned(),
                input: input.into_owned(),
                meaning,
            },
            Self::ToolEnded { id, name, status, changed, output, error, meaning } => {
                EventKind::ToolEnded {
                    id: id.into_owned(),
                    name: owned(name),
                    status,
                    changed,
                    output: owned(output),
                    error: owned(error),
                    meaning,
                }
            }
            Self::UsageChanged { scope, usage, model, message_id } => EventKind::UsageChanged {
                scope,
                usage,
                model: owned(model),
                message_id: owned(message_id),
            },
            Self::TurnEnded { stop_reason, duration_ms, tool_calls, error } => {
                EventKind::TurnEnded { stop_reason, duration_ms, tool_calls, error }
            }
            Self::MessageRecorded { changed, message } => {
                EventKind::MessageRecorded { changed, message: Box::new(message.into_owned()) }
            }
            Self::HistoryRewritten { epoch, reason, removed, superseded } => {
                EventKind::HistoryRewritten {
                    epoch,
                    reason,
                    removed: removed.into_iter().map(Text::into_owned).collect(),
                    superseded: owned(superseded),
                }
            }
            Self::Notice { level, text } => EventKind::Notice { level, text },
            Self::Unread { line, reason, text } => EventKind::Unread { line, reason, text },
            Self::SessionEnded { reason } => EventKind::SessionEnded { reason },
        }
    }
}
