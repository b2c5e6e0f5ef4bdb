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
    const fn new(folder: &'static str, name: &'static str, version: &'static str) -> Self {
        Self { folder, name, version }
    }

    /// Installs it from npm if need be: the directory that has it in its `node_modules`.
    pub fn npm(self) -> anyhow::Result<PathBuf> {
        package(self.folder, self.name, self.version)
    }

    /// Installs it from Python's registry if need be: the directory to put into `PYTHONPATH`. None on a machine without Python
    /// or its pip, unless this is CI.
    pub fn python(self) -> anyhow::Result<Option<PathBuf>> {
        python_package(self.folder, self.name, self.version)
    }
}

/// ACP for programs in TypeScript.
pub const ACP_SDK: Package = Package::new("acp-sdk", "@agentclientprotocol/sdk", "2.4.0");
/// ACP for programs in Python.
pub const ACP_SDK_PYTHON: Package =
    Package::new("acp-sdk-python", "agent-client-protocol", "0.12.1");
/// A client of ACP for the command line.
pub const ACPX: Package = Package::new("acpx", "acpx", "0.19.1");
/// Counts the tokens of Gemini CLI's sessions too; it is written in Rust.
pub const CCUSAGE: Package = Package::new("ccusage", "ccusage", "20.0.24");
/// Another agent that speaks ACP, in a version that is known to open a session without an account.
pub const CLAUDE_CODE_ACP: Package =
    Package::new("claude-code-acp", "@zed-industries/claude-code-acp", "0.16.2");
/// Claude's Agent SDK for programs in TypeScript.
pub const CLAUDE_SDK: Package =
    Package::new("claude-sdk", "@anthropic-ai/claude-agent-sdk", "0.3.325");
/// Claude's Agent SDK for programs in Python.
pub const CLAUDE_SDK_PYTHON: Package =
    Package::new("claude-sdk-python", "claude-agent-sdk", "0.2.182");
/// A client of MCP for the command line.
pub const MCP_INSPECTOR: Package =
    Package::new("mcp-inspector", "@modelcontextprotocol/inspector", "2.12.0");
/// MCP for programs in TypeScript.
pub const MCP_SDK: Package = Package::new("mcp-sdk", "@modelcontextprotocol/sdk", "1.32.2");
/// Checks what is written against the SDKs' own types.
pub const TYPESCRIPT: Package = Package::new("typescript", "typescript", "5.9.3");

/// Those of npm that the tests need.
pub const NPM: [Package; 8] =
    [ACP_SDK, ACPX, CCUSAGE, CLAUDE_CODE_ACP, CLAUDE_SDK, MCP_INSPECTOR, MCP_SDK, TYPESCRIPT];
/// Those of Python's registry that the tests need.
pub const PYTHON: [Package; 2] = [ACP_SDK_PYTHON, CLAUDE_SDK_PYTHON];

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

/// A package of Python's registry, installed if need be: the directory to put into `PYTHONPATH`. None on a machine without Python or its
/// pip, unless this is CI.
pub fn python_package(folder: &str, name: &str, version: &str) -> anyhow::Result<Option<PathBuf>> {
    let all = place::target().join(folder);
    let home = all.join(version);
    fs::create_dir_all(&all)?;
    let lock = File::create(all.join(format!("{version}.lock")))?;
    lock.lock().context("could not wait for another install")?;
    if home.exists() {
        return Ok(Some(home));
    }
    say(&format!("installing {name}=={version} into {}", home.display()));
    let half = home.with_extension("half");
    if half.exists() {
        fs::remove_dir_all(&half)?;
    }
    let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"];
    let ran = program("python3").args(quiet).arg(&half).arg(format!("{name}=={version}")).output();
    let needs = format!("the tests with {name} need Python 3.10 with pip");
    match ran {
        Ok(ran) if ran.status.success() => {
            fs::rename(&half, &home).context("could not move the install into its place")?;
            Ok(Some(home))
        }
        Err(error) if !place::in_ci() => {
            say(&format!("NOT TESTED: {needs}\n{error}"));
            Ok(None)
        }
        Ok(ran) => {
            let why = String::from_utf8_lossy(&ran.stderr);
            if !place::in_ci() && why.contains("No module named pip") {
                say(&format!("NOT TESTED: {needs}\n{}", why.trim_end()));
                return Ok(None);
            }
            bail!("pip could not install {name}: {why}")
        }
        Err(error) => bail!("could not start python3: {error}"),
    }
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
