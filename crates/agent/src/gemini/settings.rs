//! Settings for one process: what keeps sessions safe, tool output whole and turns counted, over what the machine's
//! administrator set.
//!
//! The CLI reads a file of settings for the whole machine, which overrides the user's own, and looks beside it for one of
//! defaults. Our process gets a copy of the first with a few settings more, and is told where the second is; no file of
//! anybody's is touched. Since 0.60 the CLI takes such a file only from root, in directories of root. One of ours would be
//! skipped there, and the administrator's with it: so it is given none, and little is lost, since what commands print is
//! in the session file, the safety of a resume does not hang on it, and turns are counted by us as well.

use super::cli::{Cli, Search, Version};
use crate::regular;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The variable that names the file.
pub(super) const SETTINGS: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";
/// The variable that names the file of defaults, which is else looked for beside the other.
pub(super) const DEFAULTS: &str = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH";

/// Since this version the file must be root's.
const GUARDED: Version = Version::new(0, 60, 0);

/// JSON with comments, and nothing else that is looser than JSON: the CLI reads no more than that.
pub(super) const COMMENTED: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A setting: where it stands, and what it shall be.
pub(super) type Setting = (&'static [&'static str], Value);

/// True where the CLI takes a file of ours.
pub(super) fn are_taken(cli: &Cli) -> bool {
    !cli.at_least(GUARDED)
}

/// The files of the machine's administrator.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) settings: PathBuf,
    defaults: PathBuf,
}

/// The settings of one process. The file goes with the value.
#[derive(Debug)]
pub(super) struct Own {
    file: NamedTempFile,
    defaults: PathBuf,
}

impl Machine {
    /// Where a process with these variables finds them.
    pub(super) fn of(env: &[(impl AsRef<OsStr>, impl AsRef<OsStr>)], search: &Search) -> Self {
        let given = |name: &str| {
            let found = env.iter().rev().find(|(known, _)| known.as_ref() == name);
            found.map(|(_, path)| PathBuf::from(path.as_ref()))
        };
        let settings = given(SETTINGS).or_else(|| search.settings.clone());
        let settings = settings.unwrap_or_else(usual_place);
        let defaults = given(DEFAULTS).or_else(|| search.defaults.clone());
        let defaults = defaults.unwrap_or_else(|| settings.with_file_name("system-defaults.json"));
        Self { settings, defaults }
    }

    /// Both files.
    pub(super) fn files(&self) -> [&Path; 2] {
        [&self.settings, &self.defaults]
    }

    /// The settings of our process. `None` if those of the machine cannot be read, and so must not
    /// be replaced.
    pub(super) fn with(self, ours: &[Setting]) -> io::Result<Option<Own>> {
        let text = match regular::text(&self.settings) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => "{}".to_owned(),
            Err(_) => return Ok(None),
        };
        let Ok(root) = CstRootNode::parse(&text, &COMMENTED) else { return Ok(None) };
        let Some(settings) = root.object_value() else { return Ok(None) };
        for (path, value) in ours {
            set(&settings, path, value);
        }
        let text = root.to_string();
        let mut file =
            tempfile::Builder::new().prefix("pollux-settings-").suffix(".json").tempfile()?;
        file.write_all(text.as_bytes())?;
        file.flush()?;
        Ok(Some(Own { file, defaults: self.defaults }))
    }
}

impl Own {
    /// The variables that lead the CLI to it.
    pub(super) fn variables(&self) -> [(&'static str, &Path); 2] {
        [(SETTINGS, self.file.path()), (DEFAULTS, &self.defaults)]
    }
}

/// Where the file is if nobody names another.
fn usual_place() -> PathBuf {
    PathBuf::from(if cfg!(target_os = "macos") {
        "/Library/Application Support/GeminiCli/settings.json"
    } else {
        "/etc/gemini-cli/settings.json"
    })
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

fn set(settings: &CstObject, path: &[&str], value: &Value) {
    let Some((name, above)) = path.split_last() else { return };
    let at = above.iter().fold(settings.clone(), |at, name| at.object_value_or_set(name));
    let Some(known) = at.get(name) else {
        at.append(name, written(value));
        return;
    };
    let theirs = known.value().and_then(|value| value.as_number_lit());
    let theirs = theirs.and_then(|number| number.to_string().parse::<u64>().ok());
    let lower = theirs.zip(value.as_u64()).is_some_and(|(theirs, ours)| theirs < ours);
    if !lower {
        // A limit of the administrator's that is lower than ours stays.
        known.set_value(written(value));
    }
}

/// A value as it is written into settings.
pub(super) fn written(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(is) => CstInputValue::Bool(*is),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(all) => CstInputValue::Array(all.iter().map(written).collect()),
        Value::Object(all) => CstInputValue::Object(
            all.iter().map(|(name, value)| (name.clone(), written(value))).collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{Machine, Search, Setting, safe, turns};
    use serde_json::{Value, json};
    use std::fs;
    use std::path::Path;

    /// The settings that a process is given, as text.
    fn given(machine: &Path, ours: &[Setting]) -> Option<String> {
        let search = Search { settings: Some(machine.into()), ..Search::default() };
        let none: [(&str, &str); 0] = [];
        let own = Machine::of(&none, &search).with(ours).unwrap()?;
        let [(_, file), (_, defaults)] = own.variables();
        assert_eq!(defaults, machine.with_file_name("system-defaults.json"));
        Some(fs::read_to_string(file).unwrap())
    }

    #[test]
    fn the_machines_settings_are_kept_with_their_comments_and_ours_are_added() {
        let directory = tempfile::tempdir().unwrap();
        let machine = directory.path().join("settings.json");
        let theirs = r#"{"general":{"vimMode":true},/*no*/"tools":{"core":["x"],"shell":1}}"#;
        fs::write(&machine, theirs).unwrap();
        let text = given(&machine, &safe()).unwrap();
        let read: Value = serde_json::from_str(&text.replace("/*no*/", "")).unwrap();
        assert_eq!(read["general"]["vimMode"], true);
        assert_eq!(read["tools"]["core"][0], "x");
        assert_eq!(read["general"]["sessionRetention"]["enabled"], false);
        assert_eq!(read["tools"]["shell"]["enableInteractiveShell"], false);
    }

    #[test]
    fn settings_that_cannot_be_read_are_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let machine = directory.path().join("settings.json");
        for unread in ["{ // a comment", "[]", "", r#"{"a": 1,}"#] {
            fs::write(&machine, unread).unwrap();
            assert_eq!(given(&machine, &safe()), None, "{unread}");
        }
        assert!(given(&directory.path().join("none.json"), &safe()).is_some());
    }

    #[test]
    fn what_a_variable_names_is_what_is_added_to() {
        let directory = tempfile::tempdir().unwrap();
        let (settings, defaults) = (directory.path().join("s"), directory.path().join("d"));
        let env = [(super::SETTINGS, &settings), (super::DEFAULTS, &defaults)];
        let search = Search { settings: Some("/not/this".into()), ..Search::default() };
        let machine = Machine::of(&env, &search);
        assert_eq!((machine.settings, machine.defaults), (settings, defaults));
    }

    #[test]
    fn a_limit_of_the_machines_that_is_lower_stays() {
        let directory = tempfile::tempdir().unwrap();
        let machine = directory.path().join("settings.json");
        for (theirs, ours, holds) in [(3, 5, 3), (5, 3, 3), (-1, 4, 4)] {
            let text = json!({ "model": { "maxSessionTurns": theirs } }).to_string();
            fs::write(&machine, text).unwrap();
            let text = given(&machine, &[turns(ours)]).unwrap();
            let read: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(read["model"]["maxSessionTurns"], holds);
        }
    }
}
