//! All that is checked without running the code.

use crate::licences;
use crate::shell::{self, run_with, say};
use crate::test_rules;
use crate::web;
use crate::wording;
use anyhow::Context;

/// The walls between crates: what the library must not be able to reach.
const WALLS: [&str; 2] = ["clap", "axum"];

/// A part of what is checked.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Part {
    /// Formatting, lints and allowed dependencies between crates
    Code,
    /// Rust documentation
    Docs,
    /// Licences and sources of the dependencies
    Licences,
    /// Types, lints and known vulnerabilities of the web app
    Web,
}

/// One part, or all.
pub(crate) fn run(part: Option<Part>) -> anyhow::Result<()> {
    match part {
        Some(Part::Code) => code(),
        Some(Part::Docs) => docs(),
        Some(Part::Licences) => licences::check(),
        Some(Part::Web) => web::check(),
        None => {
            code()?;
            docs()?;
            licences::check()?;
            web::check()
        }
    }
}

fn code() -> anyhow::Result<()> {
    shell::run("cargo fmt --all --check")?;
    fuzz_lock()?;
    shell::run("cargo clippy --workspace --all-targets --locked -- -D warnings")?;
    walls()?;
    test_rules::check()?;
    wording::check()
}

fn docs() -> anyhow::Result<()> {
    let line = "cargo doc --workspace --no-deps --document-private-items --locked";
    run_with(line, &[("RUSTDOCFLAGS", "-D warnings")])
}

/// The fuzz targets are a workspace of their own: what the library depends on newly must be in their lock file too.
fn fuzz_lock() -> anyhow::Result<()> {
    let line = "cargo metadata --quiet --locked --format-version 1 --manifest-path fuzz/Cargo.toml";
    shell::told(line).map(drop).context("hint: cargo update --workspace in fuzz/")
}

fn walls() -> anyhow::Result<()> {
    // A name, a version and perhaps a place on each line.
    let tree =
        "cargo tree --quiet --locked --package pollux-agent --edges normal,build --prefix none";
    let tree = shell::told(tree)?;
    let reaches = |name: &str| tree.lines().any(|line| line.split(' ').next() == Some(name));
    anyhow::ensure!(reaches("pollux-agent"), "`cargo tree` did not list pollux-agent:\n{tree}");
    for wall in WALLS {
        anyhow::ensure!(!reaches(wall), "pollux-agent must not depend on `{wall}`");
        say(&format!("pollux-agent does not depend on `{wall}`: OK"));
    }
    Ok(())
}
