//! The hook's side: a payload goes to whoever listens, at once, or into the spool.

use rustix::net::{
    AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, send, socket_with,
};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a payload may take to its listener. The CLI waits for as long.
pub const LIMIT: Duration = Duration::from_millis(50);

/// How large a spool grows. The one before is kept too; what is older goes, and what is larger alone is not kept: the
/// session file has it.
pub const LONGEST_SPOOL: u64 = 4 * 1024 * 1024;

/// Where hooks hand their payloads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The socket of whoever listens.
    pub socket: PathBuf,
    /// The file for what nobody took.
    pub spool: PathBuf,
}

/// What became of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivered {
    /// It was handed over.
    Handed,
    /// Nobody listened, or not fast enough; it is in the spool.
    Spooled,
    /// Neither worked. A hook says nothing about it: the CLI has other things to do.
    Lost,
}

/// A payload as it goes over the border: one line. Line breaks in JSON stand between tokens only, where a blank does as
/// well; what is no JSON is found out by whoever reads.
#[inline]
pub fn frame(event: &str, key: Option<&str>, payload: &[u8]) -> Vec<u8> {
    let mut line = b"{\"event\":".to_vec();
    // Texts as JSON, into memory: there is nothing that could fail.
    let _event = serde_json::to_writer(&mut line, event);
    line.extend_from_slice(b",\"key\":");
    let _key = serde_json::to_writer(&mut line, &key);
    line.extend_from_slice(b",\"payload\":");
    let payload = payload.trim_ascii();
    let payload = if payload.is_empty() { b"null" } else { payload };
    line.extend(
        payload.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }),
    );
    line.extend_from_slice(b"}\n");
    line
}

/// Hands a line over, or spools it.
#[inline]
pub fn deliver(line: &[u8], place: &Place) -> Delivered {
    if hand_over(line, &place.socket).is_ok() {
        Delivered::Handed
    } else if spool(line, &place.spool).is_ok() {
        Delivered::Spooled
    } else {
        Delivered::Lost
    }
}

/// A socket whose owner is slow to accept refuses at once instead of waiting.
#[inline]
fn hand_over(line: &[u8], path: &Path) -> io::Result<()> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    let until = Instant::now() + LIMIT;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    let mut rest = line;
    while !rest.is_empty() {
        let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        stream.set_write_timeout(Some(left.ok_or(io::ErrorKind::TimedOut)?))?;
        // Half a line has no end, and its reader throws it away.
        // And who does not want it any more must not end the hook, which has the spool to go to.
        let written = send(&stream, rest, SendFlags::NOSIGNAL)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    Ok(())
}

/// Adds a line to the spool. One write to a file that is open for appending is whole, whoever else writes. It begins with
/// a line end: on a disk that was full, half a line may stand before it.
#[inline]
fn spool(line: &[u8], path: &Path) -> io::Result<()> {
    let line = [b"\n", line].concat();
    let length = line.len() as u64;
    if length > LONGEST_SPOOL {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let open = || OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    let mut file = match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let directory = path.parent().unwrap_or(path);
            DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
            open()?
        }
        opened => opened?,
    };
    // What is there now, and not what was opened: somebody may have put that away already.
    match fs::metadata(path) {
        Ok(now) if now.len() + length > LONGEST_SPOOL => {
            fs::rename(path, earlier(path))?;
            file = open()?;
        }
        Ok(_) => {}
        Err(_) => file = open()?,
    }
    file.write_all(&line)
}

/// The spool before this one.
#[inline]
pub(super) fn earlier(spool: &Path) -> PathBuf {
    spool.with_extension("1.jsonl")
}
