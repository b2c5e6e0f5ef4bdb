//! All that is checked without running the code.

use crate::shell::{self, present, run_with, say, target};
use crate::web;

/// The walls between crates: what the library must not be able to reach.
const WALLS: [&str; 2] = ["clap", "axum"];

pub(crate) fn run() -> anyhow::Result<()> {
    shell::run("cargo fmt --all --check")?;
    shell::run("cargo clippy --workspace --all-targets --locked -- -D warnings")?;
    run_with(
        "cargo doc --workspace --no-deps --document-private-items --locked",
        &[("RUSTDOCFLAGS", "-D warnings")],
    )?;
    walls()?;
    deny()?;
    web::check()
}

fn walls() -> anyhow::Result<()> {
    for wall in WALLS {
        let tree = format!("cargo tree --quiet --package pollux-agent --invert {wall}");
        anyhow::ensure!(shell::run(&tree).is_err(), "pollux-agent must not depend on `{wall}`");
        say(&format!("as it should be: the library cannot reach `{wall}`"));
    }
    Ok(())
}

/// Licences, bans and sources need no network beyond the registry; advisories do, and are left out.
fn deny() -> anyhow::Result<()> {
    let tools = target().join("tools");
    let own = tools.join("bin/cargo-deny");
    let deny = if present("cargo-deny") {
        "cargo-deny".to_owned()
    } else {
        if !own.exists() {
            say("installing cargo-deny into target/tools (once, some minutes)");
            shell::run(&format!(
                "cargo install cargo-deny --locked --debug --root {}",
                tools.display()
            ))?;
        }
        own.display().to_string()
    };
    shell::run(&format!("{deny} check licenses bans sources"))
}
