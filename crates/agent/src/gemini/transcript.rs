//! Session files: every message, thought, tool call and token that the CLI wrote down.
//!
//! Three layouts and two formats have been in use (`tmp/<sha256 of the path>/chats/*.json`, `tmp/<slug>/chats/*.json`,
//! `tmp/<slug>/chats/*.jsonl` with subagents one folder below). [`Transcript`] reads one whole.

mod diagnostic;
mod document;
mod entry;
mod history;
mod replay;
mod translate;
mod wire;

pub use diagnostic::Diagnostic;
pub use replay::{Format, Meta, Transcript, text};
