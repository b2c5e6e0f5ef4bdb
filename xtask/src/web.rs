//! The web app's own checks and tests, in a copy under the target directory: nothing is written into the sources.

use crate::release;
use crate::requirements::{self, Skipped};
use crate::shell::{self, present, say, target};
use crate::test::{TestCounts, build_program};
use anyhow::{Context, anyhow};
use pollux_e2e::{Cli, PINNED, in_ci};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The version of Gemini CLI that the browser tests start.
const NEWEST: &str = PINNED[2];

/// A part of the web app's checks and tests.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Part {
    /// Types, lints, formatting
    Check,
    /// Unit and property tests
    Unit,
    /// Tests in a real browser, some of them with the daemon and the real Gemini CLI
    Browser,
    /// Benchmarks in a real browser, with a release build of the daemon
    Speed,
    /// Update the screenshot `docs/pollux.png`
    Picture,
}

/// One part, or all.
pub(crate) fn run(part: Option<Part>) -> anyhow::Result<()> {
    match part {
        Some(Part::Check) => check(),
        Some(Part::Unit) => finish(&unit_tests()?),
        Some(Part::Speed) => copy()?.map_or(Ok(()), |copy| speed(&copy)),
        Some(Part::Browser) => copy()?.map_or(Ok(()), |copy| {
            build_program()?;
            finish(&in_browser(&copy)?)
        }),
        Some(Part::Picture) => copy()?.map_or(Ok(()), |copy| picture(&copy)),
        None => {
            check()?;
            build_program()?;
            finish(&test()?)
        }
    }
}

/// Fails if a test failed; for one part alone, vitest has printed the rest.
fn finish(counts: &TestCounts) -> anyhow::Result<()> {
    anyhow::ensure!(counts.failed == 0, "{} tests failed", counts.failed);
    Ok(())
}

/// Types, lints and formatting.
pub(crate) fn check() -> anyhow::Result<()> {
    let Some(copy) = copy()? else { return Ok(()) };
    npm(&copy, "run types")?;
    npm(&copy, "run lint")?;
    audit(&copy)
}

/// Known holes in the packages that the app is built from. Where no registry tells, that is said.
fn audit(copy: &Path) -> anyhow::Result<()> {
    let told = shell::capture_words(&in_place(copy, "audit --omit=dev --json"), &[])?;
    let object = serde_json::Deserializer::from_str(&told).into_iter::<Value>().next();
    let object = object.and_then(Result::ok).unwrap_or_default();
    let counts = &object["metadata"]["vulnerabilities"];
    let Some(all) = counts["total"].as_u64() else {
        say("*** NOT AUDITED: the npm registry returned no audit data ***");
        return Ok(());
    };
    let bad = ["high", "critical"].iter().filter_map(|level| counts[level].as_u64()).sum::<u64>();
    anyhow::ensure!(
        bad == 0,
        "{bad} packages of the web app have serious vulnerabilities\n\nhint: run `npm audit` in web/"
    );
    say(&format!("npm audit: no package of the web app has a serious vulnerability ({all} minor)"));
    Ok(())
}

/// Unit and property tests, then those in a browser against the program that was built.
pub(crate) fn test() -> anyhow::Result<TestCounts> {
    let mut counts = unit_tests()?;
    if let Some(copy) = copy()? {
        counts.add(in_browser(&copy)?);
    }
    Ok(counts)
}

/// Unit and property tests.
pub(crate) fn unit_tests() -> anyhow::Result<TestCounts> {
    let Some(copy) = copy()? else {
        let test = "web app (unit and browser tests)".to_owned();
        let skipped = vec![Skipped { test, reason: requirements::reason("npm") }];
        return Ok(TestCounts { skipped, ..TestCounts::default() });
    };
    vitest(&copy, "test")
}

fn ensure_browser() -> anyhow::Result<()> {
    requirements::install()?;
    anyhow::ensure!(requirements::is_installed("chromium"), requirements::reason("chromium"));
    Ok(())
}

/// One session of the real CLI, in its terminal and on a phone.
fn picture(copy: &Path) -> anyhow::Result<()> {
    ensure_browser()?;
    Cli::install(NEWEST)?;
    build_program()?;
    npm(copy, "run picture")
}

/// With the program that people have, whose figures are the ones that count.
fn speed(copy: &Path) -> anyhow::Result<()> {
    ensure_browser()?;
    Cli::install(NEWEST)?;
    release::program()?;
    npm(copy, "run build")?;
    npm_with(copy, "run speed", "release/pollux")
}

fn in_browser(copy: &Path) -> anyhow::Result<TestCounts> {
    if !requirements::is_installed("chromium") {
        return browser_tests_skipped(copy);
    }
    // The version that the tests start, if no other test has installed it yet.
    let cli = Cli::install(NEWEST)?;
    say(&format!("Gemini CLI {} is at {}", cli.version(), cli.program().display()));
    npm(copy, "run build")?;
    let mut counts = TestCounts::default();
    for script in ["e2e", "speed"] {
        counts.add(vitest(copy, script)?);
    }
    Ok(counts)
}

/// Names the tests that a missing browser prevents.
fn browser_tests_skipped(copy: &Path) -> anyhow::Result<TestCounts> {
    let reason = requirements::reason("chromium");
    anyhow::ensure!(!in_ci(), "{reason}");
    let line = "exec -- vitest list --config e2e/vitest.config.ts";
    let listed = shell::told_words(&in_place(copy, line), &[])?;
    let tests = listed.lines().filter(|line| line.contains(" > "));
    let skipped = tests.map(|test| Skipped { test: test.to_owned(), reason: reason.clone() });
    Ok(TestCounts { skipped: skipped.collect(), ..TestCounts::default() })
}

/// Runs one script of `package.json` that starts vitest, and reads the counts from its JSON report.
fn vitest(copy: &Path, script: &str) -> anyhow::Result<TestCounts> {
    let path = target().join(format!("web-{script}.json"));
    if path.exists() {
        fs::remove_file(&path)?;
    }
    let report = path.display();
    let ran = npm(
        copy,
        &format!("run {script} -- --reporter=default --reporter=json --outputFile={report}"),
    );
    let Ok(text) = fs::read_to_string(&path) else {
        return Err(ran.err().unwrap_or_else(|| anyhow!("{report} was not written")));
    };
    let report: Value = serde_json::from_str(&text)?;
    let count = |name: &str| report[name].as_u64().and_then(|count| usize::try_from(count).ok());
    let mut counts = TestCounts {
        passed: count("numPassedTests").unwrap_or(0),
        failed: count("numFailedTests").unwrap_or(0),
        ..TestCounts::default()
    };
    // A file that cannot be loaded has no tests that failed.
    if ran.is_err() && counts.failed == 0 {
        counts.failed = count("numFailedTestSuites").unwrap_or(0).max(1);
    }
    Ok(counts)
}

/// The sources beside their packages. None where there is no Node.
fn copy() -> anyhow::Result<Option<PathBuf>> {
    if !present("node") || !present("npm") {
        let text = "node and npm are not installed: the web app is not checked";
        anyhow::ensure!(!in_ci(), "{text}\n\nhint: install Node 20 or newer");
        say(&format!("\n*** NOT CHECKED: {text} ***\n"));
        return Ok(None);
    }
    let (from, to) = (shell::root().join("web"), target().join("web-check"));
    fs::create_dir_all(&to)?;
    clear(&to)?;
    copy_into(&from, &to).with_context(|| format!("could not copy {}", from.display()))?;
    let lock = fs::read(to.join("package-lock.json"))?;
    let stamp = to.join("node_modules/.pollux-lock");
    if fs::read(&stamp).ok().as_ref() != Some(&lock) {
        npm(&to, "ci --no-audit --no-fund --ignore-scripts")?;
        fs::write(stamp, lock)?;
    }
    Ok(Some(to))
}

/// All but the packages goes: a file that was removed must not be tested any more.
fn clear(place: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(place)? {
        let entry = entry?;
        if entry.file_name() == "node_modules" {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn copy_into(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == "node_modules" || name == "dist" {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(to.join(&name))?;
            copy_into(&entry.path(), &to.join(&name))?;
        } else {
            fs::copy(entry.path(), to.join(&name))?;
        }
    }
    Ok(())
}

fn in_place(place: &Path, words: &str) -> Vec<String> {
    let place = place.display().to_string();
    ["npm", "--prefix", &place].into_iter().chain(words.split(' ')).map(str::to_owned).collect()
}

fn npm(place: &Path, words: &str) -> anyhow::Result<()> {
    npm_with(place, words, "debug/pollux")
}

fn npm_with(place: &Path, words: &str, program: &str) -> anyhow::Result<()> {
    let target = target();
    let at = |name: &str| target.join(name).display().to_string();
    let gemini = target.join("gemini-cli").join(NEWEST).join("node_modules/.bin/gemini");
    let picture = shell::root().join("docs/pollux.png");
    let frames = shell::root().join("recordings/frames/headless-shell.jsonl");
    shell::run_words(
        &in_place(place, words),
        &[
            ("POLLUX_PROGRAM", &at(program)),
            ("POLLUX_WEB_SHOTS", &at("web/screenshots")),
            ("GEMINI_CLI_PATH", &gemini.display().to_string()),
            ("POLLUX_PICTURE", &picture.display().to_string()),
            ("POLLUX_FRAMES", &frames.display().to_string()),
        ],
    )
}
