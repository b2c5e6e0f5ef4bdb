//! `cargo xtask docs`: the references in `docs/` that are made from the code. A test says when they are out of date.

use crate::shell;

pub(crate) fn run() -> anyhow::Result<()> {
    shell::run("cargo run --quiet --package pollux --example docs -- docs")
}
