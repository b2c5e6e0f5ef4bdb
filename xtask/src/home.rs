//! `cargo xtask try …`: the program on the recorded sessions, for somebody who has none of their own.

use crate::shell::{root, run_words, say, target, words, words_and};
use std::fs;

pub(crate) fn run(rest: &[String]) -> anyhow::Result<()> {
    let home = target().join("home");
    if home.exists() {
        fs::remove_dir_all(&home)?;
    }
    pollux_e2e::home::lay_out(&root().join("recordings"), &home)?;
    say(&format!("recorded sessions: GEMINI_CLI_HOME={0}", home.display()));
    let rest = if rest.is_empty() { words("sessions list") } else { rest.to_vec() };
    let home = home.display().to_string();
    let line = words_and("cargo run --quiet --release --package pollux --", &rest);
    run_words(&line, &[("GEMINI_CLI_HOME", &home)])
}
