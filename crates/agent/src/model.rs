//! Our words. Pure values: the only types that cross a border that we own.

mod at;
mod event;
mod failure;
mod meaning;
mod message;
mod mode;
mod outcome;
mod question;
mod read;
#[cfg(feature = "schema")]
mod schema;
mod text;

pub use at::At;
pub use event::{
    Event, EventKind, Part, Rewrite, Scope, SessionChange, SessionStatus, Source, StopReason,
};
pub use failure::{Failure, Phase};
pub(crate) use meaning::unified;
pub use meaning::{Change, Derived, Meaning};
pub use message::{
    Agent, Arg, Block, Content, ImageSource, Input, Level, Message, ResultContent, Role, Status,
    Usage,
};
pub use mode::Mode;
pub use outcome::Outcome;
pub use question::{Answer, Choice, Effect, Question, QuestionKind};
pub(crate) use text::Lossy;
pub use text::Text;
