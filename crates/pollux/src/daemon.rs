//! The daemon: one log, many readers, nothing lost, nobody let in.
//!
//! `log` keeps every event; `hub` has one task for each session, which asks the rules (`pollux_agent::session`) and acts;
//! `door` decides who is let in; `server`, `routes`, `socket`, `screen`, `sse` and `reader` are the API; `team` has agents
//! work for each other, which they ask for over `mcp`; `push` calls devices; `fits` gives windows at the desk back; `instance`
//! is the whole.

pub mod clock;
pub mod door;
pub mod fits;
mod guard;
pub mod hub;
mod impatient;
pub mod instance;
pub mod log;
pub mod mcp;
mod own_file;
pub mod push;
pub mod reader;
pub mod routes;
pub mod screen;
pub mod server;
pub mod socket;
pub mod sse;
pub mod streams;
pub mod team;
pub mod view;
pub mod web;
