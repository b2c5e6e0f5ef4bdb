//! Settings for one process: what keeps sessions safe, tool output whole and turns counted, over what the machine's
//! administrator set.
//!
//! The CLI reads a file of settings for the whole machine, which overrides the user's own. Our process gets a copy of it
//! with a few settings more; no file of anybody's is touched. Since 0.60 the CLI takes such a file only from root, in
//! directories of root: there nothing is gained by it, and little is lost, since what commands print is in the session
//! file, the safety of a resume does not hang on it, and turns are counted by us as well.

use super::cli::{Cli, Version};
use serde_json::{Value, json};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The variable that names the file.
pub(super) const VARIABLE: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";

/// Since this version the file must be root's.
const GUARDED: Version = Version::new(0, 60, 0);

/// A setting: where it stands, and what it shall be.
pub(super) type Setting = (&'static [&'static str], Value);

/// True where the CLI takes a file of ours.
pub(super) fn are_taken(cli: &Cli) -> bool {
    !cli.at_least(GUARDED)
}

/// Where the file is if nobody names another.
pub(super) fn usual_place() -> PathBuf {
    PathBuf::from(if cfg!(target_os = "macos") {
        "/Library/Application Support/GeminiCli/settings.json"
    } else {
        "/etc/gemini-cli/settings.json"
    })
}

/// The settings of our process. None where those of the machine cannot be read, and so must not be replaced.
pub(super) fn file(machine: &Path, ours: &[Setting]) -> io::Result<Option<NamedTempFile>> {
    let base = match fs::read_to_string(machine) {
        Ok(text) => serde_json::from_str(&text).ok().filter(Value::is_object),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(json!({})),
        Err(_) => None,
    };
    let Some(mut settings) = base else { return Ok(None) };
    for (path, value) in ours {
        set(&mut settings, path, value);
    }
    let mut file =
        tempfile::Builder::new().prefix("pollux-settings-").suffix(".json").tempfile()?;
    file.write_all(settings.to_string().as_bytes())?;
    file.flush()?;
    Ok(Some(file))
}

/// What keeps a session and what its commands print.
pub(super) fn safe() -> Vec<Setting> {
    vec![
        // With it on, the next start deletes a session that was resumed.
        (&["general", "sessionRetention", "enabled"], json!(false)),
        // With it on, what a command printed does not come over ACP (0.40 and later).
        (&["tools", "shell", "enableInteractiveShell"], json!(false)),
    ]
}

/// How often the model may be asked. The CLI counts before it asks, and so never asks once too often.
pub(super) fn turns(most: u64) -> Setting {
    (&["model", "maxSessionTurns"], json!(most))
}

fn set(settings: &mut Value, path: &[&str], value: &Value) {
    let mut at = settings;
    for name in path {
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[*name];
    }
    let lower = at.as_u64().zip(value.as_u64()).is_some_and(|(theirs, ours)| theirs < ours);
    if !lower {
        // A limit of the administrator's that is lower than ours stays.
        *at = value.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::{file, safe, turns};
    use serde_json::{Value, json};
    use std::fs;

    #[test]
    fn the_machines_settings_are_kept_and_ours_are_added() {
        let directory = tempfile::tempdir().unwrap();
        let machine = directory.path().join("settings.json");
        fs::write(&machine, r#"{"general":{"vimMode":true},"tools":{"core":["x"]}}"#).unwrap();
        let made = file(&machine, &safe()).unwrap().unwrap();
        let read: Value = serde_json::from_str(&fs::read_to_string(made.path()).unwrap()).unwrap();
        assert_eq!(read["general"]["vimMode"], true);
        assert_eq!(read["tools"]["core"][0], "x");
        assert_eq!(read["general"]["sessionRetention"]["enabled"], false);
        assert_eq!(read["tools"]["shell"]["enableInteractiveShell"], false);
    }

    #[test]
    fn settings_that_cannot_be_read_are_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let machine = directory.path().join("settings.json");
        fs::write(&machine, "{ // a comment\n}").unwrap();
        assert!(file(&machine, &safe()).unwrap().is_none());
        assert!(file(&directory.path().join("none.json"), &safe()).unwrap().is_some());
    }

    #[test]
    fn a_limit_of_the_machines_that_is_lower_stays() {
        let directory = tempfile::tempdir().unwrap();
        let machine = directory.path().join("settings.json");
        for (theirs, ours, holds) in [(3, 5, 3), (5, 3, 3), (-1, 4, 4)] {
            let text = json!({ "model": { "maxSessionTurns": theirs } }).to_string();
            fs::write(&machine, text).unwrap();
            let made = file(&machine, &[turns(ours)]).unwrap().unwrap();
            let read: Value =
                serde_json::from_str(&fs::read_to_string(made.path()).unwrap()).unwrap();
            assert_eq!(read["model"]["maxSessionTurns"], holds);
        }
    }
}
