//! The listener's side: what hooks hand over, and what they had to spool before somebody listened.

use super::deliver::{Place, earlier};
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::{UnixListener, UnixStream};

/// A hook that takes longer to say its line is gone.
const PATIENCE: Duration = Duration::from_secs(2);

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
            // Away first: a hook that comes now begins a new spool.
            let taken = spool.with_extension("taken");
            match fs::rename(&spool, &taken) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                moved => moved?,
            }
            let text = String::from_utf8_lossy(&fs::read(&taken)?).into_owned();
            lines.extend(text.split('\n').filter(|line| !line.is_empty()).map(str::to_owned));
            fs::remove_file(&taken)?;
        }
        Ok(lines)
    }

    /// The next line that a hook hands over.
    pub async fn next(&self) -> io::Result<String> {
        loop {
            let (stream, _) = self.listener.accept().await?;
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

impl Drop for Inbox {
    fn drop(&mut self) {
        let _gone = fs::remove_file(&self.place.socket);
    }
}
