//! Terminals: a tmux server that is told what to do and tells what happens, an emulator that draws what it tells, and
//! what stands on the screen as a value. Knows nothing of Gemini.
//!
//! [`Server`] is one connection in tmux's control mode; [`Pane`] is one program in its window: keys, pastes and captures;
//! [`Watch`] is what happens in it. Nothing is polled.

mod emulator;
mod leave;
mod pane;
mod run;
mod screen;
mod server;
mod socket;
mod turn;
mod watch;
mod wire;

pub use emulator::{Emulator, HISTORY};
pub use pane::{Captured, Pane, Window, give_back};
pub use run::Run;
pub use screen::{Cursor, Screen, Size};
pub use server::{SESSION, Server};
pub use socket::Socket;
pub use watch::{Ended, Gone, News, Told, Watch};
