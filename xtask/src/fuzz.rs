//! `cargo xtask fuzz`: bytes that nobody has thought of, for a while.
//!
//! The fuzzer is LLVM's, in the programs themselves. They are built with what it needs to see which way bytes go, and without a sanitizer:
//! none of our code in them is `unsafe`. So any toolchain will do, and nothing need be installed.

use crate::package;
use crate::shell::{root, run_words, say, target, words, words_and};
use anyhow::{Context, anyhow};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::{self, ScopedJoinHandle};

/// Has each branch counted, as `cargo fuzz build --sanitizer none` would.
const COUNTED: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table";

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
    let place = target().join("fuzz");
    let programs = build()?;
    let (programs, place) = (&programs, &place);
    // One for each core of a small machine: a fuzzer keeps one busy.
    for pair in TARGETS.chunks(2) {
        thread::scope(|scope| {
            let start = |target| scope.spawn(move || fuzz_one(programs, place, target, seconds));
            let running: Vec<_> = pair.iter().map(start).collect();
            let ended = |it: ScopedJoinHandle<'_, _>| {
                it.join().unwrap_or_else(|_| Err(anyhow!("a fuzzing thread panicked")))
            };
            running.into_iter().try_for_each(ended)
        })?;
    }
    Ok(())
}

/// Builds all targets and gives the directory that they are in.
pub(crate) fn build() -> anyhow::Result<PathBuf> {
    let place = target().join("fuzz/build");
    // For a named target, even if it is this machine: else what runs while building would be counted too.
    let host = package::host()?;
    let line = "cargo build --locked --bins --manifest-path fuzz/Cargo.toml --target-dir";
    let line = words_and(line, &[&place.display().to_string(), "--target", &host]);
    run_words(&line, &[("RUSTFLAGS", COUNTED)])?;
    Ok(place.join(host).join("debug"))
}

/// One target, for a while.
fn fuzz_one(programs: &Path, place: &Path, target: &Target, seconds: u64) -> anyhow::Result<()> {
    let (name, kind, ending) = *target;
    let corpus = place.join("corpus").join(name);
    let found = place.join("found").join(name);
    fs::create_dir_all(&found)?;
    let seeds = seed(&corpus, kind, ending)?;
    say(&format!("{name}: {seconds} seconds, from {seeds} seeds"));
    let time = format!("-max_total_time={seconds}");
    let prefix = format!("-artifact_prefix={}/", found.display());
    let limits = "-max_len=65536 -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 -verbosity=0";
    let program = [programs.join(name).display().to_string(), corpus.display().to_string()];
    let line = [program.to_vec(), words(limits), vec![time, prefix]].concat();
    run_words(&line, &[])
        .with_context(|| format!("{name} found a failing input: see {}", found.display()))
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
