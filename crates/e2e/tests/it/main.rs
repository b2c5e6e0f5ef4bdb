//! The tests of this crate, in one binary. Most modules are a boundary of the CLI; `cargo xtask matrix` shows them as the columns of
//! its table.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod acp;
mod headless;
mod live;
mod rehearsal;
mod run;
mod terminal;
mod tidy;
mod tmux;
mod window;
