//! `pollux::api`, as far as frames need it: the program's own files. As a dependency the whole program would be built for the
//! fuzzer, web server, database and all, and that takes longer than the fuzzing.

#[path = "../../crates/pollux/src/api/bring.rs"]
mod bring;
#[path = "../../crates/pollux/src/api/frame.rs"]
mod frame;
#[path = "../../crates/pollux/src/api/http.rs"]
mod http;
#[path = "../../crates/pollux/src/api/session.rs"]
mod session;

pub use bring::{Bring, Said};
pub use frame::ClientFrame;
pub use http::Scope;
pub use session::Driver;

// What the daemon says of itself is not read by anybody here.
const VERSION: u32 = 1;
const FEATURES: &[&str] = &[];
const HEARTBEAT_SECONDS: u64 = 15;
