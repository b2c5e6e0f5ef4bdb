//! Hooks as entries of a `settings.json`: put in and taken out again, to the byte.

mod edit;

pub use edit::Wrong;

use crate::regular;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Why hooks were not put in, or not taken out.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// The file is left as it is.
    #[error("{file} was not changed: {wrong}", file = .0.display(), wrong = .1)]
    Refused(PathBuf, Wrong),
    /// A file could not be read or written.
    #[error("{file}: {why}", file = .0.display(), why = .1)]
    Io(PathBuf, io::Error),
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// It was changed.
    Changed,
    /// It was as it should be.
    Unchanged,
    /// It is to the byte what it was before our hooks came.
    Restored,
    /// It was made by us and is gone.
    Removed,
}

/// What a file was before our hooks came, and what it was then.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    path: PathBuf,
    /// The text before; none where there was no file.
    before: Option<String>,
    /// The SHA-256 of the text after.
    after: String,
}

/// A file of settings, and the directory in which Pollux keeps what it was before.
#[derive(Debug, Clone)]
pub struct Settings {
    file: PathBuf,
    notes: PathBuf,
}

impl Settings {
    /// The settings in `directory` (`~/.gemini`, or `.gemini` of a project). A link is followed: what it leads to is
    /// changed, and the link stays.
    pub fn new(directory: &Path, notes: &Path) -> Self {
        let file = directory.join("settings.json");
        let file = fs::canonicalize(&file).unwrap_or(file);
        Self { file, notes: notes.to_owned() }
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The command of our hooks, where they are in.
    pub fn installed(&self) -> Result<Option<String>, Failed> {
        match self.read()? {
            Some(text) => edit::installed(&text).map_err(|wrong| self.refused(wrong)),
            None => Ok(None),
        }
    }

    /// Puts our hooks in.
    pub fn install(&self, program: &str) -> Result<Done, Failed> {
        let now = self.read()?;
        // From what it was before, the result is the same each time.
        let before = match (&now, self.untouched(now.as_deref())) {
            (_, Some(note)) => note.before,
            // Ours of another program may be in it, which it must not come back to.
            (Some(now), None) => Some(self.without_ours(now)?),
            (None, None) => None,
        };
        let after = match &before {
            Some(text) => edit::with(text, program),
            None => edit::fresh(program),
        };
        let after = after.map_err(|wrong| self.refused(wrong))?;
        if now.as_deref() == Some(&*after) {
            return Ok(Done::Unchanged);
        }
        self.remember(&Note { path: self.file.clone(), before, after: sum(&after) })?;
        self.write(&after)?;
        Ok(Done::Changed)
    }

    /// Takes our hooks out. Where nobody changed the file since, it is to the byte what it was; else what was changed
    /// stays, and only our entries go.
    pub fn uninstall(&self) -> Result<Done, Failed> {
        let Some(now) = self.read()? else { return Ok(Done::Unchanged) };
        let done = match self.untouched(Some(&now)).map(|note| note.before) {
            Some(Some(before)) => {
                self.write(&before)?;
                Done::Restored
            }
            Some(None) => {
                fs::remove_file(&self.file).map_err(|error| self.io(error))?;
                Done::Removed
            }
            None => self.take_out(&now)?,
        };
        let _gone = fs::remove_file(self.note_file());
        Ok(done)
    }

    /// Takes our entries out of a file that somebody has changed since.
    fn take_out(&self, now: &str) -> Result<Done, Failed> {
        let without = self.without_ours(now)?;
        if without == now {
            return Ok(Done::Unchanged);
        }
        self.write(&without)?;
        Ok(Done::Changed)
    }

    /// A text without our entries, and without what is empty then and was not there before.
    fn without_ours(&self, now: &str) -> Result<String, Failed> {
        let before = self.note().and_then(|note| note.before);
        let had = before.map(|text| paths(&text)).unwrap_or_default();
        let without = edit::without(now, &|path| !had.iter().any(|had| had == path));
        without.map_err(|wrong| self.refused(wrong))
    }

    fn refused(&self, wrong: Wrong) -> Failed {
        Failed::Refused(self.file.clone(), wrong)
    }

    fn io(&self, error: io::Error) -> Failed {
        Failed::Io(self.file.clone(), error)
    }

    fn read(&self) -> Result<Option<String>, Failed> {
        match regular::read(&self.file) {
            Ok(bytes) => String::from_utf8(bytes)
                .map(Some)
                .map_err(|error| self.refused(Wrong::Malformed(error.to_string()))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.io(error)),
        }
    }

    /// What the file was before our hooks came, if it is still what we made of it.
    fn untouched(&self, now: Option<&str>) -> Option<Note> {
        let now = sum(now?);
        self.note().filter(|note| note.after == now)
    }

    fn note_file(&self) -> PathBuf {
        self.notes.join(format!("{}.json", sum(&self.file.to_string_lossy())))
    }

    fn note(&self) -> Option<Note> {
        let note: Note = serde_json::from_slice(&fs::read(self.note_file()).ok()?).ok()?;
        (note.path == self.file).then_some(note)
    }

    /// Settings may hold secrets, so the note is nobody else's to read.
    fn remember(&self, note: &Note) -> Result<(), Failed> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.notes)
            .map_err(|error| self.io(error))?;
        let text = serde_json::to_string(note).map_err(|error| self.io(error.into()))?;
        replace(&self.note_file(), &text, Permissions::from_mode(0o600))
            .map_err(|error| self.io(error))
    }

    fn write(&self, text: &str) -> Result<(), Failed> {
        let mode = fs::metadata(&self.file)
            .map_or(Permissions::from_mode(0o600), |data| data.permissions());
        if let Some(directory) = self.file.parent() {
            fs::create_dir_all(directory).map_err(|error| self.io(error))?;
        }
        replace(&self.file, text, mode).map_err(|error| self.io(error))
    }
}

/// Writes a file whole or not at all: beside it, to the disk, then in its place.
pub(super) fn replace(file: &Path, text: impl AsRef<[u8]>, mode: Permissions) -> io::Result<()> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let beside = file.with_file_name(format!(".{name}.{}.pollux", std::process::id()));
    let written = (|| {
        let mut new =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        new.write_all(text.as_ref())?;
        new.set_permissions(mode)?;
        new.sync_all()?;
        fs::rename(&beside, file)
    })();
    if written.is_err() {
        let _gone = fs::remove_file(&beside);
    }
    written
}

fn sum(text: &str) -> String {
    Sha256::digest(text.as_bytes())
        .iter()
        .fold(String::new(), |sum, byte| sum + &format!("{byte:02x}"))
}

/// What of `hooks` was there before.
fn paths(text: &str) -> Vec<String> {
    let options = jsonc_parser::ParseOptions::default();
    let root = jsonc_parser::cst::CstRootNode::parse(text, &options).ok();
    let Some(hooks) =
        root.and_then(|root| root.object_value()).and_then(|root| root.object_value("hooks"))
    else {
        return Vec::new();
    };
    let events = hooks.properties().into_iter().filter_map(|property| property.decoded_name());
    std::iter::once("hooks".to_owned())
        .chain(events.map(|event| format!("hooks.{event}")))
        .collect()
}
