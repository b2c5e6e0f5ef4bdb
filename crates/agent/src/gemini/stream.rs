//! stream-json: what a headless run prints, read exactly, and made whole out of the session's own file.
//!
//! The stream is the CLI's contract for programs, and it is lossy: no thoughts, no exit codes, no diffs, tokens only at
//! the end. [`Translator`] reads its lines; [`Fusion`] adds what the session file knows; [`failure`] makes one error out
//! of the many ways in which a run fails; [`Run`] drives the CLI.

mod before;
pub mod driver;
pub mod failure;
mod fuse;
mod order;
pub(super) mod place;
mod translate;
mod whole;
mod wire;

use crate::lines;
pub use driver::{Outcome, Run, Running, Stop};
pub use fuse::{Done, Fusion};
pub use translate::{Told, Translator};
pub use whole::{ended, whole};
