//! The tests of this crate, in one binary.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod acp;
mod checkpoint;
mod claude;
mod control;
mod drive;
mod follow;
mod history;
mod home;
mod hooks;
mod properties;
mod raw;
mod read;
mod recordings;
mod relay;
mod rescue;
mod screens;
mod session;
mod session_shapes;
mod sly;
mod store;
mod streams;
mod test_data;
mod tools;
