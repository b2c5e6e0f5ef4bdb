//! Who comes in to a tmux server comes in alone.
//!
//! While a control client says who it is, tmux before 3.7 takes it for one that can be told things already, and dies of telling it
//! (tmux#4980): that another one comes, or that a session begins or ends. So whoever does one of these waits for the others.
//! A client that goes is told of too; nobody can be kept from going, and one in some thousand who go while another comes is the end.

use super::socket::Socket;
use std::fs::{DirBuilder, File, TryLockError};
use std::os::unix::fs::DirBuilderExt;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long the others are waited for: to come in takes some ten milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(2);

/// Nobody else of Pollux comes in to the servers of a directory while this is held.
#[derive(Debug)]
pub(super) struct Turn {
    _locked: File,
}

impl Turn {
    /// Waits until it is our turn. None where that cannot be known: then it is gone without.
    pub(super) async fn wait(socket: &Socket) -> Option<Self> {
        Self::within(PATIENCE, socket).await
    }

    async fn within(patience: Duration, socket: &Socket) -> Option<Self> {
        let directory = socket.directory()?;
        if !matches!(socket, Socket::Path(_)) {
            // As tmux makes it, where it is not there yet.
            DirBuilder::new().recursive(true).mode(0o700).create(&directory).ok()?;
        }
        let file = File::open(directory).ok()?;
        let late = Instant::now() + patience;
        loop {
            match file.try_lock() {
                Ok(()) => return Some(Self { _locked: file }),
                Err(TryLockError::WouldBlock) if Instant::now() < late => sleep(STEP).await,
                Err(_) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Socket, Turn};

    #[tokio::test]
    async fn one_comes_after_the_other_and_nobody_waits_for_ever() {
        let directory = tempfile::tempdir().unwrap();
        let socket = Socket::Path(directory.path().join("socket"));
        let first = Turn::wait(&socket).await.unwrap();
        assert!(Turn::within(Duration::from_millis(10), &socket).await.is_none());
        drop(first);
        assert!(Turn::wait(&socket).await.is_some());
    }
}
