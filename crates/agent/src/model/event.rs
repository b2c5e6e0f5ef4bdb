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
    /// The boundary that said so.
    pub source: Source,
    /// Set where the fact was concluded and not read: from what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derived: Option<&'static str>,
    /// When, where the source says so.
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

/// The boundary that an event came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// What the agent prints while it works.
    Stream,
    /// Pollux itself: how a run began and ended.
    Pollux,
    /// A session file of the agent.
    SessionFile,
    /// The agent's side of the Agent Client Protocol.
    Acp,
    /// The agent's screen, or the title of its window.
    Screen,
    /// A hook that the agent called.
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
        /// When it began.
        #[serde(skip_serializing_if = "Option::is_none")]
        started_at: Option<At>,
        /// `main` or `subagent`.
        #[serde(skip_serializing_if = "Option::is_none")]
        kind: Option<Text<'a>>,
        /// The model that was asked for, in the agent's words; which one answered is in the messages.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<Text<'a>>,
    },
    /// Something about the session as a whole is different now: only what changed is there.
    SessionChanged(SessionChange<'a>),
    /// A session that had a name of ours has its own id now.
    SessionRekeyed {
        /// What it was called until now.
        from: Text<'a>,
        /// Its id.
        session_id: Text<'a>,
    },
    /// The agent waits for somebody.
    Asked(Box<Question<'a>>),
    /// A question is no longer open.
    Answered {
        /// Which one.
        question_id: Text<'a>,
        /// What became of it.
        #[serde(flatten)]
        answer: Answer<'a>,
    },
    /// The agent was given a prompt and works.
    TurnStarted {
        /// The prompt, as the agent understood it.
        prompt: Text<'a>,
    },
    /// A text became longer.
    TextGrew {
        /// What is growing.
        part: Part,
        /// What it grew by. Blank text is text.
        text: Text<'a>,
        /// The message that it is part of, where the source knows.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<Text<'a>>,
    },
    /// The model called a tool.
    ToolStarted {
        /// The id of the call, the same in every source.
        id: Text<'a>,
        /// The agent's own name of the tool.
        name: Text<'a>,
        /// The arguments, as the model wrote them.
        input: Input<'a>,
        /// What the call is about.
        #[serde(skip_serializing_if = "Option::is_none")]
        meaning: Option<Box<Meaning>>,
    },
    /// A call came to its end, or more became known about one that had.
    ToolEnded {
        /// The id of the call.
        id: Text<'a>,
        /// The agent's own name of the tool, where the call was seen.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<Text<'a>>,
        /// How it ended.
        status: Status,
        /// True where another source told of this end before: this one knows more.
        changed: bool,
        /// What the tool gave back.
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<Text<'a>>,
        /// What went wrong.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Text<'a>>,
        /// What came of it.
        #[serde(skip_serializing_if = "Option::is_none")]
        meaning: Option<Box<Meaning>>,
    },
    /// Tokens were counted.
    UsageChanged {
        /// What they were counted over.
        scope: Scope,
        /// The tokens.
        usage: Usage,
        /// The model that took them.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<Text<'a>>,
        /// The message that they were taken for.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<Text<'a>>,
    },
    /// The agent stopped working.
    TurnEnded {
        /// Why.
        stop_reason: StopReason,
        /// How long it took, as the agent counts.
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        /// How many calls there were, as the agent counts.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_calls: Option<u64>,
        /// What went wrong.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Box<Failure>>,
    },
    /// A message was finished, or a finished one was completed.
    MessageRecorded {
        /// True where a message with this id was recorded before, and this one takes its place.
        changed: bool,
        /// The message.
        message: Box<Message<'a>>,
    },
    /// Messages that were recorded are no longer part of the conversation.
    HistoryRewritten {
        /// How often that has happened to this session.
        epoch: u64,
        /// Why.
        reason: Rewrite,
        /// The ids that are gone.
        removed: Vec<Text<'a>>,
        /// Text that was seen growing and is part of no message: an attempt that failed and was made again.
        #[serde(skip_serializing_if = "Option::is_none")]
        superseded: Option<Text<'a>>,
    },
    /// Something to know.
    Notice {
        /// How bad it is.
        level: Level,
        /// What it is.
        text: String,
    },
    /// A line that could not be read. The next one was.
    Unread {
        /// Where, counted from one; nothing where the source has no lines.
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<u64>,
        /// Why.
        reason: String,
        /// The text.
        text: String,
    },
    /// Nothing more will come.
    SessionEnded {
        /// Why.
        reason: String,
    },
}

/// What changed about a session as a whole.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema), ts(optional_fields))]
pub struct SessionChange<'a> {
    /// What it is about, in the agent's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Text<'a>>,
    /// What the agent does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<SessionStatus>,
    /// What the agent may do without asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The same in the agent's words, where it is a mode that we have no word for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode_id: Option<Text<'a>>,
    /// The model that will be asked, in the agent's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Text<'a>>,
}

/// What an agent that lives does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, utoipa::ToSchema, schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// It is not ready yet.
    Starting,
    /// It waits for a prompt.
    Idle,
    /// It works.
    Working,
    /// It waits for an answer.
    Waiting,
    /// It cannot go on by itself.
    Error,
    /// It is gone.
    Exited,
}

/// Why a history was rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Rewrite {
    /// Somebody went back to an earlier message.
    Rewind,
    /// The agent replaced the whole list: a resume, a compression, a failed prompt taken back.
    Checkpoint,
    /// The file was replaced, cut, or written anew.
    Replaced,
    /// An attempt failed, and the agent began the message again.
    Retried,
}

/// A part of a message that grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// What the model says.
    Text,
    /// What the model thinks.
    Thinking,
}

/// What tokens were counted over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema), ts(rename = "UsageScope"))]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One message.
    Message,
    /// All that one model did in this run, what nobody sees included: choosing a model costs tokens too.
    Model,
    /// The whole run.
    Run,
}

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The agent had nothing more to say.
    EndTurn,
    /// Somebody stopped it.
    Cancelled,
    /// It may do no more turns.
    MaxTurns,
    /// It may take no more time.
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
