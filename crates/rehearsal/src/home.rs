//! A private home for the CLI, and the environment that sends it there and to the rehearsal.

use serde_json::{Value, json};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fs, io};
use tempfile::TempDir;

/// A directory that stands in for the user's home, so that their settings and sessions are never touched.
#[derive(Debug)]
pub struct Home {
    path: PathBuf,
    /// Removes the directory with the value.
    temporary: Option<TempDir>,
}

impl Home {
    /// A new home that is removed with this value.
    pub fn temporary() -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        // Conversations are nobody else's business.
        builder.prefix("pollux-home-").permissions(Permissions::from_mode(0o700));
        let temporary = builder.tempdir()?;
        let home = Self { path: temporary.path().canonicalize()?, temporary: Some(temporary) };
        home.furnish()?;
        Ok(home)
    }

    /// A home in a directory that stays. Settings that are there already stay as they are.
    pub fn at(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        let home = Self { path: path.canonicalize()?, temporary: None };
        home.furnish()?;
        Ok(home)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gemini's own directory in it.
    pub fn gemini(&self) -> PathBuf {
        self.path.join(".gemini")
    }

    /// Keeps a temporary home.
    #[must_use]
    pub fn keep(mut self) -> PathBuf {
        if let Some(temporary) = self.temporary.take() {
            let _path = temporary.keep();
        }
        self.path.clone()
    }

    /// The settings that a rehearsal needs: a key instead of a login, nothing that phones home or cleans up.
    pub fn settings() -> Value {
        json!({
            "security": {
                "auth": { "selectedType": "gemini-api-key" },
                "folderTrust": { "enabled": false },
            },
            "privacy": { "usageStatisticsEnabled": false },
            "telemetry": { "enabled": false },
            "general": {
                "enableAutoUpdate": false,
                "enableAutoUpdateNotification": false,
                "disableAutoUpdate": true,
                "disableUpdateNag": true,
                "sessionRetention": { "enabled": false },
            },
        })
    }

    fn furnish(&self) -> io::Result<()> {
        let gemini = self.gemini();
        fs::create_dir_all(&gemini)?;
        let settings = gemini.join("settings.json");
        if !settings.exists() {
            fs::write(settings, format!("{:#}\n", Self::settings()))?;
        }
        // 0.34 renames a half-written registry into place and complains when two starts meet.
        let registry = gemini.join("projects.json");
        if !registry.exists() {
            fs::write(registry, "{\n  \"projects\": {}\n}\n")?;
        }
        Ok(())
    }

    /// What to set for the CLI to use this home and the model at `url`.
    pub fn env(&self, url: &str) -> Vec<(&'static str, String)> {
        vec![
            ("GOOGLE_GEMINI_BASE_URL", url.to_owned()),
            ("GEMINI_API_KEY", "rehearsal".to_owned()),
            ("GEMINI_CLI_HOME", self.path.display().to_string()),
            // One process, so that a signal reaches it and its exit code is its own.
            ("GEMINI_CLI_NO_RELAUNCH", "true".to_owned()),
            ("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()),
            ("GEMINI_TELEMETRY_ENABLED", "false".to_owned()),
            ("NO_PROXY", "127.0.0.1,localhost".to_owned()),
            ("no_proxy", "127.0.0.1,localhost".to_owned()),
        ]
    }

    /// What must not be set, since it would lead the CLI elsewhere.
    pub const UNSET: [&'static str; 12] = [
        "GOOGLE_API_KEY",
        "GOOGLE_GENAI_USE_VERTEXAI",
        "GOOGLE_GENAI_USE_GCA",
        "GOOGLE_GENAI_API_VERSION",
        "GOOGLE_CLOUD_PROJECT",
        "GEMINI_MODEL",
        "GEMINI_SANDBOX",
        "GEMINI_SYSTEM_MD",
        "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
        "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
        "GEMINI_CLI_CUSTOM_HEADERS",
        "SANDBOX",
    ];
}
