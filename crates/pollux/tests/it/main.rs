//! The tests of this crate, in one binary.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod acp;
mod claude;
mod daemon;
mod demo;
mod doctor;
mod editor;
mod errors;
mod hooks;
mod hostile;
mod live;
mod odd;
mod old_cli;
mod played;
mod rehearse;
mod render;
mod run;
mod secrets;
mod sessions;
mod shared;
mod team;
mod translate;
mod user;
