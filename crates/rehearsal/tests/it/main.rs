//! The tests of this crate, in one binary.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod http;
mod library;
mod record;
mod scripts;
mod stopping;
mod versions;
