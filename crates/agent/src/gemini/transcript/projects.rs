//! Which directory of the CLI belongs to which project.
//!
//! Since 0.29 a project's directory is a slug that `projects.json` and a `.project_root` file explain; before that it is
//! the SHA-256 of the project's path, which can only be recognised by hashing the paths that we know of.

use crate::regular;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The projects that the CLI, or the caller, knows of.
#[derive(Debug, Default)]
pub struct Projects {
    by_slug: HashMap<String, PathBuf>,
    by_hash: HashMap<String, PathBuf>,
}

impl Projects {
    /// Reads what the CLI has written down in its directory. `near` are paths that may be projects too: they and the
    /// directories above them.
    pub fn read(gemini: &Path, near: &[&Path]) -> Self {
        let mut projects = Self::default();
        let registry = json(&gemini.join("projects.json"));
        for (path, slug) in
            registry.get("projects").and_then(Value::as_object).into_iter().flatten()
        {
            if let Some(slug) = slug.as_str() {
                projects.by_slug.insert(slug.to_owned(), path.into());
            }
            projects.know(Path::new(path));
        }
        for (path, _) in json(&gemini.join("trustedFolders.json")).as_object().into_iter().flatten()
        {
            projects.know(Path::new(path));
        }
        near.iter().flat_map(|path| path.ancestors()).for_each(|path| projects.know(path));
        projects
    }

    fn know(&mut self, path: &Path) {
        self.by_hash.entry(hash(path)).or_insert_with(|| path.to_path_buf());
    }

    /// The project of one of the directories under `tmp`, or of a session that carries a project's hash.
    pub fn find(&self, directory: &Path, project_hash: Option<&str>) -> Option<PathBuf> {
        let owner = regular::text(&directory.join(".project_root")).ok();
        let owner =
            owner.map(|owner| PathBuf::from(owner.trim())).filter(|owner| owner.is_absolute());
        let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        owner
            .or_else(|| self.by_slug.get(name).cloned())
            .or_else(|| self.by_hash.get(name).cloned())
            .or_else(|| self.by_hash.get(project_hash?).cloned())
    }
}

/// The name that the CLI gave to a project's directory before 0.29, and still writes into each session.
///
/// ```
/// use pollux_agent::gemini::transcript::store::project_hash;
///
/// let hash = project_hash("/tmp/ws1".as_ref());
/// assert_eq!(hash, "c23e0882fbaf6e31f4671470f30520073e5d6496e793a40008c217b402659f91");
/// ```
pub fn hash(path: &Path) -> String {
    let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
    digest.iter().fold(String::with_capacity(64), |mut hex, byte| {
        let written = write!(hex, "{byte:02x}");
        debug_assert!(written.is_ok(), "writing to a string does not fail");
        hex
    })
}

/// A JSON file of the CLI; null where it cannot be read. The CLI repairs its own files, we only look.
fn json(path: &Path) -> Value {
    regular::read(path)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default()
}
