//! Gemini CLI over the Agent Client Protocol: what it does differently, by version.
//!
//! [`Gemini`] starts the CLI with the right flags, in settings of its own that keep sessions safe and tool output whole,
//! and opens a session: a new one, or one to go on with, which is copied first, loaded when that does not destroy it,
//! compared message by message, and put back if anything is missing. The events are those of [`crate::acp`], completed
//! by the session's own file while it is written.

mod arguments;
mod aside;
mod beside;
mod dialect;
mod live;
mod start;

pub use crate::gemini::transcript::resume::Resume;
pub use aside::{Aside, Decision, Denied};
pub use dialect::Quirks;
pub use live::Live;
pub use start::Gemini;
