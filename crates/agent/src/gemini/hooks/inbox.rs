//! The listener's side: what hooks hand over, and what they had to spool before somebody listened.

use super::deliver::{Place, earlier};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::{UnixListener, UnixStream};

/// A hook that takes longer to say its line is gone.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long to wait where the system has no room for one more connection.
const AGAIN: Duration = Duration::from_millis(50);

/// A payload that is longer is not taken.
const LONGEST: u64 = 64 * 1024 * 1024;

/// Listens to hooks. The socket goes with the value.
#[derive(Debug)]
pub struct Inbox {
    listener: UnixListener,
    place: Place,
}

impl Inbox {
    /// Listens at a place. A socket that is left from somebody who is gone is taken over; one whose owner lives is an
    /// error.
    pub async fn open(place: Place) -> io::Result<Self> {
        let directory = place.socket.parent().unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let listener = match UnixListener::bind(&place.socket) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                if UnixStream::connect(&place.socket).await.is_ok() {
                    return Err(error);
                }
                fs::remove_file(&place.socket)?;
                UnixListener::bind(&place.socket)?
            }
            bound => bound?,
        };
        fs::set_permissions(&place.socket, Permissions::from_mode(0o600))?;
        Ok(Self { listener, place })
    }

    /// What was spooled while nobody listened, the oldest first, as lines for a [`Translator`](super::Translator). The
    /// spool is empty afterwards.
    pub fn spooled(&self) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        for spool in [earlier(&self.place.spool), self.place.spool.clone()] {
            let taken = spool.with_extension("taken");
            // Somebody who was ended while they read it has left it.
            take(&taken, &mut lines)?;
            // Away first: a hook that comes now begins a new spool.
            match fs::rename(&spool, &taken) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                moved => moved?,
            }
            take(&taken, &mut lines)?;
        }
        Ok(lines)
    }

    /// The next line that a hook hands over.
    pub async fn next(&self) -> io::Result<String> {
        loop {
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) if is_passing(&error) => {
                    tokio::time::sleep(AGAIN).await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let mut text = Vec::new();
            let mut stream = stream.take(LONGEST);
            let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut text)).await;
            // A line without its end was given up by its hook, which has spooled it.
            if matches!(read, Ok(Ok(_))) && text.pop() == Some(b'\n') {
                return Ok(String::from_utf8_lossy(&text).into_owned());
            }
        }
    }
}

/// Reads a spool that was put away, if it is there, and removes it.
fn take(taken: &Path, lines: &mut Vec<String>) -> io::Result<()> {
    let bytes = match fs::read(taken) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        read => read?,
    };
    let text = String::from_utf8_lossy(&bytes);
    lines.extend(text.split('\n').filter(|line| !line.is_empty()).map(str::to_owned));
    fs::remove_file(taken)
}

/// Too many files are open, or the hook has gone already: the next one may be heard all the same.
fn is_passing(error: &io::Error) -> bool {
    let passing = [Errno::MFILE, Errno::NFILE, Errno::CONNABORTED, Errno::NOBUFS, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|errno| passing.contains(&errno))
}

impl Drop for Inbox {
    fn drop(&mut self) {
        let _gone = fs::remove_file(&self.place.socket);
    }
}
