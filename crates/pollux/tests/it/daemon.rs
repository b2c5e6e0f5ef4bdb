//! The daemon: over real HTTP and sockets, with the real Gemini CLI where an agent is needed, and with one that says
//! what it is told to where it is about numbers.

mod afar;
mod api;
mod call;
mod door;
mod frames;
mod full;
mod guests;
mod hard;
pub(crate) mod house;
mod late;
mod live;
mod one;
mod reconnect;
pub(crate) mod recovery;
mod terminal;
mod told;
