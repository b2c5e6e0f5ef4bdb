//! Which tmux server: one of our own, or the user's.
#![expect(clippy::disallowed_methods, reason = "tmux is started here, and nowhere else")]

use super::server::PATIENCE;
use crate::model::{Failure, Phase};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;
use tokio::process::Command;

/// The oldest tmux that is good enough, as numbers.
const OLDEST: (u32, u32) = (3, 3);

/// What of our environment the tmux server itself may see. What an agent needs it is given with its window: a server
/// lives long, and should not pass on what was set when it was started.
const SEEN: [&str; 13] = [
    "HOME",
    "PATH",
    "SHELL",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
    "TMUX_TMPDIR",
    "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK",
    "TERM",
];

/// A tmux server, by its socket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Socket {
    /// A server of ours: a name in tmux's own directory of sockets.
    Named(String),
    /// A server of ours: a path.
    Path(PathBuf),
    /// The server that the user's own `tmux` talks to.
    Users,
}

impl Default for Socket {
    fn default() -> Self {
        Self::Named("pollux".to_owned())
    }
}

impl fmt::Display for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Users => f.write_str("default"),
        }
    }
}

impl Socket {
    /// The socket that a word names: a path where it has a slash in it, `default` for the user's own.
    pub fn named(word: &str) -> Self {
        match word {
            "default" => Self::Users,
            path if path.contains('/') => Self::Path(path.into()),
            name => Self::Named(name.to_owned()),
        }
    }

    /// The arguments that make tmux talk to this server.
    pub fn arguments(&self) -> Vec<String> {
        let own = |flag: &str, name: String| {
            // No settings of the user: what is in them was written for other panes than ours.
            vec!["-u".into(), flag.into(), name, "-f".into(), "/dev/null".into()]
        };
        match self {
            Self::Named(name) => own("-L", name.clone()),
            Self::Path(path) => own("-S", path.display().to_string()),
            Self::Users => vec!["-u".into()],
        }
    }

    /// The directory that this server's socket is in, as tmux chooses it.
    pub(super) fn directory(&self) -> Option<PathBuf> {
        let usual = || {
            let base = std::env::var_os("TMUX_TMPDIR").filter(|base| !base.is_empty());
            let base = base.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
            base.join(format!("tmux-{}", rustix::process::getuid().as_raw()))
        };
        match self {
            Self::Path(path) => path.parent().map(PathBuf::from),
            Self::Named(_) => Some(usual()),
            // Somebody who is in a tmux is in the one that is meant.
            Self::Users => {
                let tmux = std::env::var("TMUX").unwrap_or_default();
                let own = tmux.split(',').next().filter(|path| !path.is_empty());
                own.map_or_else(
                    || Some(usual()),
                    |path| Path::new(path).parent().map(PathBuf::from),
                )
            }
        }
    }

    /// tmux, about to talk to this server.
    pub(super) fn tmux(&self) -> Command {
        let mut command = Command::new("tmux");
        command.args(self.arguments()).stderr(Stdio::piped());
        if *self == Self::Users {
            return command;
        }
        command.env_clear();
        let seen = std::env::vars_os().filter(|(name, _)| SEEN.iter().any(|seen| name == *seen));
        command.envs(seen);
        command
    }
}

impl Socket {
    /// What tmux says of every pane of this server, in the words of `format`. Nothing where there is no server.
    pub async fn panes(&self, format: &str) -> Result<Vec<String>, Failure> {
        let mut tmux = self.tmux();
        tmux.args(["list-panes", "-a", "-F", format]).stdin(Stdio::null());
        let told = output(tmux, PATIENCE).await.map_err(|error| absent(&error))?;
        Ok(String::from_utf8_lossy(&told.stdout).lines().map(str::to_owned).collect())
    }

    /// Has tmux do something, starting a server where there is none. What it says to it is not asked for.
    pub(super) async fn run(&self, words: &[&str]) -> Result<(), Failure> {
        let mut tmux = self.tmux();
        tmux.args(words).stdin(Stdio::null());
        output(tmux, PATIENCE).await.map(drop).map_err(|error| absent(&error))
    }

    /// What tmux calls its version. Fails where it is not there, or too old.
    pub async fn version() -> Result<String, Failure> {
        told_version().await
    }

    /// All processes of this machine: number, parent, command line.
    pub async fn processes() -> Vec<(u32, u32, String)> {
        let mut all = Command::new("ps");
        all.args(["-axo", "pid=,ppid=,args="]).stdin(Stdio::null());
        let told = output(all, PATIENCE).await.map(|told| told.stdout).unwrap_or_default();
        let read = |line: &str| {
            let (own, rest) = line.trim_start().split_once(' ')?;
            let (parent, line) = rest.trim_start().split_once(' ')?;
            Some((own.parse().ok()?, parent.parse().ok()?, line.to_owned()))
        };
        String::from_utf8_lossy(&told).lines().filter_map(read).collect()
    }
}

/// What a program prints. One that does not end in time is ended.
async fn output(mut program: Command, limit: Duration) -> io::Result<Output> {
    let told = tokio::time::timeout(limit, program.kill_on_drop(true).output()).await;
    told.unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "it does not respond")))
}

pub(super) fn absent(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::TimedOut {
        let message = format!("tmux failed: {error}");
        let hint = "end the tmux server that hangs, or choose another server";
        return Failure::new(Phase::Start, "tmux_silent", message).hint(hint);
    }
    let message = format!("could not start tmux: {error}");
    let hint = format!("install tmux {}.{} or newer", OLDEST.0, OLDEST.1);
    Failure::new(Phase::Start, "tmux_absent", message).hint(hint)
}

/// Fails where tmux is not there, or too old.
pub(super) async fn check() -> Result<(), Failure> {
    told_version().await.map(drop)
}

async fn told_version() -> Result<String, Failure> {
    let mut tmux = Command::new("tmux");
    tmux.arg("-V").stdin(Stdio::null());
    let told = output(tmux, PATIENCE).await.map_err(|error| absent(&error))?;
    let told = String::from_utf8_lossy(&told.stdout).trim().to_owned();
    match version(&told) {
        Some(version) if version < OLDEST => {
            let message = format!("{told} is too old");
            let hint = format!("install tmux {}.{} or newer", OLDEST.0, OLDEST.1);
            Err(Failure::new(Phase::Start, "tmux_too_old", message).hint(hint))
        }
        // A version that does not tell a number is built from its sources, and new.
        _ => Ok(told),
    }
}

/// The numbers in what `tmux -V` says, such as `tmux 3.3a` or `tmux next-3.6`.
fn version(told: &str) -> Option<(u32, u32)> {
    let digits = told.trim_start_matches(|c: char| !c.is_ascii_digit());
    let mut numbers = digits.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::{Command, Duration, OLDEST, Socket, absent, io, output, version};

    #[tokio::test]
    async fn a_program_that_hangs_is_not_waited_for() {
        let mut hangs = Command::new("sleep");
        hangs.arg("600");
        let told = output(hangs, Duration::from_millis(50)).await.unwrap_err();
        assert_eq!(told.kind(), io::ErrorKind::TimedOut);
        assert_eq!(absent(&told).code, "tmux_silent");
    }

    #[test]
    fn versions_of_tmux_have_letters_and_words() {
        assert_eq!(version("tmux 3.3a"), Some((3, 3)));
        assert_eq!(version("tmux next-3.6"), Some((3, 6)));
        assert_eq!(version("tmux master"), None);
        assert!(version("tmux 2.9").is_some_and(|old| old < OLDEST));
    }

    #[test]
    fn a_word_with_a_slash_is_a_path() {
        assert_eq!(Socket::named("default"), Socket::Users);
        assert_eq!(Socket::named("/tmp/x"), Socket::Path("/tmp/x".into()));
        assert_eq!(Socket::named("pollux"), Socket::default());
    }
}
