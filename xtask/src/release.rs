//! What is measured is built once, for all figures: each selection of packages has features of its own, and with them a build
//! of minutes.

use crate::shell;
use std::path::PathBuf;

/// Builds all that is measured and gives the program.
pub(crate) fn program() -> anyhow::Result<PathBuf> {
    shell::run("cargo build --quiet --release --locked --workspace --bins --examples")?;
    Ok(place().join("pollux"))
}

/// The same for an example, which measures from inside.
pub(crate) fn example(name: &str) -> anyhow::Result<PathBuf> {
    program()?;
    Ok(place().join("examples").join(name))
}

/// Does the same once more, in a process that is as fast as what people have: some figures are taken from inside.
pub(crate) fn again() -> anyhow::Result<()> {
    program()?;
    let own = place().join("xtask").display().to_string();
    let words: Vec<String> = [own].into_iter().chain(std::env::args().skip(1)).collect();
    shell::run_words(&words, &[])
}

fn place() -> PathBuf {
    shell::target().join("release")
}
