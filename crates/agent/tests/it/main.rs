//! The tests of this crate, in one binary.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod claude;
mod recordings;
mod streams;
