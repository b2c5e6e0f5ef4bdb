//! The programs that tests need: installs them where possible, names those that are missing, and lists the tests that were skipped.

use crate::shell::{self, present, say, target};
use anyhow::{Context, bail};
use pollux_e2e::pinned::{CHROMIUM, CHROMIUM_HEADLESS_SHELL, DebianPackage, TMUX};
use pollux_e2e::{REQUIREMENTS, Requirement, in_ci};
use std::fs;
use std::path::{Path, PathBuf};

/// A test that did not run.
#[derive(Debug)]
pub(crate) struct Skipped {
    pub(crate) test: String,
    pub(crate) reason: String,
}

/// Installs Debian's packages where that is permitted, then prints one message for each program that is still missing. In CI a
/// missing program is a failure.
pub(crate) fn install() -> anyhow::Result<()> {
    let missing = |package: &DebianPackage| match package.name {
        "tmux" => !is_installed("tmux"),
        _ => !Path::new(package.program).exists(),
    };
    let wanted: Vec<DebianPackage> =
        [TMUX, CHROMIUM, CHROMIUM_HEADLESS_SHELL].into_iter().filter(missing).collect();
    let is_permitted = rustix::process::geteuid().is_root() && present("apt-get");
    if is_permitted && !wanted.is_empty() {
        shell::run("apt-get update --quiet=2")?;
        for package in wanted {
            apt_install(&package)?;
        }
    }
    let missing: Vec<Requirement> =
        REQUIREMENTS.into_iter().filter(|requirement| !requirement.is_installed()).collect();
    for requirement in &missing {
        say(&format!(
            "warning: {} not found; tests that need it are skipped\nhint: install {}",
            requirement.name, requirement.package
        ));
    }
    if in_ci() && !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|requirement| requirement.name).collect();
        bail!("CI runs every test, and these programs are missing: {}", names.join(", "));
    }
    Ok(())
}

/// The pinned version if Debian still has it, else the one that it has now.
fn apt_install(package: &DebianPackage) -> anyhow::Result<()> {
    let (name, version) = (package.name, package.version);
    if shell::run(&format!("apt-get install --quiet=2 --yes {name}={version}")).is_ok() {
        return Ok(());
    }
    say(&format!(
        "warning: Debian no longer has {name} {version}; installing its current version\n\
         hint: update crates/e2e/src/pinned.rs"
    ));
    let installed = shell::run(&format!("apt-get install --quiet=2 --yes {name}"));
    // The browser without windows only saves time, and some systems lack it.
    if name == CHROMIUM_HEADLESS_SHELL.name && installed.is_err() {
        say("chromium-headless-shell is not available; using the full browser");
        return Ok(());
    }
    installed
}

pub(crate) fn is_installed(name: &str) -> bool {
    Requirement::find(name).is_some_and(Requirement::is_installed)
}

/// Why tests that need this program are skipped.
pub(crate) fn reason(name: &str) -> String {
    let package = Requirement::find(name).map_or(name, |requirement| requirement.package);
    format!("{name} not found: install {package}")
}

/// The directory in which tests leave their names when they are skipped, emptied.
pub(crate) fn empty_skipped_dir() -> anyhow::Result<PathBuf> {
    let directory = target().join("skipped-tests");
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    Ok(directory)
}

pub(crate) fn skipped_tests(directory: &Path) -> anyhow::Result<Vec<Skipped>> {
    let mut skipped = Vec::new();
    for entry in fs::read_dir(directory)? {
        let text = fs::read_to_string(entry?.path())?;
        let (test, reason) = text.trim_end().split_once('\n').context("a line is missing")?;
        skipped.push(Skipped { test: test.to_owned(), reason: reason.to_owned() });
    }
    skipped.sort_by(|one, other| one.test.cmp(&other.test));
    Ok(skipped)
}
