//! Hooks: the moments at which the CLI calls `pollux hook EVENT`, what it says then, and how it comes to call at all.
//!
//! A hook never slows or breaks the CLI: it answers `{}` at once, hands the payload over within a hard limit, and keeps
//! it in a bounded spool where nobody listens. A hook cannot approve a tool; approval goes through the dialog.

pub mod deliver;
pub mod extension;
pub mod inbox;
mod own;
pub mod settings;
mod translate;
mod wire;

pub(super) use own::Own;
pub use translate::{Translator, events};

/// The events that Pollux listens to: sessions, turns, tools, and the question for permission. Not those that fire for
/// each call of the model or each piece of its answer, which cost.
pub const EVENTS: [&str; 7] = [
    "SessionStart",
    "SessionEnd",
    "BeforeAgent",
    "AfterAgent",
    "BeforeTool",
    "AfterTool",
    "Notification",
];

/// How long the CLI waits for a hook before it goes on without it, in milliseconds. Ours takes a few.
pub const TIMEOUT_MS: u64 = 2_000;

/// The variable that names what a driver calls a session before it has its id. Names that begin with `GEMINI_CLI_` always
/// reach a hook, also where the CLI takes others away.
pub const KEY: &str = "GEMINI_CLI_POLLUX_KEY";

/// The variable that names another socket.
pub const SOCKET: &str = "GEMINI_CLI_POLLUX_SOCKET";

/// The name of each of our hooks, by which they are found again.
pub const NAME: &str = "pollux";

/// The command line of a hook: the program, quoted for the shell that the CLI starts it with.
fn command(program: &str, event: &str) -> String {
    format!("'{}' hook {event}", program.replace('\'', r"'\''"))
}
