//! What was lent, written down before it is touched: where it is, what it was, what of ours is in it.

use super::part::{Ours, Return};
use super::read;
use crate::gemini::hooks::settings::replace;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The file that says it.
const NOTE: &str = "lent.json";
/// What files were that could not be put back.
const KEPT: &str = "kept";
/// Nobody else may read what somebody's settings hold.
const PRIVATE: u32 = 0o600;

/// All that one agent is lent.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Note {
    pub(super) files: Vec<File>,
}

/// A file with something of ours in it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct File {
    pub(super) path: PathBuf,
    /// Its rights; none where there was no file.
    mode: Option<u32>,
    ours: Ours,
    /// What it was. In a file of its own beside the note.
    #[serde(skip)]
    before: Option<Vec<u8>>,
}

/// A file that was lent, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Returned {
    /// The file.
    pub path: PathBuf,
    /// What became of it.
    pub how: How,
}

/// What became of a file that was lent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// It is what it was, to the byte.
    Whole,
    /// Somebody changed it meanwhile. Theirs stayed, ours is gone.
    Changed,
    /// Somebody changed it so that ours cannot be told from theirs. It is left as it is; what it was is kept here.
    Left(PathBuf),
}

impl Note {
    /// What is written down; nothing where nothing is lent.
    pub(super) fn read(directory: &Path) -> io::Result<Option<Self>> {
        let Some(text) = read(&directory.join(NOTE))? else { return Ok(None) };
        let mut note: Self = serde_json::from_slice(&text)?;
        for (number, file) in note.files.iter_mut().enumerate() {
            if file.mode.is_some() {
                file.before = Some(fs::read(kept_at(directory, number))?);
            }
        }
        Ok(Some(note))
    }

    /// Writes it down: first what the files were, then that they are lent. All of it is on the disk before anything else
    /// is done.
    pub(super) fn write(&self, directory: &Path) -> io::Result<()> {
        let private = || Permissions::from_mode(PRIVATE);
        for (number, file) in self.files.iter().enumerate() {
            if let Some(before) = &file.before {
                replace(&kept_at(directory, number), before, private())?;
            }
        }
        replace(&directory.join(NOTE), serde_json::to_vec(self)?, private())?;
        fs::File::open(directory)?.sync_all()
    }

    /// Makes the files what they were. The note goes last.
    pub(super) fn put_back(self, directory: &Path) -> io::Result<Vec<Returned>> {
        let mut returned = Vec::new();
        for file in &self.files {
            let how = file.put_back(directory)?;
            returned.push(Returned { path: file.path.clone(), how });
        }
        fs::remove_file(directory.join(NOTE))?;
        for number in 0..self.files.len() {
            gone(&kept_at(directory, number))?;
        }
        Ok(returned)
    }
}

impl File {
    pub(super) fn new(path: PathBuf, before: Option<Vec<u8>>, ours: Ours) -> Self {
        let mode = fs::metadata(&path).map(|data| data.permissions().mode() & 0o7777).ok();
        Self { mode: before.is_some().then(|| mode.unwrap_or(PRIVATE)), path, ours, before }
    }

    pub(super) fn write(&self, text: &[u8]) -> io::Result<()> {
        let mode = Permissions::from_mode(self.mode.unwrap_or(PRIVATE));
        replace(&self.path, text, mode).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
        })
    }

    fn put_back(&self, directory: &Path) -> io::Result<How> {
        self.sweep();
        let (now, before) = (read(&self.path)?, self.before.as_deref());
        Ok(match (self.ours.take_out(now.as_deref(), before), before) {
            (Return::Nothing, _) => How::Whole,
            (Return::Back, Some(before)) => {
                self.write(before)?;
                How::Whole
            }
            (Return::Back, None) => {
                gone(&self.path)?;
                How::Whole
            }
            (Return::Without(text), _) => {
                self.write(&text)?;
                How::Changed
            }
            (Return::Stays, _) => How::Left(self.keep(directory)?),
        })
    }

    /// What a crash has left beside it in the middle of writing.
    fn sweep(&self) {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_half = |half: &str| {
            let half = half.strip_prefix(&format!(".{name}."));
            let writer = half.and_then(|half| half.strip_suffix(".pollux")?.parse().ok());
            let writer = writer.and_then(Pid::from_raw);
            writer.is_some_and(|writer| test_kill_process(writer) == Err(Errno::SRCH))
        };
        let entries = self.path.parent().and_then(|parent| fs::read_dir(parent).ok());
        for entry in entries.into_iter().flatten().flatten() {
            if is_half(&entry.file_name().to_string_lossy()) {
                // It is in nobody's way.
                let _gone = fs::remove_file(entry.path());
            }
        }
    }

    /// Keeps what it was, where a person will find it.
    fn keep(&self, directory: &Path) -> io::Result<PathBuf> {
        let kept = directory.join(KEPT);
        DirBuilder::new().recursive(true).mode(0o700).create(&kept)?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let path = kept.join(format!("{now}-{name}"));
        replace(
            &path,
            self.before.as_deref().unwrap_or_default(),
            Permissions::from_mode(PRIVATE),
        )?;
        Ok(path)
    }
}

/// What could not be put back.
pub(super) fn kept(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory.join(KEPT)).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    all.sort();
    all
}

fn kept_at(directory: &Path, number: usize) -> PathBuf {
    directory.join(format!("{number}.before"))
}

fn gone(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
