//! A live Gemini CLI in a terminal: its own screen for the person at the desk, events and orders for everybody else.
//!
//! [`Start`] runs the CLI in a window of tmux, [`Found`] is one that runs already; both give a [`Live`], which tells events
//! and takes orders. What was said comes exact from the session file; what the agent does, asks and shows comes from the
//! title and the screen; hooks add what they know. [`Fusion`] makes one log of them, each fact once.

mod act;
mod adopted;
mod answer;
mod doubt;
mod ended;
mod files;
mod find;
mod fuse;
mod hand;
mod listens;
mod live;
mod mode;
mod noted;
mod order;
mod resumed;
mod start;
mod titles;
mod words;
mod work;

pub use doubt::{HAD_ARRIVED, NOT_KNOWN};
pub use ended::is_id_taken;
pub use find::{Found, adoptable, all};
pub use fuse::{Fusion, Picture};
pub use hand::Hand;
pub use live::{Live, Orders};
pub use order::Busy;
pub use start::Start;
pub use words::{Words, is_prompt};
