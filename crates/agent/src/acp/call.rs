//! A tool call as the protocol shows it: out of an update, or out of a permission request. Pure.

use super::wire::{self, Json, Piece, text};
use crate::model::{Change, Derived, Meaning, Status, unified};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A tool call, as far as one message tells of it.
#[derive(Debug, Clone, Default)]
pub struct Call<'a> {
    /// Its id.
    pub id: Cow<'a, str>,
    /// What a person is shown.
    pub title: Option<Cow<'a, str>>,
    /// `read`, `edit`, `delete`, `move`, `search`, `execute`, `think`, `fetch`, `switch_mode`, `other`, or a newer word.
    pub kind: Option<Cow<'a, str>>,
    /// `pending`, `in_progress`, `completed`, `failed`, or a newer word.
    pub status: Option<Cow<'a, str>>,
    /// What it shows: texts and diffs.
    pub content: Vec<Shown<'a>>,
    /// The arguments, where the agent tells them.
    pub input: Option<&'a RawValue>,
}

/// What a call shows.
#[derive(Debug, Clone)]
pub enum Shown<'a> {
    /// A text.
    Text(Cow<'a, str>),
    /// A change of a file.
    Diff {
        /// Which file.
        path: Cow<'a, str>,
        /// What it held; nothing where it was not there.
        old: Option<Cow<'a, str>>,
        /// What it holds then.
        new: Cow<'a, str>,
    },
    /// Something else, such as a picture or a terminal.
    Other,
}

impl<'a> Call<'a> {
    /// Reads a call. None where it has no id, and so is none.
    pub(crate) fn read(json: Json<'a>) -> Option<Self> {
        let call: wire::ToolCall<'a> = wire::object(json);
        Some(Self {
            id: text(call.id)?,
            title: text(call.title),
            kind: text(call.kind),
            status: text(call.status),
            content: call.content.items.iter().filter(|piece| piece.read).map(shown).collect(),
            input: call.raw_input,
        })
    }

    /// How it ended; none while it has not.
    pub fn ended(&self) -> Option<Status> {
        self.status.as_deref().and_then(ended)
    }

    /// Its texts, joined.
    pub fn text(&self) -> Option<String> {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|shown| match shown {
                Shown::Text(text) => Some(text.as_ref()),
                _ => None,
            })
            .collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// What it is about, by its kind and what it shows; `title` says it without what the agent wraps around it.
    pub fn meaning(&self, title: Option<&str>) -> Option<Meaning> {
        for shown in &self.content {
            if let Shown::Diff { path, old, new } = shown {
                return Some(mutation(path, old.as_deref(), new));
            }
        }
        let title = title.or(self.title.as_deref())?.to_owned();
        match self.kind.as_deref()? {
            "execute" => Some(Meaning::Command {
                command: title,
                output: None,
                exit_code: None,
                derived: Derived(vec![("command", "toolCall.title")]),
            }),
            "search" | "fetch" => {
                Some(Meaning::Card { title, derived: Derived(vec![("title", "toolCall.title")]) })
            }
            _ => None,
        }
    }
}

/// How a call ended that is in this state; none while it has not.
pub(super) fn ended(status: &str) -> Option<Status> {
    match status {
        "completed" => Some(Status::Success),
        "failed" => Some(Status::Error),
        "cancelled" => Some(Status::Cancelled),
        _ => None,
    }
}

fn mutation(path: &str, old: Option<&str>, new: &str) -> Meaning {
    let created = old.unwrap_or_default().is_empty();
    Meaning::Mutation {
        path: path.to_owned(),
        change: Some(if created { Change::Created } else { Change::Edited }),
        diff: Some(unified(path, old.unwrap_or_default(), new)),
        derived: Derived(
            [
                ("path", "toolCall.content[].path"),
                ("change", "toolCall.content[].oldText"),
                ("diff", "toolCall.content[].oldText, newText"),
            ]
            .to_vec(),
        ),
    }
}

fn shown<'a>(piece: &Piece<'a>) -> Shown<'a> {
    match text(piece.kind).as_deref() {
        Some("content") => {
            let block: Piece<'a> = wire::object(piece.content);
            text(block.text).map_or(Shown::Other, Shown::Text)
        }
        Some("diff") => Shown::Diff {
            path: text(piece.path).unwrap_or_default(),
            old: text(piece.old_text),
            new: text(piece.new_text).unwrap_or_default(),
        },
        _ => Shown::Other,
    }
}
