//! The tests of this crate, in one binary.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod acp;
mod daemon;
mod hooks;
mod hostile;
mod live;
mod rehearse;
mod render;
mod run;
mod sessions;
mod team;
mod translate;
mod user;
