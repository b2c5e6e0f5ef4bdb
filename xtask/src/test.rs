//! `cargo xtask test`: all tests, with the same command for a contributor and for CI.
//!
//! The end of the output names the tests that were skipped or retried, then how long each part took, then the counts.

use crate::node;
use crate::requirements::{self, Skipped};
use crate::shell::{self, present, run_with, run_words, say, target, words_and};
use crate::web;
use anyhow::{Context, anyhow, ensure};
use pollux_e2e::pinned::{LAST_WITHOUT_DRIVERS, NPM, PYTHON};
use pollux_e2e::{Cli, FAST_ENV, SEED_ENV, SKIPPED_DIR_ENV, seed};
use quick_junit::{Report, TestCaseStatus};
use regex::Regex;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// What a run of tests counted.
#[derive(Debug, Default)]
pub(crate) struct TestCounts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: Vec<Skipped>,
    /// The tests that failed first and passed when they were retried.
    pub(crate) retried: Vec<String>,
}

impl TestCounts {
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped.extend(other.skipped);
        self.retried.extend(other.retried);
    }
}

/// Which tests to run.
#[derive(Debug, clap::Args)]
pub(crate) struct TestArgs {
    /// Skip the tests that need a real agent or a browser
    #[arg(long)]
    fast: bool,
    /// Arguments for the test runner, e.g. part of a test name
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

pub(crate) fn run(args: &TestArgs) -> anyhow::Result<()> {
    let is_whole = args.rest.is_empty();
    let mut times = Times::default();
    // Downloads wait for the network while the machine builds.
    thread::scope(|scope| {
        let fetched = scope.spawn(|| if args.fast { Ok(()) } else { fetch(is_whole) });
        build()?;
        fetched.join().unwrap_or_else(|_| Err(anyhow!("the download thread panicked")))
    })?;
    times.end("build");
    let mut counts = rust_tests(args)?;
    times.end("Rust tests");
    if is_whole {
        // The examples in the documentation are tests as well; nextest does not run them.
        counts.add(doc_tests()?);
        times.end("doc tests");
        counts.add(if args.fast { web::unit_tests()? } else { web::test()? });
        times.end("web app");
    }
    report(&counts, &times)
}

/// How long each part took.
#[derive(Debug)]
struct Times {
    since: Instant,
    parts: Vec<(&'static str, Duration)>,
}

impl Default for Times {
    fn default() -> Self {
        Self { since: Instant::now(), parts: Vec::new() }
    }
}

impl Times {
    fn end(&mut self, part: &'static str) {
        self.parts.push((part, self.since.elapsed()));
        self.since = Instant::now();
    }
}

fn report(counts: &TestCounts, times: &Times) -> anyhow::Result<()> {
    let mut reasons: Vec<&str> = counts.skipped.iter().map(|it| it.reason.as_str()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    for reason in reasons {
        say(&format!("\nskipped, {reason}:"));
        for skipped in counts.skipped.iter().filter(|it| it.reason == reason) {
            say(&format!("  {}", skipped.test));
        }
    }
    if !counts.retried.is_empty() {
        say("\nretried (see .config/nextest.toml):");
        for test in &counts.retried {
            say(&format!("  {test}"));
        }
    }
    let parts: Vec<String> =
        times.parts.iter().map(|(part, time)| format!("{part} {} s", time.as_secs())).collect();
    say(&format!("\ntimes: {}", parts.join(", ")));
    say(&format!(
        "{} passed, {} failed, {} skipped",
        counts.passed,
        counts.failed,
        counts.skipped.len()
    ));
    ensure!(counts.failed == 0, "{} tests failed", counts.failed);
    Ok(())
}

fn build() -> anyhow::Result<()> {
    if present("cargo-nextest") {
        return shell::run("cargo nextest run --workspace --locked --no-run");
    }
    say("cargo-nextest is not installed; running the slower `cargo test` instead");
    shell::run("cargo test --workspace --locked --all-targets --no-run")
}

fn rust_tests(args: &TestArgs) -> anyhow::Result<TestCounts> {
    let skipped_dir = requirements::empty_skipped_dir()?;
    let mut env = node::env();
    env.push((SKIPPED_DIR_ENV, skipped_dir.display().to_string()));
    if args.fast {
        env.push((FAST_ENV, "1".to_owned()));
    }
    // One seed for all random tests of a run: ours, and those of proptest.
    let seed = seed().to_string();
    say(&format!("random tests: repeat with {SEED_ENV}={seed}"));
    env.extend([(SEED_ENV, seed.clone()), ("PROPTEST_RNG_SEED", seed)]);
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut counts = if present("cargo-nextest") {
        // Twice as many as there are cores: tests spend much of their time waiting for other programs.
        let threads = thread::available_parallelism().map_or(2, |cores| 2 * cores.get());
        let line = format!(
            "cargo nextest run --workspace --locked --no-fail-fast --test-threads {threads}"
        );
        nextest(&words_and(&line, &args.rest), &env)?
    } else {
        let line = "cargo test --workspace --locked --all-targets --no-fail-fast";
        cargo_test(&words_and(line, &args.rest), &env)?
    };
    counts.skipped = requirements::skipped_tests(&skipped_dir)?;
    // A skipped test returns early, which the test runner counts as passed.
    counts.passed = counts.passed.saturating_sub(counts.skipped.len());
    Ok(counts)
}

/// Runs nextest and reads the counts from its XML report.
fn nextest(words: &[String], env: &[(&str, &str)]) -> anyhow::Result<TestCounts> {
    let path = target().join("nextest/default/junit.xml");
    if path.exists() {
        fs::remove_file(&path)?;
    }
    let ran = run_words(words, env);
    let Ok(text) = fs::read_to_string(&path) else {
        return Err(ran.err().unwrap_or_else(|| anyhow!("{} was not written", path.display())));
    };
    let report = Report::deserialize_from_str(&text)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let mut counts = TestCounts::default();
    for suite in &report.test_suites {
        for case in &suite.test_cases {
            match &case.status {
                TestCaseStatus::Success { flaky_runs, .. } => {
                    counts.passed += 1;
                    if !flaky_runs.is_empty() {
                        counts.retried.push(format!(
                            "{} {}",
                            suite.name.as_str(),
                            case.name.as_str()
                        ));
                    }
                }
                TestCaseStatus::NonSuccess { .. } => counts.failed += 1,
                TestCaseStatus::Skipped { .. } => {}
            }
        }
    }
    // What nextest itself refuses, for instance a wrong filter, is in no report.
    if counts.failed == 0 {
        ran?;
    }
    Ok(counts)
}

/// Runs `cargo test` and adds up its result lines.
fn cargo_test(words: &[String], env: &[(&str, &str)]) -> anyhow::Result<TestCounts> {
    let result = Regex::new(r"^test result: \w+\. (\d+) passed; (\d+) failed;")?;
    let mut counts = TestCounts::default();
    let ran = shell::run_with_lines(words, env, &mut |line| {
        if let Some(found) = result.captures(line) {
            counts.passed += found[1].parse().unwrap_or(0);
            counts.failed += found[2].parse().unwrap_or(0);
        }
    });
    if counts.failed == 0 {
        ran?;
    }
    Ok(counts)
}

fn doc_tests() -> anyhow::Result<TestCounts> {
    cargo_test(&shell::words("cargo test --workspace --locked --doc"), &[])
}

/// Installs what the tests need. What only single tests need is installed by them when `all` is false.
pub(crate) fn fetch(all: bool) -> anyhow::Result<()> {
    requirements::install()?;
    if requirements::is_installed("npm") {
        for cli in Cli::all()?.into_iter().chain([Cli::install(LAST_WITHOUT_DRIVERS)?]) {
            say(&format!("Gemini CLI {} is at {}", cli.version(), cli.program().display()));
        }
        node::env();
        for package in NPM.iter().filter(|_| all) {
            package.npm()?;
        }
    }
    if all && requirements::is_installed("python") {
        for package in PYTHON {
            package.python()?;
        }
    }
    Ok(())
}

/// Builds the program that the browser tests start, as part of the workspace so that no crate is built twice.
pub(crate) fn build_program() -> anyhow::Result<()> {
    run_with("cargo build --locked -p pollux", &[])
}
