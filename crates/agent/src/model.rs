//! Our words. Pure values: the only types that cross a border that we own.

mod at;
mod event;
mod message;
mod text;

pub use at::At;
pub use event::{Event, EventKind, Rewrite, Source};
pub use message::{
    Agent, Arg, Block, Content, ImageSource, Input, Level, Message, ResultContent, Role, Status,
    Usage,
};
pub use text::Text;
