//! All that is known of Gemini CLI, and nowhere else.

pub mod acp;
pub mod apart;
pub mod cli;
pub mod commands;
pub mod hooks;
pub mod mcp_names;
pub mod mention;
pub mod models;
pub mod policies;
pub mod screen;
mod servers;
mod settings;
pub mod stream;
pub mod terminal;
pub mod tools;
pub mod transcript;

use crate::loose;
