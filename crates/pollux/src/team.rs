//! Teams: agents that hand work to agents. What is here is pure, apart from `store`, which reads profiles from disk:
//! profiles, what one process is given, the life of a job, whose letter is next, what a worker may.
//!
//! The daemon (`daemon::team`) does what these rules decide.

pub mod given;
pub mod job;
pub mod limits;
pub mod post;
pub mod profile;
pub mod schedule;
pub mod store;
pub mod tools;
