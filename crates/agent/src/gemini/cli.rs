//! The CLI itself: where it is, which version, who is signed in, what to do where something is missing.

mod account;
mod find;
mod version;

pub use account::{Account, account};
pub(super) use find::CLI_HOME as HOME;
pub use find::Search;
pub use version::Version;

use crate::model::{Failure, Phase};
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};

/// The oldest version that Pollux drives. Session files of older versions are still read.
pub const OLDEST: Version = Version::new(0, 34, 0);

/// Gemini CLI, found on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cli {
    /// The program.
    pub path: PathBuf,
    /// Its version; none where it did not tell.
    pub version: Option<Version>,
}

/// How far we are from a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is nowhere.
    Absent,
    /// It is there, but does not tell its version.
    Found,
    /// It is there, and too old to be driven.
    TooOld,
    /// Nobody is signed in.
    NotSignedIn,
    /// Somebody is signed in in a way that Google no longer serves.
    SignInNotServed,
    /// It can be run.
    Ready,
}

impl State {
    /// The state of a CLI that was found or not, and of who is signed in.
    pub fn of(cli: Option<&Cli>, account: Account) -> Self {
        match (cli.map(|cli| cli.version), account) {
            (None, _) => Self::Absent,
            (Some(None), _) => Self::Found,
            (Some(Some(version)), _) if version < OLDEST => Self::TooOld,
            (_, Account::None) => Self::NotSignedIn,
            (_, Account::NotServed) => Self::SignInNotServed,
            (_, Account::Present) => Self::Ready,
        }
    }

    /// What to do to come further.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Absent => {
                "install it with `npm install -g @google/gemini-cli`, or set GEMINI_CLI_PATH or --agent-path"
            }
            Self::Found => "run `gemini --version` to see its error",
            Self::TooOld => "update it with `npm install -g @google/gemini-cli`",
            Self::NotSignedIn => {
                "set GEMINI_API_KEY (https://aistudio.google.com/apikey), or run `gemini` once and sign in"
            }
            Self::SignInNotServed => {
                "Google no longer supports personal sign-in in this CLI: set GEMINI_API_KEY, or use Vertex AI"
            }
            Self::Ready => "nothing",
        }
    }
}

impl Cli {
    /// Finds the CLI and asks for its version, unless `cache` knows it for this very file.
    pub async fn find(search: &Search, cache: Option<&Path>) -> Result<Self, Failure> {
        let path = search.find().map_err(|missing| missing.failure())?;
        let version = version::of(&path, cache).await;
        Ok(Self { path, version })
    }

    /// True for a version that is not older. A version that does not tell is taken for a new one.
    pub fn at_least(&self, version: Version) -> bool {
        self.version.is_none_or(|own| own >= version)
    }

    /// The CLI that a driver starts: the one that is given, or the one found on this machine. Fails
    /// if it is too old.
    pub async fn to_drive(given: Option<Self>, search: &Search) -> Result<Self, Failure> {
        let cli = match given {
            Some(cli) => cli,
            None => Self::find(search, None).await?,
        };
        cli.check()?;
        Ok(cli)
    }

    /// Fails if the CLI is too old to be driven. An unknown version passes.
    pub fn check(&self) -> Result<(), Failure> {
        match self.version {
            Some(version) if version < OLDEST => {
                let message =
                    format!("Gemini CLI {version} is too old: Pollux drives {OLDEST} or newer");
                Err(Failure::new(Phase::Find, "too_old", message).hint(State::TooOld.advice()))
            }
            _ => Ok(()),
        }
    }
}

/// Fails where the CLI would take a path in an argument for two.
pub(super) fn without_commas<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Result<(), Failure> {
    let parted = |path: &&Path| path.as_os_str().as_encoded_bytes().contains(&b',');
    let Some(path) = paths.into_iter().find(parted) else { return Ok(()) };
    let message =
        format!("{} contains a comma, which Gemini CLI treats as a separator", path.display());
    let failure = Failure::new(Phase::Start, "bad_directory", message);
    Err(failure.hint("rename it, or use a symlink without a comma"))
}

/// The directory where an agent shall work cannot be one.
pub(super) fn no_directory(cwd: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot use the working directory {}: {error}", cwd.display());
    Failure::new(Phase::Start, "no_directory", message).hint("choose another one with `--cwd`")
}

/// Flags that not every supported version has, and since which version they exist.
pub const FLAGS: &[(&str, Version, &str)] = &[
    ("--session-id", Version::new(0, 41, 0), "choose the id of a new session"),
    ("--skip-trust", Version::new(0, 41, 0), "run in an untrusted folder"),
];

#[cfg(test)]
mod tests {
    use super::{Cli, Search, Version};

    #[tokio::test]
    async fn only_a_version_that_is_too_old_is_refused() {
        let driven = async |version| {
            let cli = Cli { path: "gemini".into(), version };
            Cli::to_drive(Some(cli), &Search::default()).await
        };
        let refused = driven(Some(Version::new(0, 33, 2))).await.unwrap_err();
        assert_eq!(
            (refused.code, refused.message.as_str(), refused.hint.as_deref()),
            (
                "too_old",
                "Gemini CLI 0.33.2 is too old: Pollux drives 0.34.0 or newer",
                Some("update it with `npm install -g @google/gemini-cli`")
            )
        );
        assert!(driven(Some(Version::new(0, 34, 0))).await.is_ok());
        assert!(driven(None).await.is_ok());
    }
}
