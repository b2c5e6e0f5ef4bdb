//! `cargo xtask soak`: the test that goes on with a session, a hundred times instead of twice; `cargo xtask soak daemon`: the
//! tests that kill the daemon, at two hundred moments instead of a dozen; `cargo xtask soak teams`: a storm of letters, two
//! hundred instead of a dozen; `cargo xtask soak editor`: sessions that an editor lists, loads and forks, a hundred times instead of
//! twice.

use crate::shell;
use pollux_e2e::Cli;

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum What {
    Daemon,
    Teams,
    Editor,
}

/// Sessions that an editor lists, loads, goes on with and forks through `pollux acp`.
pub(crate) fn editor(cycles: usize) -> anyhow::Result<()> {
    let test = "sessions_are_listed_loaded_resumed_forked_and_closed_and_none_is_lost";
    let line = format!("cargo test --quiet --workspace --test it {test} -- --nocapture");
    shell::run_with(&line, &[("POLLUX_CYCLES", cycles.to_string().as_str())])
}

/// A storm of letters in which agents and the daemon are killed again and again.
pub(crate) fn teams(letters: usize) -> anyhow::Result<()> {
    let line = "cargo nextest run --workspace --profile soak --retries 0 in_a_storm --no-capture";
    let path = shell::path_with_tool("cargo-nextest")?;
    shell::run_with(line, &[("POLLUX_STORM", letters.to_string().as_str()), ("PATH", &path)])
}

/// Headless, over ACP and beside a terminal at the same time: a third of the kills each.
pub(crate) fn daemon(kills: usize) -> anyhow::Result<()> {
    let line = "cargo nextest run --workspace --profile soak --retries 0 --no-fail-fast";
    let line = format!("{line} killed_at_random_moments");
    let (path, kills) = (shell::path_with_tool("cargo-nextest")?, kills.div_ceil(3).to_string());
    shell::run_with(&line, &[("POLLUX_DAEMON_KILLS", kills.as_str()), ("PATH", &path)])
}

/// In every version: what is asked for by name is not shortened.
pub(crate) fn run(cycles: usize) -> anyhow::Result<()> {
    let test = "a_session_survives_being_gone_on_with_while_others_are_started";
    let line = format!("cargo test --quiet --workspace --test it {test} -- --nocapture");
    let (cycles, versions) = (cycles.to_string(), Cli::versions().join(","));
    shell::run_with(&line, &[("POLLUX_CYCLES", &cycles), ("POLLUX_GEMINI_ONLY", &versions)])
}
