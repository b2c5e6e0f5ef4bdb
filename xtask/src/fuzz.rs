//! `cargo xtask fuzz`: bytes that nobody has thought of, for a while.

use crate::shell::{self, present, root, run_words, say, target, words_and};
use anyhow::{Context, anyhow};
use std::fs;
use std::path::Path;
use std::thread::{self, ScopedJoinHandle};

/// What the sanitizers need.
const NIGHTLY: [(&str, &str); 1] = [("RUSTUP_TOOLCHAIN", "nightly")];

/// A target in `fuzz/`, with the kind and the ending of the recordings that it begins with.
type Target = (&'static str, &'static str, &'static str);

const TARGETS: [Target; 11] = [
    ("session_json", "sessions", ".json"),
    ("session_jsonl", "sessions", ".jsonl"),
    ("acp_lines", "acp", ".jsonl"),
    ("stream_json", "headless", ".stream.jsonl"),
    ("hook_payload", "hooks", ".json"),
    ("event_json", "", ""),
    ("claude_control", "", ""),
    ("screen", "tui", ".raw"),
    ("client_frame", "", ""),
    ("profile", "", ""),
    ("tmux_lines", "", ""),
];
/// Larger recordings make the fuzzer slow and teach it nothing.
const LARGEST_SEED: u64 = 64 << 10;

pub(crate) fn run(seconds: u64) -> anyhow::Result<()> {
    shell::run("cargo +nightly --version").context(
        "the fuzzer needs a nightly toolchain: `rustup toolchain install nightly --profile minimal`",
    )?;
    let fuzz = cargo_fuzz()?;
    let place = target().join("fuzz");
    let build = place.join("build").display().to_string();
    let all = [fuzz.as_str(), "build", "--fuzz-dir", "fuzz", "--target-dir", &build];
    run_words(&words_and("", &all), &NIGHTLY)?;
    let (fuzz, place) = (&fuzz, &place);
    // One for each core of a small machine: a fuzzer keeps one busy.
    for pair in TARGETS.chunks(2) {
        thread::scope(|scope| {
            let start = |target| scope.spawn(move || fuzz_one(fuzz, place, target, seconds));
            let running: Vec<_> = pair.iter().map(start).collect();
            let ended = |it: ScopedJoinHandle<'_, _>| {
                it.join().unwrap_or_else(|_| Err(anyhow!("it panicked")))
            };
            running.into_iter().try_for_each(ended)
        })?;
    }
    Ok(())
}

/// One target, for a while.
fn fuzz_one(fuzz: &str, place: &Path, target: &Target, seconds: u64) -> anyhow::Result<()> {
    let (name, kind, ending) = *target;
    let corpus = place.join("corpus").join(name);
    let found = place.join("found").join(name);
    fs::create_dir_all(&found)?;
    let seeds = seed(&corpus, kind, ending)?;
    say(&format!("{name}: {seconds} seconds, from {seeds} seeds"));
    let (corpus, build) = (corpus.display().to_string(), place.join("build").display().to_string());
    let time = format!("-max_total_time={seconds}");
    let prefix = format!("-artifact_prefix={}/", found.display());
    let line = [fuzz, "run", name, &corpus, "--fuzz-dir", "fuzz", "--target-dir", &build, "--"];
    let limits = ["-max_len=65536", "-timeout=10", "-rss_limit_mb=4096"];
    let says = ["-print_final_stats=1", "-verbosity=0", &time, &prefix];
    let line = words_and("", &[line.as_slice(), &limits, &says].concat());
    run_words(&line, &NIGHTLY)
        .with_context(|| format!("{name} found something: see {}", found.display()))
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
        let line = "cargo install cargo-fuzz --locked --root";
        run_words(&words_and(line, &[tools.display()]), &[])
            .context("cargo-fuzz is missing and could not be installed")?;
    }
    Ok(own.display().to_string())
}

/// Puts recordings of a kind into a corpus, and what stands in `fuzz/seeds` for the target. Gives how many.
fn seed(corpus: &Path, kind: &str, ending: &str) -> anyhow::Result<usize> {
    fs::create_dir_all(corpus)?;
    let mut seeds = 0;
    let own = root().join("fuzz/seeds").join(corpus.file_name().unwrap_or_default());
    for seed in fs::read_dir(own).into_iter().flatten().flatten() {
        fs::copy(seed.path(), corpus.join(seed.file_name()))?;
        seeds += 1;
    }
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
