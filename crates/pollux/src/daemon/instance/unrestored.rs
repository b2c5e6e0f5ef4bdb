//! Files that an older Pollux changed while an agent started (`files: shared` in a profile) and did
//! not restore after a crash. Pollux no longer changes such files: it only says how to restore them.

use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Default, Deserialize)]
struct Note {
    files: Vec<Changed>,
}

#[derive(Debug, Deserialize)]
struct Changed {
    path: PathBuf,
    /// `None` if the file did not exist.
    mode: Option<u32>,
}

/// What is left in the directory of an older Pollux, and what to do about it.
#[derive(Debug)]
pub struct Unrestored {
    /// The files, and where their backups are.
    pub found: String,
    /// The commands that restore them.
    pub hint: String,
}

impl Unrestored {
    /// Reads the directory. Changes nothing.
    pub fn read(directory: &Path) -> Option<Self> {
        let note = fs::read(directory.join("lent.json")).ok();
        // Originals of files that were edited while Pollux changed them.
        let kept = directory.join("kept");
        if note.is_none() && !kept.exists() {
            return None;
        }
        let note = note.and_then(|note| serde_json::from_slice::<Note>(&note).ok());
        let files = note.unwrap_or_default().files;
        let names: Vec<String> = files.iter().map(|file| file.path.display().to_string()).collect();
        let commands = files.iter().enumerate().map(|(number, file)| match file.mode {
            Some(_) => {
                let backup = directory.join(format!("{number}.before"));
                format!("`cp {} {}`", quoted(&backup), quoted(&file.path))
            }
            None => format!("`rm {}`", quoted(&file.path)),
        });
        let mut steps: Vec<String> = commands.collect();
        if kept.exists() {
            steps.push(format!("compare your files with the originals in {}", kept.display()));
        }
        steps.push(format!("delete {}", directory.display()));
        let names = if names.is_empty() { "files".to_owned() } else { names.join(", ") };
        let found = format!(
            "an older Pollux changed {names} and did not restore them; the backups are in {}",
            directory.display()
        );
        Some(Self { found, hint: format!("check for later edits, then: {}", steps.join(", ")) })
    }
}

/// A path as one word for a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
