//! The web app's own checks and tests, in a copy under the target directory: nothing is written into the sources.

use crate::release;
use crate::shell::{self, present, say, target};
use anyhow::Context;
use pollux_e2e::{Cli, PINNED, in_ci};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The version of the Gemini CLI that `web/e2e/house.ts` starts.
const NEWEST: &str = PINNED[2];
/// Where Debian has its browser, and what it has of it without windows: with that one most tests take half as long.
const CHROMIUM: &str = "/usr/bin/chromium";
const WINDOWLESS: &str = "/usr/bin/chromium-headless-shell";

/// A part of the web app's checks and tests.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Part {
    /// Types, lints, formatting
    Check,
    /// Unit and property tests
    Unit,
    /// Tests in a real browser, some of them with the daemon and the real Gemini CLI
    Browser,
    /// Figures in a real browser, some of them with the daemon: a release build
    Speed,
    /// Makes the picture of the README, `docs/pollux.png`, anew
    Picture,
}

/// One part, or all.
pub(crate) fn run(part: Option<Part>) -> anyhow::Result<()> {
    match part {
        Some(Part::Check) => check(),
        Some(Part::Unit) => copy()?.map_or(Ok(()), |copy| npm(&copy, "test")),
        Some(Part::Speed) => copy()?.map_or(Ok(()), |copy| speed(&copy)),
        Some(Part::Browser) => copy()?.map_or(Ok(()), |copy| {
            build()?;
            in_browser(&copy)
        }),
        Some(Part::Picture) => copy()?.map_or(Ok(()), |copy| picture(&copy)),
        None => check().and_then(|()| build()).and_then(|()| test()),
    }
}

/// The program that the browser is given. `cargo xtask test` has it already, built with what its tests want of the same crates:
/// to build it alone would be to build those once more.
fn build() -> anyhow::Result<()> {
    shell::run("cargo build --locked -p pollux")
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
        say("*** NOT AUDITED: the npm registry does not tell of known holes here ***");
        return Ok(());
    };
    let bad = ["high", "critical"].iter().filter_map(|level| counts[level].as_u64()).sum::<u64>();
    anyhow::ensure!(
        bad == 0,
        "{bad} packages of the web app have known holes: `npm audit` in web/"
    );
    say(&format!(
        "as it should be: no package of the web app has a serious known hole ({all} others)"
    ));
    Ok(())
}

/// Unit and property tests; then, where a browser is, those in the browser against the program that was built.
pub(crate) fn test() -> anyhow::Result<()> {
    let Some(copy) = copy()? else { return Ok(()) };
    npm(&copy, "test")?;
    in_browser(&copy)
}

/// One session of the real CLI, in its terminal and on a phone.
fn picture(copy: &Path) -> anyhow::Result<()> {
    anyhow::ensure!(browser()?, "chromium was not found\n\nhint: install Debian's `chromium`");
    Cli::install(NEWEST)?;
    build()?;
    npm(copy, "run picture")
}

/// With the program that people have, whose figures are the ones that count.
fn speed(copy: &Path) -> anyhow::Result<()> {
    anyhow::ensure!(browser()?, "chromium was not found\n\nhint: install Debian's `chromium`");
    Cli::install(NEWEST)?;
    release::program()?;
    npm(copy, "run build")?;
    npm_with(copy, "run speed", "release/pollux")
}

fn in_browser(copy: &Path) -> anyhow::Result<()> {
    if !browser()? {
        let text = "chromium was not found: the web app is not tested in a browser";
        anyhow::ensure!(!in_ci(), "{text}\n\nhint: install Debian's `chromium`");
        say(&format!("\n*** NOT TESTED: {text} ***\n"));
        return Ok(());
    }
    // The version that the tests start, where no other test has installed it yet.
    let cli = Cli::install(NEWEST)?;
    say(&format!("Gemini CLI {} is at {}", cli.version(), cli.program().display()));
    npm(copy, "run build")?;
    npm(copy, "run e2e")?;
    // One long story of a phone, a daemon and the real CLI: where it misses a moment, it is told from its beginning again.
    if npm(copy, "run story").is_err() {
        say("\n*** the story with the real CLI failed, and is tried once more ***\n");
        npm(copy, "run story")?;
    }
    npm(copy, "run speed")
}

/// The browser is Debian's own: it is installed where we may.
pub(crate) fn browser() -> anyhow::Result<bool> {
    let may = rustix::process::geteuid().is_root() && present("apt-get");
    let lacks = |program: &str| may && !Path::new(program).exists();
    if lacks(CHROMIUM) || lacks(WINDOWLESS) {
        shell::run("apt-get update --quiet=2")?;
    }
    if lacks(CHROMIUM) {
        shell::run("apt-get install --quiet=2 --yes chromium")?;
    }
    // Not every system has it, and it only saves time.
    if lacks(WINDOWLESS)
        && shell::run("apt-get install --quiet=2 --yes chromium-headless-shell").is_err()
    {
        say("no browser without windows is to be had: the whole one does");
    }
    Ok(Path::new(CHROMIUM).exists())
}

/// The sources beside their packages. None where there is no Node.
fn copy() -> anyhow::Result<Option<PathBuf>> {
    if !present("node") || !present("npm") {
        let text = "node and npm were not found: the web app is not checked";
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
    let picture = shell::root().join("docs/pollux.png");
    let frames = shell::root().join("recordings/frames/headless-shell.jsonl");
    shell::run_words(
        &in_place(place, words),
        &[
            ("POLLUX_PROGRAM", &at(program)),
            ("POLLUX_WEB_SHOTS", &at("web/screenshots")),
            ("POLLUX_GEMINI_CLI", &at("gemini-cli")),
            ("POLLUX_PICTURE", &picture.display().to_string()),
            ("POLLUX_FRAMES", &frames.display().to_string()),
        ],
    )
}
