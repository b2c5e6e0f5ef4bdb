//! Where a daemon keeps its things: one directory, which is the user's alone.

use crate::trouble::Trouble;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The directory of the daemon.
#[derive(Debug, Clone)]
pub struct Place(PathBuf);

/// What a daemon says that finds another one there.
pub const RUNS_ALREADY: &str = "a daemon is already running";

/// Where a daemon is reached: what it tells those who look for it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Address {
    /// Its process.
    pub pid: u32,
    /// Where browsers find it.
    pub origins: Vec<String>,
    /// The fingerprint of its certificate, where it is our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

impl Address {
    /// True where only this machine reaches an address.
    pub fn is_near(origin: &str) -> bool {
        let Some((_, rest)) = origin.split_once("//") else { return false };
        ["localhost", "127.0.0.1", "[::1]"].iter().any(|near| {
            let after = rest.strip_prefix(near);
            after.is_some_and(|after| after.is_empty() || after.starts_with([':', '/']))
        })
    }
}

/// Held as long as the daemon lives. The system lets go of it, however the daemon ends.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Place {
    /// Below the user's data directory.
    pub fn new(data: &Path) -> Self {
        Self(data.join("daemon"))
    }

    /// The user's own socket.
    pub fn socket(&self) -> PathBuf {
        self.0.join("socket")
    }

    /// The token for programs that speak TCP.
    pub fn token(&self) -> PathBuf {
        self.0.join("token")
    }

    /// What the daemon says of itself.
    pub fn journal(&self) -> PathBuf {
        self.0.join("daemon.log")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.0.join("log.db")
    }

    /// What agents of teams are lent while they live.
    pub fn lent(&self) -> PathBuf {
        self.0.join("lent")
    }

    /// Backups of files that an older Pollux changed while an agent started.
    pub fn shared(&self) -> PathBuf {
        self.0.join("shared")
    }

    /// The worktrees of workers.
    pub fn trees(&self) -> PathBuf {
        self.0.join("worktrees")
    }

    pub(super) fn tls(&self) -> PathBuf {
        self.0.join("tls")
    }

    pub(super) fn vapid(&self) -> PathBuf {
        self.0.join("vapid")
    }

    pub(super) fn uploads(&self) -> PathBuf {
        self.0.join("uploads")
    }

    fn address(&self) -> PathBuf {
        self.0.join("address.json")
    }

    /// Makes the directory. Nobody else may look into it.
    pub fn make(&self) -> io::Result<()> {
        // Nor move it aside, whatever files are made with here otherwise.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        fs::set_permissions(&self.0, fs::Permissions::from_mode(0o700))
    }

    pub(super) fn lock(&self) -> anyhow::Result<Lock> {
        let file =
            File::options().create(true).truncate(false).write(true).open(self.0.join("lock"))?;
        match file.try_lock() {
            Ok(()) => Ok(Lock { _file: file }),
            Err(fs::TryLockError::WouldBlock) => {
                let trouble = Trouble::refused("already_running", RUNS_ALREADY);
                Err(trouble
                    .hint("show its address with `pollux serve status`, or stop it with `pollux serve down`")
                    .into())
            }
            Err(fs::TryLockError::Error(error)) => Err(error.into()),
        }
    }

    /// True where no daemon holds the lock.
    pub fn is_free(&self) -> bool {
        !self.0.join("lock").exists() || self.lock().is_ok()
    }

    /// Where the daemon is that runs, if it has said so.
    pub fn announced(&self) -> Option<Address> {
        serde_json::from_str(&fs::read_to_string(self.address()).ok()?).ok()
    }

    pub(super) fn announce(&self, address: &Address) -> anyhow::Result<()> {
        Ok(fs::write(self.address(), serde_json::to_vec(address)?)?)
    }

    pub(super) fn leave(&self) {
        // What is not there need not be removed.
        let _gone = fs::remove_file(self.address());
        let _gone = fs::remove_file(self.socket());
    }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn an_address_is_near_by_its_whole_name() {
        for near in ["http://localhost:1/#pair=x", "https://[::1]:1", "http://127.0.0.1"] {
            assert!(Address::is_near(near), "{near}");
        }
        for far in ["https://localhost.example.com", "http://127.0.0.1.nip.io:1", "localhost"] {
            assert!(!Address::is_near(far), "{far}");
        }
    }
}
