//! `cargo xtask types`: the types of the API in TypeScript. A test says when they are out of date.

use crate::shell;

pub(crate) fn run() -> anyhow::Result<()> {
    shell::run("cargo run --quiet --package pollux --example types -- web/src/api/types.ts")
}
