//! A copy of a session under a new id: two that go on from the same place, each its own way.

use super::rescue::put;
use super::resume::messages;
use super::string;
use crate::gemini::loose::loose_object;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use uuid::Uuid;

loose_object! {
    /// A record, or a whole session of the old format, as far as it names the session.
    Named {
        "sessionId" => session_id: Option<&'a RawValue>,
        "$set" => set: Option<Set<'a>>,
    }
}

loose_object! {
    /// `$set`: a resume names the session there.
    Set {
        "sessionId" => session_id: Option<&'a RawValue>,
    }
}

/// A session that was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    /// Its id.
    pub id: String,
    /// Its file.
    pub file: PathBuf,
}

/// Copies a session's file beside it, under a new id, and looks that every message is in the copy. The file's name keeps the
/// minute of the first: what the CLI must not do to a session in the minute that it was made in holds for both.
///
/// ```
/// use pollux_agent::gemini::transcript::fork::fork;
/// # let directory = tempfile::tempdir().unwrap();
/// # let file = directory.path().join("session-2026-11-15T17-55-1f9cc522.jsonl");
/// # let id = "1f9cc522-0000-4000-8000-000000000000";
/// # std::fs::write(&file, format!("{{\"sessionId\":\"{id}\"}}\n{{\"id\":\"1\",\"type\":\"user\",\"content\":\"hello\"}}\n")).unwrap();
/// let copy = fork(&file).unwrap();
/// let text = std::fs::read_to_string(&copy.file).unwrap();
/// assert!(text.contains(&copy.id) && !text.contains("1f9cc522"));
/// ```
pub fn fork(file: &Path) -> io::Result<Fork> {
    let id = Uuid::new_v4().to_string();
    let text = fs::read_to_string(file)?;
    let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let old = text.lines().find_map(named).or_else(|| named(&text));
    let old = old.ok_or_else(|| wrong("the session file has no session id"))?;
    let copy = file.with_file_name(name(file, &id));
    let renamed = renamed(&text, &old, &id);
    if messages(renamed.as_bytes()) != messages(text.as_bytes()) {
        return Err(wrong("the copy differs from the session"));
    }
    put(renamed.as_bytes(), &copy, file)?;
    Ok(Fork { id, file: copy })
}

/// The same session under another id: only where it is named as such, never where it is spoken of.
fn renamed(text: &str, old: &str, new: &str) -> String {
    let (quoted, by) = (format!("\"{old}\""), format!("\"{new}\""));
    if named(text).is_some() {
        return text.replacen(&quoted, &by, 1);
    }
    let line = |line: &str| match named(line) {
        Some(id) if id == old => line.replacen(&quoted, &by, 1),
        _ => line.to_owned(),
    };
    text.split_inclusive('\n').map(line).collect()
}

/// The id of the session in a record.
fn named(json: &str) -> Option<Cow<'_, str>> {
    let named: Named<'_> = serde_json::from_str(json).ok()?;
    let set = named.set.and_then(|set| set.session_id);
    string(named.session_id.or(set)).filter(|id| Uuid::parse_str(id).is_ok())
}

fn name(file: &Path, id: &str) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (stem, extension) = name.split_once('.').unwrap_or((&name, "jsonl"));
    let begin = stem.rsplit_once('-').map_or(stem, |(begin, _)| begin);
    let short: String = id.chars().take(8).collect();
    format!("{begin}-{short}.{extension}")
}

#[cfg(test)]
mod tests {
    use super::fork;

    #[test]
    fn a_session_is_named_anew_wherever_it_is_named_and_nowhere_else() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("session-2026-11-15T17-55-1f9cc522.jsonl");
        let id = "1f9cc522-0000-4000-8000-000000000000";
        let lines = [
            format!(r#"{{"sessionId":"{id}","kind":"main"}}"#),
            format!(r#"{{"id":"1","type":"user","content":"what is \"{id}\"?"}}"#),
            format!(r#"{{"$set":{{"sessionId":"{id}"}}}}"#),
            r#"{"$set":{"messages":[{"id":"1","type":"user","content":"hello"}]}}"#.to_owned(),
        ];
        let before = lines.join("\n") + "\n";
        std::fs::write(&file, &before).unwrap();
        let copy = fork(&file).unwrap();
        let after = std::fs::read_to_string(&copy.file).unwrap();
        assert_eq!(after.matches(id).count(), 1, "{after}");
        assert_eq!(after.matches(&copy.id).count(), 2, "{after}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
        let name = copy.file.file_name().unwrap().to_str().unwrap();
        assert!(
            name.starts_with("session-2026-11-15T17-55-")
                && name.contains(copy.id.get(..8).unwrap()),
            "{name}"
        );
        // The old format is one object.
        let old = directory.path().join("session-2025-10-01T10-00-1f9cc522.json");
        std::fs::write(&old, format!("{{\n  \"sessionId\": \"{id}\",\n  \"messages\": []\n}}"))
            .unwrap();
        let copy = fork(&old).unwrap();
        assert!(std::fs::read_to_string(&copy.file).unwrap().contains(&copy.id));
        std::fs::write(&old, "[]").unwrap();
        assert!(fork(&old).is_err());
    }
}
