//! Files that somebody else may have put there: only a real file is read. To open a pipe waits for whoever writes to it, for ever.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Settings and lists are never as long as this; a device is.
const LONGEST: u64 = 64 << 20;

/// Opens what was a file a moment ago: a pipe that has come into its place is empty, and not waited for.
pub(crate) fn at_once(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Opens a file to read it; an error where it is a pipe, a device or a directory.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = at_once(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

/// The whole of a file that is not long.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The whole of a file, however long: for those in which nothing may be missing.
pub(crate) fn whole(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What [`read`] gives, as text.
pub fn text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::{read, text, whole};
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    #[test]
    fn a_pipe_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("settings.json");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        for read in [read, whole] {
            assert_eq!(read(&pipe).unwrap_err().to_string(), "not a regular file");
        }
        assert!(read(directory.path()).is_err());
        assert!(read("/dev/zero".as_ref()).is_err());
        let file = directory.path().join("file");
        std::fs::write(&file, "words").unwrap();
        assert_eq!(text(&file).unwrap(), "words");
    }
}
