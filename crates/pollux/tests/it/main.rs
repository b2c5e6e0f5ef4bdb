//! The tests of this crate, in one binary.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod acp;
mod claude;
mod daemon;
mod demo;
mod doctor;
mod editor;
mod hooks;
mod hostile;
mod live;
mod rehearse;
mod render;
mod run;
mod sessions;
mod translate;
mod user;
