//! Settings for one process: what keeps sessions safe and tool output whole, over what the machine's administrator set.
//!
//! The CLI reads a file of settings for the whole machine, which overrides the user's own. Our process gets a copy of it
//! with two settings more; no file of anybody's is touched. Newer versions (0.61 is one) take such a file only from root,
//! in directories of root: there nothing is gained by it, and nothing is lost, since what commands print is in the session
//! file and the safety of a resume does not hang on it.

use serde_json::{Value, json};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The variable that names the file.
pub(super) const VARIABLE: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";

/// Where the file is if nobody names another.
pub(super) fn usual_place() -> PathBuf {
    PathBuf::from(if cfg!(target_os = "macos") {
        "/Library/Application Support/GeminiCli/settings.json"
    } else {
        "/etc/gemini-cli/settings.json"
    })
}

/// The settings of our process. None where those of the machine cannot be read, and so must not be replaced.
pub(super) fn file(machine: &Path) -> io::Result<Option<NamedTempFile>> {
    let base = match fs::read_to_string(machine) {
        Ok(text) => serde_json::from_str(&text).ok().filter(Value::is_object),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(json!({})),
        Err(_) => None,
    };
    let Some(mut settings) = base else { return Ok(None) };
    for (path, value) in ours() {
        set(&mut settings, path, value);
    }
    let mut file =
        tempfile::Builder::new().prefix("pollux-settings-").suffix(".json").tempfile()?;
    file.write_all(settings.to_string().as_bytes())?;
    file.flush()?;
    Ok(Some(file))
}

fn ours() -> [(&'static [&'static str], Value); 2] {
    [
        // With it on, the next start deletes a session that was resumed.
        (&["general", "sessionRetention", "enabled"], json!(false)),
        // With it on, what a command printed does not come over ACP (0.40 and later).
        (&["tools", "shell", "enableInteractiveShell"], json!(false)),
    ]
}

fn set(settings: &mut Value, path: &[&str], value: Value) {
    let mut at = settings;
    for name in path {
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[*name];
    }
    *at = value;
}

#[cfg(test)]
mod tests {
    use super::file;
    use serde_json::Value;

    #[test]
    fn the_machines_settings_are_kept_and_ours_are_added() {
        let directory = tempfile::tempdir().unwrap();
        let machine = directory.path().join("settings.json");
        std::fs::write(&machine, r#"{"general":{"vimMode":true},"tools":{"core":["x"]}}"#).unwrap();
        let made = file(&machine).unwrap().unwrap();
        let read: Value =
            serde_json::from_str(&std::fs::read_to_string(made.path()).unwrap()).unwrap();
        assert_eq!(read["general"]["vimMode"], true);
        assert_eq!(read["tools"]["core"][0], "x");
        assert_eq!(read["general"]["sessionRetention"]["enabled"], false);
        assert_eq!(read["tools"]["shell"]["enableInteractiveShell"], false);
    }

    #[test]
    fn settings_that_cannot_be_read_are_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let machine = directory.path().join("settings.json");
        std::fs::write(&machine, "{ // a comment\n}").unwrap();
        assert!(file(&machine).unwrap().is_none());
        assert!(file(&directory.path().join("none.json")).unwrap().is_some());
    }
}
