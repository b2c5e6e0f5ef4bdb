//! Programs that a test needs and that a developer's machine may lack.
//!
//! A test that starts with `requires!(npm, tmux)` is skipped if one of them is missing. `cargo xtask test` lists the skipped tests
//! with the reason. In CI a missing program is a failure.

use crate::package::answers;
use crate::pinned::CHROMIUM;
use crate::place;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The variable that names the directory in which skipped tests leave their names.
pub const SKIPPED_DIR_ENV: &str = "POLLUX_SKIPPED_TESTS";

/// Set by `cargo xtask test --fast`: tests that need a real agent or a browser are skipped.
pub const FAST_ENV: &str = "POLLUX_TEST_FAST";

/// A program that some tests need.
#[derive(Debug, Clone, Copy)]
pub struct Requirement {
    /// What a test writes in `requires!`.
    pub name: &'static str,
    /// What to install.
    pub package: &'static str,
    is_installed: fn() -> bool,
}

/// Every program that a test may require.
pub const REQUIREMENTS: [Requirement; 5] = [
    Requirement {
        name: "npm",
        package: "Node.js 20.19 or newer with npm (Debian: `nodejs npm`)",
        is_installed: || answers("node", &["--version"]) && answers("npm", &["--version"]),
    },
    Requirement {
        name: "tmux",
        package: "tmux 3.3 or newer (Debian: `tmux`)",
        is_installed: || answers("tmux", &["-V"]),
    },
    Requirement {
        name: "python",
        package: "Python 3.10 or newer with pip (Debian: `python3-pip`)",
        is_installed: || answers("python3", &["-m", "pip", "--version"]),
    },
    Requirement {
        name: "chromium",
        package: "Chromium (Debian: `chromium`)",
        is_installed: || Path::new(CHROMIUM.program).exists(),
    },
    Requirement {
        name: "git",
        package: "git (Debian: `git`)",
        is_installed: || answers("git", &["--version"]),
    },
];

impl Requirement {
    /// The requirement with this name.
    pub fn find(name: &str) -> Option<Self> {
        REQUIREMENTS.into_iter().find(|requirement| requirement.name == name)
    }

    /// True if the machine has it.
    pub fn is_installed(self) -> bool {
        (self.is_installed)()
    }
}

/// What a skipped test returns.
pub trait SkippedResult {
    /// The value of a test that was not run.
    fn skipped() -> Self;
}

impl SkippedResult for () {
    fn skipped() -> Self {}
}

impl<E> SkippedResult for Result<(), E> {
    fn skipped() -> Self {
        Ok(())
    }
}

/// Skips the test unless the machine has every named program: `requires!(npm, tmux);` as its first line.
///
/// # Panics
///
/// In CI, if one of them is missing.
#[macro_export]
macro_rules! requires {
    ($($name:ident),+ $(,)?) => {
        if $crate::is_skipped(&[$(stringify!($name)),+]) {
            return $crate::SkippedResult::skipped();
        }
    };
}

/// True if a required program is missing: the test is recorded as skipped.
///
/// # Panics
///
/// In CI, if one of them is missing; always if a name is unknown.
#[expect(clippy::panic, reason = "a test that cannot run in CI must fail")]
pub fn is_skipped(names: &[&str]) -> bool {
    let is_fast = is_fast();
    let reason = names.iter().find_map(|name| {
        let Some(requirement) = Requirement::find(name) else {
            panic!("`{name}` is not in REQUIREMENTS");
        };
        if is_fast && SLOW.contains(name) {
            return Some("`--fast` leaves it out".to_owned());
        }
        let reason = || format!("{name} not found: install {}", requirement.package);
        (!requirement.is_installed()).then(reason)
    });
    let Some(reason) = reason else { return false };
    assert!(!place::in_ci() || is_fast, "{reason}");
    let test = std::thread::current().name().unwrap_or("unnamed test").to_owned();
    crate::package::say(&format!("SKIPPED {test}: {reason}"));
    if let Some(directory) = skipped_dir() {
        let file = directory.join(test.replace("::", "."));
        if let Err(error) = fs::write(&file, format!("{test}\n{reason}\n")) {
            panic!("cannot record a skipped test in {}: {error}", file.display());
        }
    }
    true
}

/// What stands for a real agent, an SDK or a browser.
const SLOW: [&str; 3] = ["npm", "python", "chromium"];

#[expect(clippy::disallowed_methods, reason = "set by `cargo xtask test`")]
fn is_fast() -> bool {
    env::var_os(FAST_ENV).is_some()
}

#[expect(clippy::disallowed_methods, reason = "set by `cargo xtask test`")]
fn skipped_dir() -> Option<PathBuf> {
    env::var_os(SKIPPED_DIR_ENV).map(PathBuf::from).filter(|directory| directory.is_dir())
}
