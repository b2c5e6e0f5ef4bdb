//! `cargo xtask soak`: the test that goes on with a session, a hundred times instead of twice.

use crate::shell;

pub(crate) fn run(cycles: usize) -> anyhow::Result<()> {
    let test = "a_session_survives_being_gone_on_with_while_others_are_started";
    let line = format!("cargo test --quiet --package pollux-e2e --test it {test} -- --nocapture");
    shell::run_with(&line, &[("POLLUX_CYCLES", cycles.to_string().as_str())])
}
