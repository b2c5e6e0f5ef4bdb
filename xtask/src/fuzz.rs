//! `cargo xtask fuzz`: bytes that nobody has thought of, for a while.

use crate::shell::{self, present, root, run_with, say, target};
use anyhow::Context;
use std::fs;
use std::path::Path;

/// The targets in `fuzz/`, each with the kind and the ending of the recordings that it begins with.
const TARGETS: [(&str, &str, &str); 8] = [
    ("session_json", "sessions", ".json"),
    ("session_jsonl", "sessions", ".jsonl"),
    ("acp_lines", "acp", ".jsonl"),
    ("stream_json", "headless", ".stream.jsonl"),
    ("hook_payload", "hooks", ".json"),
    ("event_json", "", ""),
    ("claude_control", "", ""),
    ("screen", "tui", ".raw"),
];
/// Larger recordings make the fuzzer slow and teach it nothing.
const LARGEST_SEED: u64 = 64 << 10;

pub(crate) fn run(seconds: u64) -> anyhow::Result<()> {
    shell::run("cargo +nightly --version").context(
        "the fuzzer needs a nightly toolchain: `rustup toolchain install nightly --profile minimal`",
    )?;
    let fuzz = cargo_fuzz()?;
    let place = target().join("fuzz");
    for (name, kind, ending) in TARGETS {
        let corpus = place.join("corpus").join(name);
        let found = place.join("found").join(name);
        fs::create_dir_all(&found)?;
        let seeds = seed(&corpus, kind, ending)?;
        say(&format!("{name}: {seconds} seconds, from {seeds} recordings"));
        let line = format!(
            "{fuzz} run {name} {} --fuzz-dir fuzz --target-dir {} -- -max_total_time={seconds} \
             -max_len=65536 -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 -verbosity=0 -artifact_prefix={}/",
            corpus.display(),
            place.join("build").display(),
            found.display(),
        );
        run_with(&line, &[("RUSTUP_TOOLCHAIN", "nightly")])
            .with_context(|| format!("{name} found something: see {}", found.display()))?;
    }
    Ok(())
}

/// cargo-fuzz, from this machine or installed into `target/tools`.
fn cargo_fuzz() -> anyhow::Result<String> {
    if present("cargo-fuzz") {
        return Ok("cargo-fuzz".to_owned());
    }
    let tools = target().join("tools");
    let own = tools.join("bin/cargo-fuzz");
    if !own.exists() {
        say("installing cargo-fuzz into target/tools (once, a minute)");
        shell::run(&format!("cargo install cargo-fuzz --locked --root {}", tools.display()))
            .context("cargo-fuzz is missing and could not be installed")?;
    }
    Ok(own.display().to_string())
}

/// Puts recordings of a kind into a corpus. Gives how many.
fn seed(corpus: &Path, kind: &str, ending: &str) -> anyhow::Result<usize> {
    fs::create_dir_all(corpus)?;
    let mut seeds = 0;
    if kind.is_empty() {
        return Ok(seeds);
    }
    for version in fs::read_dir(root().join("recordings"))? {
        let version = version?;
        let Ok(sessions) = fs::read_dir(version.path().join(kind)) else { continue };
        for session in sessions {
            let session = session?;
            let path = session.path();
            let fits = session.metadata()?.len() <= LARGEST_SEED;
            if fits && path.to_string_lossy().ends_with(ending) {
                let name = version.file_name().to_string_lossy().into_owned();
                let name = format!("{name}-{}", session.file_name().to_string_lossy());
                fs::copy(&path, corpus.join(name))?;
                seeds += 1;
            }
        }
    }
    Ok(seeds)
}
