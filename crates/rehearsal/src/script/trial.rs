//! How to try a script out: the prompt that it is about, the arguments and the files that it needs.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Component, Path};
use std::time::SystemTime;
use std::{fs, io};

/// What a script says about its own trial run.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Trial {
    /// The prompt that the script is about.
    pub prompt: String,
    /// More arguments for the CLI, such as `--yolo`.
    pub args: Vec<String>,
    /// Files of the workspace: relative path to content.
    pub files: BTreeMap<String, String>,
}

impl Trial {
    /// Writes the files into a workspace, all of one moment: the CLI lists what it finds by time, and no script is about which of
    /// them was written first. Paths that lead out of it are refused.
    pub fn lay_out(&self, workspace: &Path) -> io::Result<()> {
        let now = SystemTime::now();
        for (name, content) in &self.files {
            let inside =
                Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
            if !inside {
                let text = format!("`{name}` is outside the workspace");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
            let path = workspace.join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            let mut file = fs::File::create(path)?;
            file.write_all(content.as_bytes())?;
            file.set_modified(now)?;
        }
        Ok(())
    }
}
