//! The rules of a live session. Pure: a command or an event comes in, with the time; orders for the agent, facts to
//! record and a reply come out. Nothing here waits, reads a clock or touches a file.
//!
//! ```
//! use pollux_agent::model::Mode;
//! use pollux_agent::session::{By, Command, Done, Limits, Reply, Request, Session};
//!
//! let now = "2026-11-15T12:00:00Z".parse().unwrap();
//! let mut session = Session::new(Limits::default(), Mode::Default, now);
//! session.ready();
//! let prompt = |id: &str, text: &str| Request {
//!     id: id.into(),
//!     by: By::owner(),
//!     command: Command::prompt(text),
//! };
//! assert_eq!(session.command(&prompt("a", "hello"), now).reply, Reply::Done(Done::Sent));
//! // The same command once more is not run once more.
//! assert!(session.command(&prompt("a", "hello"), now).effects.is_empty());
//! // The agent works: the next one waits.
//! let verdict = session.command(&prompt("b", "and then"), now);
//! assert_eq!(verdict.reply, Reply::Done(Done::Queued { id: "b".into(), before: 0 }));
//! ```

mod choose;
mod command;
mod keys;
mod known;
mod questions;
mod queue;
mod rules;
mod said;

pub use choose::{Chosen, Offered, Unclear, choose};
pub use command::{
    By, Command, Done, Effect, Order, Outcome, Refusal, Reply, Request, Verdict, refused,
};
pub use known::Known;
pub use questions::{Open, shown};
pub use queue::Queued;
pub use rules::{Limits, Session, State};
