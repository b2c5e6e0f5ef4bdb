//! A directory of the CLI that a test fills by hand.

use pollux_agent::gemini::transcript::store::{self, Listing, Session};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A directory such as `~/.gemini`.
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file below `tmp`, with the directories that it needs.
    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join("tmp").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn list(&self) -> Listing {
        store::list(self.path(), &[], None, &|_, _| {})
    }

    /// The only session that is there.
    pub(crate) fn only(&self) -> Session {
        let mut listing = self.list();
        assert_eq!(listing.sessions.len(), 1, "{listing:?}");
        listing.sessions.remove(0)
    }

    /// What was skipped: the file's name and the diagnostic.
    pub(crate) fn problems(&self) -> Vec<String> {
        let listing = self.list();
        let told = listing.problems.iter().map(|problem| {
            let name = problem.path.file_name().unwrap().to_string_lossy().into_owned();
            format!("{name}: {}", problem.diagnostic)
        });
        told.collect()
    }
}

/// The header of a log.
pub(crate) fn header(id: &str) -> Value {
    json!({ "sessionId": id, "projectHash": "0", "startTime": "2026-11-15T18:00:00Z",
        "lastUpdated": "2026-11-15T18:00:00Z", "kind": "main" })
}

pub(crate) fn user(id: &str, text: &str) -> Value {
    json!({ "id": id, "timestamp": "2026-11-15T18:00:01Z", "type": "user", "content": [{ "text": text }] })
}

pub(crate) fn answer(id: &str, text: &str) -> Value {
    json!({ "id": id, "timestamp": "2026-11-15T18:00:02Z", "type": "gemini", "content": text,
        "tokens": { "input": 3, "output": 2, "total": 5 }, "model": "gemini-3-flash-preview" })
}

/// What a start of the CLI writes when nobody says anything.
pub(crate) fn context() -> Value {
    user("c", "<session_context>\nThis is the Gemini CLI.\n</session_context>")
}

/// Records as a log.
pub(crate) fn log(records: &[Value]) -> String {
    records.iter().flat_map(|record| [record.to_string(), "\n".to_owned()]).collect()
}

/// A session of the old format.
pub(crate) fn document(id: &str, messages: &[Value]) -> String {
    let document = json!({ "sessionId": id, "projectHash": "0", "startTime": "2026-11-15T17:00:00Z",
        "lastUpdated": "2026-11-15T17:00:00Z", "messages": messages });
    serde_json::to_string_pretty(&document).unwrap()
}
