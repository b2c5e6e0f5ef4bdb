//! Hooks as one extension of the CLI: it runs in folders that are not trusted too, and no file of the user is changed.

use super::settings::replace;
use super::{EVENTS, NAME, TIMEOUT_MS, command};
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What the extension says of itself, by which it is known as ours.
const DESCRIPTION: &str =
    "Tells Pollux when sessions, turns and tools begin and end. Made by `pollux hooks install`.";

/// Our extension in a Gemini directory.
#[derive(Debug, Clone)]
pub struct Extension {
    directory: PathBuf,
}

impl Extension {
    /// The extension in `gemini`, which is `~/.gemini`.
    pub fn new(gemini: &Path) -> Self {
        Self { directory: gemini.join("extensions").join(NAME) }
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The command of its hooks, where it is installed.
    pub fn installed(&self) -> Option<String> {
        if !self.is_ours() {
            return None;
        }
        let hooks: Value = serde_json::from_str(&fs::read_to_string(self.hooks()).ok()?).ok()?;
        command_in(&hooks)
    }

    /// Writes it, or brings it up to date. A directory of the same name that is not ours is an error.
    pub fn install(&self, program: &str, version: &str) -> io::Result<bool> {
        if self.directory.exists() && !self.is_ours() && !self.is_half_made() {
            let why = "an extension with this name exists that Pollux did not create";
            return Err(io::Error::new(ErrorKind::AlreadyExists, why));
        }
        let is_new = !self.directory.exists();
        let written = self.write(program, version);
        if written.is_err() && is_new {
            // The CLI would warn of half an extension at each start.
            let _removed = fs::remove_dir_all(&self.directory);
        }
        written
    }

    fn write(&self, program: &str, version: &str) -> io::Result<bool> {
        fs::create_dir_all(self.directory.join("hooks"))?;
        // The manifest last: a directory without one is no extension.
        let changed = put(&self.hooks(), &hooks_file(program))?;
        let manifest = self.directory.join("gemini-extension.json");
        Ok(put(&manifest, &manifest_file(version))? || changed)
    }

    /// Removes it; false where it was not there.
    pub fn uninstall(&self) -> io::Result<bool> {
        if !self.is_ours() {
            return Ok(false);
        }
        fs::remove_dir_all(&self.directory)?;
        // The directory that was made for it goes too, unless others have come to be in it.
        self.directory.parent().map(fs::remove_dir).map(Result::ok);
        Ok(true)
    }

    /// True where nothing is there but what comes first when it is written: whoever wrote it was ended before the manifest.
    fn is_half_made(&self) -> bool {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        let hooks = fs::read_to_string(self.hooks()).unwrap_or_default();
        let hooks: Value = serde_json::from_str(&hooks).unwrap_or_default();
        let ours = hooks.is_null() || command_in(&hooks).is_some();
        let is_first =
            |name: &OsString| name == "hooks" || name.to_string_lossy().ends_with(".pollux");
        ours && names.iter().all(is_first)
    }

    fn hooks(&self) -> PathBuf {
        self.directory.join("hooks/hooks.json")
    }

    fn is_ours(&self) -> bool {
        let text =
            fs::read_to_string(self.directory.join("gemini-extension.json")).unwrap_or_default();
        let manifest: Value = serde_json::from_str(&text).unwrap_or_default();
        manifest["name"] == NAME && manifest["description"] == DESCRIPTION
    }
}

/// The command of the first of our hooks.
fn command_in(hooks: &Value) -> Option<String> {
    let hook = &hooks["hooks"][EVENTS.first()?][0]["hooks"][0];
    (hook["name"] == NAME).then(|| hook["command"].as_str())?.map(str::to_owned)
}

fn manifest_file(version: &str) -> Value {
    json!({ "name": NAME, "version": version, "description": DESCRIPTION })
}

fn hooks_file(program: &str) -> Value {
    let group = |event: &&str| {
        let hook = json!({ "name": NAME, "type": "command", "command": command(program, event), "timeout": TIMEOUT_MS });
        let mut group = json!({ "hooks": [hook] });
        if event.ends_with("Tool") {
            group["matcher"] = json!("*");
        }
        ((*event).to_owned(), json!([group]))
    };
    json!({ "hooks": EVENTS.iter().map(group).collect::<Map<_, _>>() })
}

/// Writes a file where it is not there with this text already.
fn put(file: &Path, json: &Value) -> io::Result<bool> {
    let text = format!("{json:#}\n");
    if fs::read_to_string(file).is_ok_and(|there| there == text) {
        return Ok(false);
    }
    replace(file, &text, Permissions::from_mode(0o644))?;
    Ok(true)
}
