//! The digests of files that have not changed, kept from one run to the next.
//!
//! It is a cache and nothing else: whatever is wrong with it, it is made anew, and a file whose size or time differs is
//! read again.

use super::digest::Digest;
use super::scan::File;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Rises when a digest says something else than before about the same file.
const VERSION: u32 = 3;

/// What is known of the files, in the order of their paths.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Index {
    version: u32,
    entries: Vec<Entry>,
}

/// A path, the size and the time of the file when it was read, and what was in it.
#[derive(Debug, Deserialize)]
struct Entry(PathBuf, u64, u64, Box<Digest>);

/// The same, to be written.
#[derive(Serialize)]
struct Written<'a> {
    version: u32,
    entries: Vec<(&'a Path, u64, u64, &'a Digest)>,
}

impl Index {
    /// Reads an index; an empty one where there is none, or none of this version.
    pub(super) fn read(path: &Path) -> Self {
        let read: Option<Self> =
            fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        read.filter(|index| index.version == VERSION).unwrap_or_default()
    }

    /// The digests of the files that have not changed since. Both are in the order of their paths, so that one walk
    /// over both is enough.
    pub(super) fn known(self, files: &[File]) -> Vec<Option<Box<Digest>>> {
        let mut entries = self.entries.into_iter().peekable();
        let known = |file: &File| {
            while entries.next_if(|entry| entry.0 < file.path).is_some() {}
            let Entry(_, size, modified, digest) = entries.next_if(|entry| entry.0 == file.path)?;
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
    let entries = files
        .map(|(file, digest)| (file.path.as_path(), file.size, file.modified, digest))
        .collect();
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    let beside = path.with_extension(format!("{}.tmp", std::process::id()));
    fs::write(&beside, serde_json::to_vec(&Written { version: VERSION, entries })?)?;
    fs::rename(&beside, path).inspect_err(|_| drop(fs::remove_file(&beside)))
}
