//! Pollux's library: everything that Gemini CLI writes, in one vocabulary.
//!
//! The words are in [`model`]: a *session* is one conversation in one directory, a *message* is a finished record made
//! of *blocks* in the shape that Claude's own clients read, an *event* is a fact that came from one *source*. All that
//! is known of Gemini CLI is in [`gemini`], and nowhere else.
//!
//! Reading never fails: what cannot be read becomes a diagnostic or an `unread` event with its text, and the rest is
//! read all the same.
//!
//! ```
//! use pollux_agent::gemini::transcript::Transcript;
//!
//! let file = r#"{"sessionId":"s","projectHash":"p","startTime":"2026-11-15T17:55:38.795Z"}
//! {"id":"1","timestamp":"2026-11-15T17:55:38.938Z","type":"user","content":[{"text":"hello"}]}
//! {"id":"2","timestamp":"2026-11-15T17:55:39.525Z","type":"gemini","content":"Hi there."}
//! "#;
//! let transcript = Transcript::read(file);
//! let messages: Vec<_> = transcript.messages().collect();
//! assert_eq!(messages.len(), 2);
//! assert_eq!(messages[1].text(), "Hi there.");
//! ```
#![warn(missing_docs)]

pub mod acp;
pub mod claude;
mod deadline;
pub mod gemini;
mod lines;
mod loose;
pub mod model;
pub mod process;
pub mod regular;
pub mod session;
mod shell;
pub mod terminal;

/// The examples of the guide are tests too.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct Guide;
