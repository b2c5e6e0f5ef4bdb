//! A terminal as values: what stands on a screen, and the emulator that makes it from bytes. Knows nothing of Gemini.

mod emulator;
mod screen;

pub use emulator::{Emulator, HISTORY};
pub use screen::{Cursor, Screen, Size};
