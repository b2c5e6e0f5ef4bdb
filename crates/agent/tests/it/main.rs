//! The tests of this crate, in one binary.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod claude;
mod fixtures;
mod follow;
mod history;
mod home;
mod hooks;
mod properties;
mod raw;
mod recordings;
mod rescue;
mod screens;
mod store;
mod streams;
mod tools;
