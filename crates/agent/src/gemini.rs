//! All that is known of Gemini CLI, and nowhere else.

mod loose;
pub mod models;
pub mod tools;
pub mod transcript;
