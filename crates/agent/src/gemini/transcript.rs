//! Session files: every message, thought, tool call and token that the CLI wrote down.
//!
//! Three layouts and two formats have been in use (`tmp/<sha256 of the path>/chats/*.json`, `tmp/<slug>/chats/*.json`,
//! `tmp/<slug>/chats/*.jsonl` with subagents one folder below). [`Transcript`] reads one whole, [`digest`] takes its
//! sums without keeping it, [`store`] finds the files of all sessions, [`follow`] tells what is new while a file is
//! written, and [`rescue`] saves what the CLI would destroy.

mod diagnostic;
pub mod digest;
mod document;
mod entry;
pub mod follow;
pub mod fork;
mod history;
mod index;
mod links;
mod projects;
mod replay;
pub mod rescue;
pub mod resume;
mod scan;
mod seen;
mod short;
mod spent;
pub mod store;
mod tail;
mod translate;
mod watch;
mod whole;
mod wire;

pub(super) use scan::newest_of;
pub(super) use translate::{string, time};

pub use diagnostic::Diagnostic;
pub use entry::is_context;
pub(super) use entry::{said, without_context};
pub use follow::events;
pub use replay::Meta;
pub use whole::{Format, Transcript, text};
