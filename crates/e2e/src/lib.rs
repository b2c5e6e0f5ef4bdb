//! The stage for tests with the real Gemini CLI: pinned versions, a workspace, a private home, a rehearsal.
//!
//! [`Cli::all`] installs what is missing and gives the versions. A [`Stage`] has one of them, a script and an empty
//! workspace; it runs the CLI headless, as an ACP agent, or in a terminal. [`wait_for`] is how a test waits.
//!
//! ```no_run
//! use pollux_e2e::{Cli, Stage};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> anyhow::Result<()> {
//! for cli in Cli::all()? {
//!     let stage = Stage::with(&cli, "read-file").await?;
//!     let ran = stage.headless("read hello.txt", &["--yolo"]).await?;
//!     assert_eq!(ran.code, Some(0));
//!     let results = stage.rehearsal().journal().results();
//!     assert_eq!(results[0].0, "read_file");
//!     stage.close().await;
//! }
//! # Ok(())
//! # }
//! ```

mod cli;
pub mod home;
pub mod package;
pub mod pinned;
mod place;
mod requirements;
mod seed;
mod stage;
mod stream;
mod terminal;
mod wait;

pub use cli::{Cli, NEEDED};
pub use pinned::PINNED;
pub use place::{
    cycles, daemon_kills, in_ci, kills, prompts, repository, script, scripts, side_by_side, storm,
    target, terminals,
};
pub use requirements::{
    FAST_ENV, REQUIREMENTS, Requirement, SKIPPED_DIR_ENV, SkippedResult, is_skipped,
};
pub use seed::{SEED_ENV, seed, seeded_rng};
pub use stage::{Acp, Line, Ran, Stage};
pub use stream::outline;
pub use terminal::{Terminal, kill_server};
pub use wait::{wait_for, wait_until};
