//! Where the CLI is: where somebody says it is, then on the PATH, then in the places where installers put it.
#![expect(
    clippy::disallowed_methods,
    reason = "a caller of the library who passes no places has the usual ones"
)]

use super::super::settings::{DEFAULTS, SETTINGS};
use super::State;
use crate::model::{Failure, Phase};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{self, Path, PathBuf};

/// Where to look.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// What the caller named, such as `--agent-path`. Nothing else is looked at.
    pub named: Option<PathBuf>,
    /// What the variable `GEMINI_CLI_PATH` names. Nothing else is looked at.
    pub variable: Option<PathBuf>,
    /// The variable `PATH`.
    pub path: Option<OsString>,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The home that `GEMINI_CLI_HOME` names, in which the CLI has its directory instead.
    pub cli_home: Option<PathBuf>,
    /// The file of settings for the whole machine that `GEMINI_CLI_SYSTEM_SETTINGS_PATH` names.
    pub settings: Option<PathBuf>,
    /// The file of defaults for the whole machine that `GEMINI_CLI_SYSTEM_DEFAULTS_PATH` names.
    pub defaults: Option<PathBuf>,
}

/// Below the home. A star is any one name; of several the last in order is taken, which is the newest Node.
const IN_HOME: [&str; 14] = [
    ".npm-global/bin/gemini",
    ".local/bin/gemini",
    "node_modules/.bin/gemini",
    ".nvm/versions/node/*/bin/gemini",
    ".local/share/fnm/node-versions/*/installation/bin/gemini",
    ".fnm/node-versions/*/installation/bin/gemini",
    ".volta/bin/gemini",
    ".local/share/mise/installs/node/*/bin/gemini",
    ".local/share/mise/shims/gemini",
    ".asdf/installs/nodejs/*/bin/gemini",
    ".asdf/shims/gemini",
    ".bun/bin/gemini",
    ".local/share/pnpm/gemini",
    "Library/pnpm/gemini",
];

/// The variable that names another home for the CLI.
pub(in crate::gemini) const CLI_HOME: &str = "GEMINI_CLI_HOME";

/// For all users.
const FOR_ALL: [&str; 5] = [
    "/usr/local/bin/gemini",
    "/opt/homebrew/bin/gemini",
    "/home/linuxbrew/.linuxbrew/bin/gemini",
    "/usr/bin/gemini",
    "/opt/local/bin/gemini",
];

/// Why there is none.
#[derive(Debug)]
pub(super) enum Missing {
    Nowhere,
    NotThere(PathBuf, &'static str),
    NotExecutable(PathBuf),
}

impl Missing {
    pub(super) fn failure(&self) -> Failure {
        let (code, message) = match self {
            Self::Nowhere => ("agent_absent", "Gemini CLI is not installed".to_owned()),
            Self::NotThere(path, by) => {
                ("agent_absent", format!("{by}: {} does not exist", path.display()))
            }
            Self::NotExecutable(path) => {
                ("agent_not_executable", format!("{} is not executable", path.display()))
            }
        };
        let hint = match self {
            Self::NotExecutable(path) => {
                format!("make it executable: `chmod +x {}`", path.display())
            }
            _ => State::Absent.advice().to_owned(),
        };
        Failure::new(Phase::Find, code, message).hint(hint)
    }
}

impl Search {
    /// The places that the environment of this process names.
    pub fn of_process() -> Self {
        let some = |name| env::var_os(name).filter(|value| !value.is_empty());
        Self {
            named: None,
            variable: some("GEMINI_CLI_PATH").map(PathBuf::from),
            path: some("PATH"),
            home: some("HOME").map(PathBuf::from),
            cli_home: some(CLI_HOME).map(PathBuf::from),
            settings: some(SETTINGS).map(PathBuf::from),
            defaults: some(DEFAULTS).map(PathBuf::from),
        }
    }

    /// The home in which a CLI with these variables has its directory `.gemini`, besides those of this process.
    pub(in crate::gemini) fn home_of(
        &self,
        env: &[(impl AsRef<OsStr>, impl AsRef<OsStr>)],
    ) -> Option<PathBuf> {
        let given = |wanted: &str| {
            let found = env.iter().rev().find(|(name, _)| name.as_ref() == wanted);
            found.map(|(_, home)| PathBuf::from(home.as_ref()))
        };
        let own = given(CLI_HOME).or_else(|| self.cli_home.clone());
        own.or_else(|| given("HOME")).or_else(|| self.home.clone())
    }

    /// The first program that can be run.
    pub(super) fn find(&self) -> Result<PathBuf, Missing> {
        let named = self.named.as_ref().map(|path| (path, "--agent-path"));
        let variable = self.variable.as_ref().map(|path| (path, "GEMINI_CLI_PATH"));
        if let Some((path, by)) = named.or(variable) {
            return match () {
                // It will be run elsewhere than here.
                () if is_executable(path) => Ok(path::absolute(path).unwrap_or(path.clone())),
                () if path.exists() => Err(Missing::NotExecutable(path.clone())),
                () => Err(Missing::NotThere(path.clone(), by)),
            };
        }
        let places = self.places();
        let found = places.iter().find(|path| is_executable(path));
        let broken = || places.iter().find(|path| path.is_file()).cloned();
        found.cloned().ok_or_else(|| broken().map_or(Missing::Nowhere, Missing::NotExecutable))
    }

    fn places(&self) -> Vec<PathBuf> {
        let path = self.path.iter().flat_map(env::split_paths).map(|place| place.join("gemini"));
        let mut places: Vec<PathBuf> = path.filter(|place| place.is_absolute()).collect();
        places.extend(FOR_ALL.map(PathBuf::from));
        if let Some(home) = &self.home {
            places.extend(IN_HOME.iter().flat_map(|pattern| glob(home, pattern)));
            places.extend(npm_prefix(home).map(|prefix| prefix.join("bin/gemini")));
        }
        places
    }
}

/// What a pattern with stars for whole names stands for, the last in order first.
fn glob(root: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![root.to_path_buf()];
    for part in pattern.split('/') {
        found = found.into_iter().flat_map(|at| step(at, part)).collect();
    }
    found
}

fn step(at: PathBuf, part: &str) -> Vec<PathBuf> {
    if part != "*" {
        return vec![at.join(part)];
    }
    let entries = fs::read_dir(at).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    all.sort_by_key(|path| std::cmp::Reverse(numbers(path)));
    all
}

/// The numbers in a name, to put v9 before v20.
fn numbers(path: &Path) -> Vec<u64> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// The prefix that the user has set for npm.
fn npm_prefix(home: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(home.join(".npmrc")).ok()?;
    let value = text.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "prefix").then(|| value.trim().trim_matches('"').to_owned())
    })?;
    let below = value.strip_prefix("~/").or_else(|| value.strip_prefix("${HOME}/"));
    Some(below.map_or_else(|| PathBuf::from(&value), |below| home.join(below)))
}

fn is_executable(path: &Path) -> bool {
    let may_run = |metadata: &fs::Metadata| metadata.permissions().mode() & 0o111 != 0;
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && may_run(&metadata))
}

#[cfg(test)]
mod tests {
    use super::{Missing, Search, is_executable};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    fn program(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn of_several_nodes_the_newest_has_the_cli() {
        let home = tempfile::tempdir().unwrap();
        for version in ["v9.1.0", "v20.2.0", "v18.0.0"] {
            let place = format!(".nvm/versions/node/{version}/bin/gemini");
            program(&home.path().join(place), 0o755);
        }
        let search = Search { home: Some(home.path().into()), ..Search::default() };
        let mut found = search.places().into_iter().filter(|path| is_executable(path));
        // A machine may have one for all users, which comes first.
        let found = found.find(|path| path.starts_with(home.path())).unwrap();
        assert!(found.to_string_lossy().contains("v20.2.0"), "{}", found.display());
    }

    #[test]
    fn the_session_files_are_where_the_cli_itself_will_put_them() {
        let none: [(&str, &str); 0] = [];
        let mut search = Search { home: Some("/me".into()), ..Search::default() };
        assert_eq!(search.home_of(&none), Some("/me".into()));
        assert_eq!(search.home_of(&[("HOME", "/other")]), Some("/other".into()));
        search.cli_home = Some("/named".into());
        assert_eq!(search.home_of(&none), Some("/named".into()));
        assert_eq!(search.home_of(&[("HOME", "/other")]), Some("/named".into()));
        let given = [("GEMINI_CLI_HOME", "/given"), ("OTHER", "x")];
        assert_eq!(search.home_of(&given), Some("/given".into()));
    }

    #[test]
    fn what_is_named_is_taken_or_refused_and_nothing_else_is_looked_at() {
        let home = tempfile::tempdir().unwrap();
        let plain = home.path().join("plain");
        program(&plain, 0o644);
        let named = |path: &Path| Search { named: Some(path.into()), ..Search::default() }.find();
        assert!(matches!(named(&plain), Err(Missing::NotExecutable(_))));
        assert!(matches!(named(&home.path().join("none")), Err(Missing::NotThere(..))));
        program(&plain, 0o755);
        assert_eq!(named(&plain).unwrap(), plain);
        let up = "../".repeat(64);
        let found = named(&Path::new(&up).join("bin/sh")).unwrap();
        assert!(found.is_absolute(), "it is run in other directories too: {}", found.display());
    }
}
