//! All that is known of Gemini CLI, and nowhere else.

pub mod cli;
pub mod hooks;
mod loose;
pub mod models;
pub mod screen;
pub mod stream;
pub mod terminal;
pub mod tools;
pub mod transcript;
