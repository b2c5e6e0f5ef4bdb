//! Packages of the npm registry and of Python's, installed into the target directory: the CLI, and the programs of others that
//! drive Pollux in the tests or are measured beside it.

use crate::{NEEDED, place};
use anyhow::{Context, bail};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// A program or a library of somebody else, in the version that is tested with.
#[derive(Debug, Clone, Copy)]
pub struct Package {
    /// Where it lies in the target directory.
    folder: &'static str,
    name: &'static str,
    /// Its version.
    pub version: &'static str,
}

impl Package {
    pub(crate) const fn new(
        folder: &'static str,
        name: &'static str,
        version: &'static str,
    ) -> Self {
        Self { folder, name, version }
    }

    /// Installs it from npm if need be: the directory that has it in its `node_modules`.
    pub fn npm(self) -> anyhow::Result<PathBuf> {
        package(self.folder, self.name, self.version)
    }

    /// Installs it from PyPI if needed. Returns the directory for `PYTHONPATH`.
    pub fn python(self) -> anyhow::Result<PathBuf> {
        python_package(self.folder, self.name, self.version)
    }
}

/// A package of the npm registry, installed if need be: the directory that has it in its `node_modules`. Several
/// processes may ask at once: one installs, the others wait.
pub fn package(folder: &str, name: &str, version: &str) -> anyhow::Result<PathBuf> {
    let all = place::target().join(folder);
    let home = all.join(version);
    if home.join("node_modules").exists() {
        return Ok(home);
    }
    fs::create_dir_all(&all)?;
    let lock = File::create(all.join(format!("{version}.lock")))?;
    lock.lock().context("could not wait for another install")?;
    if !home.join("node_modules").exists() {
        say(&format!("installing {name}@{version} into {}", home.display()));
        download(&format!("{name}@{version}"), &home)?;
    }
    Ok(home)
}

/// Installs a package of PyPI if needed. Returns the directory for `PYTHONPATH`. If several processes ask, one installs and the
/// others wait.
fn python_package(folder: &str, name: &str, version: &str) -> anyhow::Result<PathBuf> {
    let all = place::target().join(folder);
    let home = all.join(version);
    fs::create_dir_all(&all)?;
    let lock = File::create(all.join(format!("{version}.lock")))?;
    lock.lock().context("could not wait for another install")?;
    if home.exists() {
        return Ok(home);
    }
    say(&format!("installing {name}=={version} into {}", home.display()));
    let half = home.with_extension("half");
    if half.exists() {
        fs::remove_dir_all(&half)?;
    }
    let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"];
    let ran = program("python3").args(quiet).arg(&half).arg(format!("{name}=={version}")).output();
    let ran = ran.context("could not start python3")?;
    if !ran.status.success() {
        bail!("pip could not install {name}=={version}: {}", String::from_utf8_lossy(&ran.stderr));
    }
    fs::rename(&half, &home).context("could not move the install to its directory")?;
    Ok(home)
}

/// Into a directory beside it, then renamed: a broken install is never taken for a whole one.
fn download(package: &str, home: &Path) -> anyhow::Result<()> {
    let half = home.with_extension("half");
    if half.exists() {
        fs::remove_dir_all(&half)?;
    }
    fs::create_dir_all(&half)?;
    let quiet = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error"];
    let ran = program("npm").args(quiet).arg("--prefix").arg(&half).arg(package).output();
    let ran = ran.with_context(|| format!("could not start npm: {NEEDED}"))?;
    if !ran.status.success() {
        bail!(
            "npm could not install {package}: {NEEDED}\n{}",
            String::from_utf8_lossy(&ran.stderr)
        );
    }
    if home.exists() {
        fs::remove_dir_all(home)?;
    }
    fs::rename(&half, home).context("could not move the install into its place")
}

/// True if a program starts and exits with 0.
pub(crate) fn answers(name: &str, args: &[&str]) -> bool {
    let status = program(name).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

#[expect(clippy::disallowed_methods, reason = "npm is waited for right here")]
pub(crate) fn program(name: &str) -> std::process::Command {
    let mut command = std::process::Command::new(name);
    command.stdin(Stdio::null());
    command
}

#[expect(clippy::print_stderr, reason = "the person who runs the tests waits for this")]
pub(crate) fn say(text: &str) {
    eprintln!("{text}");
}
