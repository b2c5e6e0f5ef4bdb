//! The real Gemini CLI in pinned versions, installed from the npm registry into the target directory.

use crate::package::package;
use crate::pinned::PINNED;
use crate::place;
use anyhow::Context;
use std::path::{Path, PathBuf};

/// What to say where the CLI cannot be installed.
pub const NEEDED: &str =
    "the tests with the real Gemini CLI need Node.js 20 or newer with npm, and the npm registry";

/// One installed version.
#[derive(Debug, Clone)]
pub struct Cli {
    version: String,
    program: PathBuf,
}

impl Cli {
    /// The versions to test with: the pinned ones, and what `POLLUX_GEMINI_VERSIONS` adds.
    pub fn versions() -> Vec<String> {
        let only = place::only_versions();
        if !only.is_empty() {
            return only;
        }
        let mut all: Vec<String> = PINNED.map(str::to_owned).to_vec();
        for added in place::added_versions() {
            if !all.contains(&added) {
                all.push(added);
            }
        }
        all
    }

    /// The newest of them, installed if need be, or all that were asked for by name: for what other tests try on every
    /// version too.
    pub fn newest() -> anyhow::Result<Vec<Self>> {
        Self::slice(|version| version == PINNED[2])
    }

    /// For scenarios, of which there are many: one version each, in turns, the newest as often as the others together. Whatever
    /// was asked for by name is not shortened, here and below: `cargo xtask matrix` runs everything on every version.
    pub fn in_turns(scenario: &str) -> anyhow::Result<Vec<Self>> {
        let turn = turn(scenario, 4).min(PINNED.len() - 1);
        Self::slice(|version| version == PINNED[turn])
    }

    /// For what the older versions do much alike: the newest, and with every third test, by its name, one of the others. The
    /// oldest takes three times as long to start, and starts are most of what a test costs.
    pub fn some() -> anyhow::Result<Vec<Self>> {
        let test = std::thread::current();
        let older = PINNED.get(turn(test.name().unwrap_or_default(), 6));
        Self::slice(|version| version == PINNED[2] || older.is_some_and(|older| version == *older))
    }

    fn slice(is_in: impl Fn(&str) -> bool) -> anyhow::Result<Vec<Self>> {
        let mut all = Self::all()?;
        if place::only_versions().is_empty() && place::added_versions().is_empty() {
            all.retain(|cli| is_in(&cli.version));
        }
        Ok(all)
    }

    /// All versions to test with, installed if needed. A test that calls this starts with `requires!(npm)`.
    pub fn all() -> anyhow::Result<Vec<Self>> {
        Self::versions().iter().map(|version| Self::install(version)).collect()
    }

    /// The last of [`Cli::versions`]: the newest pinned version unless others were asked for.
    pub fn last() -> anyhow::Result<Self> {
        let version = Self::versions().pop().context("there is no version to test with")?;
        Self::install(&version)
    }

    /// One version, installed if need be. Several processes may ask at once: one installs, the others wait.
    pub fn install(version: &str) -> anyhow::Result<Self> {
        let home = package("gemini-cli", "@google/gemini-cli", version)?;
        Ok(Self { version: version.to_owned(), program: home.join("node_modules/.bin/gemini") })
    }

    /// Its version, as npm knows it.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The newest pinned version that is not newer: the one whose recorded behaviour this one should show.
    pub fn like(&self) -> &'static str {
        let older = PINNED.into_iter().rev().find(|pinned| number(pinned) <= number(&self.version));
        older.unwrap_or(PINNED[0])
    }
}

/// Whose turn it is: the same for the same name, and each about as often as the others.
fn turn(name: &str, of: usize) -> usize {
    name.bytes().map(usize::from).sum::<usize>() % of
}

fn number(version: &str) -> Vec<u32> {
    version.split(['.', '-']).map_while(|part| part.parse().ok()).collect()
}
