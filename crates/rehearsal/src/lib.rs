//! A scripted Gemini model on loopback: the real Gemini CLI runs against it with no key and no network.
//!
//! Gemini CLI talks to whatever `GOOGLE_GEMINI_BASE_URL` names. A [`Rehearsal`] is a server at such an address that
//! answers as a [`Script`] says, so the real CLI becomes deterministic: every tool, every failure, in any version.
//!
//! ```
//! use pollux_rehearsal::{Rehearsal, Script};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let script: Script = r#"
//!     [[rule]]
//!     prompt = "hello"
//!     reply = "Hello from the script."
//! "#.parse()?;
//! let rehearsal = Rehearsal::start(script).await?;
//!
//! // Any client of the Gemini API will do; the CLI is one.
//! let url = format!("{}/v1beta/models/any:generateContent", rehearsal.url());
//! let body = r#"{"contents": [{"role": "user", "parts": [{"text": "hello there"}]}], "tools": [{}]}"#;
//! # rustls::crypto::ring::default_provider().install_default().ok();
//! let answer = reqwest::Client::new().post(url).body(body).send().await?.text().await?;
//! assert!(answer.contains("Hello from the script."));
//!
//! // The journal has what the model was told and what it said.
//! assert_eq!(rehearsal.journal().prompts(), ["hello there"]);
//! rehearsal.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! The way of a request: `server` reads it, [`Ask`] says what it asks, `cue` picks the rule and fills in its words,
//! `play` turns the answer into chunks with pauses, `journal` writes down both.

mod ask;
mod cue;
mod home;
mod journal;
mod own;
mod play;
mod record;
mod rehearsal;
mod script;
mod server;
mod tools;

pub use ask::{Ask, Asks, ToolResult};
pub use home::Home;
pub use journal::{Ended, Entry, Event, Journal};
pub use rehearsal::{Options, Rehearsal, StartError};
pub use script::{Script, Trial, Wrong, Wrongs};
