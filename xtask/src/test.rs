//! All tests: the same command for a newcomer and for CI.

use crate::shell::{self, present, say};

pub(crate) fn run(rest: &[String]) -> anyhow::Result<()> {
    let rest = rest.join(" ");
    if present("cargo-nextest") {
        shell::run(&format!("cargo nextest run --workspace --locked {rest}"))?;
    } else {
        say("cargo-nextest is not here; `cargo test` runs the same tests more slowly");
        shell::run(&format!("cargo test --workspace --locked --all-targets {rest}"))?;
    }
    if rest.is_empty() {
        // The examples in the documentation are tests as well; nextest does not run them.
        shell::run("cargo test --workspace --locked --doc")?;
    }
    Ok(())
}
