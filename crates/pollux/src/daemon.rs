//! The daemon: one log, many readers, nothing lost, nobody let in.
//!
//! `log` keeps every event; `hub` has one task for each session, which asks the rules (`pollux_agent::session`) and acts;
//! `door` decides who is let in; `server`, `routes`, `socket` and `sse` are the API.

pub mod clock;
pub mod hub;
pub mod log;
pub mod view;
