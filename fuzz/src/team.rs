//! `pollux::team`, as far as profiles need it: the program's own files, as in `api`.

#[path = "../../crates/pollux/src/team/profile.rs"]
pub mod profile;
#[path = "../../crates/pollux/src/team/tools.rs"]
mod tools;
