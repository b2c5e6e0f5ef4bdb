//! The digests of files that have not changed, kept from one run to the next.
//!
//! It is a cache and nothing else: whatever is wrong with it, it is made anew, and a file whose size or time differs is
//! read again.

use super::digest::Digest;
use super::scan::File;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Rises when a digest says something else than before about the same file.
const VERSION: u32 = 1;

/// The digests that are known, by path.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Index {
    version: u32,
    entries: HashMap<PathBuf, Entry>,
    #[serde(skip)]
    changed: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    size: u64,
    modified: u64,
    digest: Digest,
}

impl Index {
    /// Reads an index; an empty one where there is none, or none of this version.
    pub fn read(path: &Path) -> Self {
        let read: Option<Self> =
            fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let read = read.filter(|index| index.version == VERSION);
        read.unwrap_or_else(|| Self { version: VERSION, ..Self::default() })
    }

    /// The digest of a file that has not changed since.
    pub(super) fn get(&self, file: &File) -> Option<&Digest> {
        let entry = self.entries.get(&file.path)?;
        (entry.size == file.size && entry.modified == file.modified).then_some(&entry.digest)
    }

    /// Puts in what is known of a file now.
    pub(super) fn put(&mut self, file: &File, digest: &Digest) {
        let entry = Entry { size: file.size, modified: file.modified, digest: digest.clone() };
        self.entries.insert(file.path.clone(), entry);
        self.changed = true;
    }

    /// Forgets all files but these.
    pub(super) fn retain(&mut self, files: &[File]) {
        if self.entries.len() > files.len() {
            let stays: HashSet<&Path> = files.iter().map(|file| file.path.as_path()).collect();
            self.entries.retain(|path, _| stays.contains(path.as_path()));
            self.changed = true;
        }
    }

    /// Writes the index if anything in it is new: beside it first, then in its place, so that two who write at once
    /// leave one that is whole.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        if !self.changed {
            return Ok(());
        }
        let directory = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory)?;
        let beside = path.with_extension(format!("{}.tmp", std::process::id()));
        fs::write(&beside, serde_json::to_vec(self)?)?;
        fs::rename(&beside, path).inspect_err(|_| drop(fs::remove_file(&beside)))
    }
}
