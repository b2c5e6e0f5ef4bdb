//! Where things are. The only module of this crate that reads the environment.
#![expect(clippy::disallowed_methods, reason = "this is the module that reads the environment")]

use anyhow::Context;
use pollux_rehearsal::Script;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The root of the repository.
pub fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// Where cargo builds to.
pub fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from)
}

/// Whether this is a CI run, where nothing may be left out.
pub fn in_ci() -> bool {
    env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false")
}

/// How many runs are tried side by side: a few, or as many as `POLLUX_SIDE_BY_SIDE` says.
pub fn side_by_side() -> usize {
    env::var("POLLUX_SIDE_BY_SIDE").ok().and_then(|number| number.parse().ok()).unwrap_or(20)
}

/// How many runs are killed, each at another moment: a few, or as many as `POLLUX_KILLS` says.
pub fn kills() -> u64 {
    env::var("POLLUX_KILLS").ok().and_then(|number| number.parse().ok()).unwrap_or(8)
}

/// How often a daemon is killed: a few times, or as often as `POLLUX_DAEMON_KILLS` says.
pub fn daemon_kills() -> usize {
    env::var("POLLUX_DAEMON_KILLS").ok().and_then(|number| number.parse().ok()).unwrap_or(3)
}

/// How many letters a storm has: a few, or as many as `POLLUX_STORM` says.
pub fn storm() -> usize {
    env::var("POLLUX_STORM").ok().and_then(|number| number.parse().ok()).unwrap_or(10)
}

/// How often a session is gone on with: twice, or as often as `POLLUX_CYCLES` says.
pub fn cycles() -> usize {
    env::var("POLLUX_CYCLES").ok().and_then(|number| number.parse().ok()).unwrap_or(2)
}

/// How many prompts a long conversation in a terminal has: a few, or as many as `POLLUX_PROMPTS` says.
pub fn prompts() -> usize {
    env::var("POLLUX_PROMPTS").ok().and_then(|number| number.parse().ok()).unwrap_or(5)
}

/// How many agents are in terminals at the same time: a few, or as many as `POLLUX_TERMINALS` says.
pub fn terminals() -> usize {
    env::var("POLLUX_TERMINALS").ok().and_then(|number| number.parse().ok()).unwrap_or(6)
}

/// Versions that the user adds to the pinned ones: `POLLUX_GEMINI_VERSIONS=0.53.0,0.57.0`.
pub(crate) fn added_versions() -> Vec<String> {
    versions_in("POLLUX_GEMINI_VERSIONS")
}

/// The only versions to run: `POLLUX_GEMINI_ONLY`, for one column of the matrix.
pub(crate) fn only_versions() -> Vec<String> {
    versions_in("POLLUX_GEMINI_ONLY")
}

fn versions_in(name: &str) -> Vec<String> {
    let list = env::var(name).unwrap_or_default();
    list.split([',', ' ']).filter(|version| !version.is_empty()).map(str::to_owned).collect()
}

/// Variables that would change what the CLI does, whoever runs the tests.
pub(crate) fn disturbing() -> Vec<String> {
    let disturbs = |name: &String| {
        ["GEMINI_", "GOOGLE_", "POLLUX_"].iter().any(|prefix| name.starts_with(prefix))
            || ["CI", "GITHUB_ACTIONS", "SANDBOX", "TMUX", "NO_COLOR"].contains(&name.as_str())
    };
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    names.filter(disturbs).collect()
}

/// A script of the library.
pub fn script(name: &str) -> anyhow::Result<Script> {
    let path = repository().join("scripts").join(format!("{name}.toml"));
    let text =
        fs::read_to_string(&path).with_context(|| format!("no script {}", path.display()))?;
    text.parse().map_err(|wrong| anyhow::anyhow!("{}: {wrong}", path.display()))
}

/// All scripts of the library, by name.
pub fn scripts() -> anyhow::Result<Vec<(String, Script)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(repository().join("scripts"))? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let read = script(&name)?;
        all.push((name, read));
    }
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(all)
}
