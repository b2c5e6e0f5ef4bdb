//! The digests of files that have not changed, kept from one run to the next.
//!
//! It is a cache and nothing else: whatever is wrong with it, it is made anew, and a file whose size or time differs is
//! read again.

use super::digest::Digest;
use super::scan::File;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What the file begins with. The number rises when a digest has other fields, or says something else than before about
/// the same file.
const HEAD: &[u8] = b"pollux sessions 8\n";

/// What is known of the files, in the order of their paths as text.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Index(Vec<Entry>);

/// A path, the size and the time of the file when it was read, and what was in it.
#[derive(Debug, Deserialize)]
struct Entry(PathBuf, u64, u64, Box<Digest>);

/// The same, to be written.
#[derive(Serialize)]
struct Written<'a>(&'a str, u64, u64, &'a Digest);

impl Index {
    /// Reads an index; an empty one where there is none, or none of this version.
    pub(super) fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap_or_default();
        bytes
            .strip_prefix(HEAD)
            .and_then(|body| postcard::from_bytes(body).ok())
            .unwrap_or_default()
    }

    /// The digests of the files that have not changed since. Both are in the order of their paths, so that one walk
    /// over both is enough.
    pub(super) fn known(self, files: &[File]) -> Vec<Option<Box<Digest>>> {
        let mut entries = self.0.into_iter().peekable();
        let known = |file: &File| {
            let path = file.path.as_os_str();
            while entries.next_if(|entry| entry.0.as_os_str() < path).is_some() {}
            let Entry(_, size, modified, digest) =
                entries.next_if(|entry| entry.0.as_os_str() == path)?;
            (size == file.size && modified == file.modified).then_some(digest)
        };
        files.iter().map(known).collect()
    }
}

/// Writes an index: beside its place first, then into it, so that two who write at once leave one that is whole.
pub(super) fn write<'a>(
    path: &Path,
    files: impl Iterator<Item = (&'a File, &'a Digest)>,
) -> io::Result<()> {
    // A path that is not UTF-8 is not worth a format of its own: such a file is read again each time.
    let entry = |(file, digest): (&'a File, &'a Digest)| {
        Some(Written(file.path.to_str()?, file.size, file.modified, digest))
    };
    let entries: Vec<Written<'_>> = files.filter_map(entry).collect();
    let index = postcard::to_extend(&entries, HEAD.to_vec()).map_err(io::Error::other)?;
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    // Under a name of its own: two tasks of one process may write at once, too.
    let mut beside = tempfile::Builder::new().suffix(".tmp").tempfile_in(directory)?;
    beside.write_all(&index)?;
    beside.persist(path)?;
    Ok(())
}
