//! The Agent Client Protocol: a client for any agent that speaks it.
//!
//! [`Agent::spawn`] starts an agent and asks what it can do; [`Agent::open`] opens sessions, several in one process if
//! need be; a [`Session`] tells its events in order, and its [`Control`] steers it: prompts, answers to questions, cancel,
//! mode, model. [`Policy`] answers questions where nobody is to be asked. What an agent does differently from the
//! protocol is a [`Dialect`]; what it leaves beside it, such as a session file, a [`Beside`].
//!
//! Every line in both directions can be heard as it was ([`Config::listener`]). Lines that are no messages, and updates
//! that are not known, become `unread` events with their text; nothing that an agent says ends a session.

mod about;
mod agent;
mod call;
mod config;
mod connection;
mod dialect;
mod engine;
mod files;
mod policy;
mod recording;
pub mod relay;
mod stop;
mod terminals;
mod translate;
mod whole;
mod wire;
mod wrong;

pub use about::{Abilities, About, Named, Opened};
pub use agent::{Agent, Control, Open, Prompt, Session};
pub use call::{Call, Shown};
pub use config::{Budgets, Config, Direction, Listener, McpServer, Step, Transport, Variable};
pub use dialect::{Beside, Counted, Dialect, Done, Plain, Said};
pub use policy::{Policy, Rule, Rules, Verdict};
pub use recording::recorded;
pub use translate::Translator;
pub use wire::RpcError;
