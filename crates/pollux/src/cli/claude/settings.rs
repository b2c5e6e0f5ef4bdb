//! `--settings`: the settings of Claude's that mean something here. What does not is named, never passed over.

use super::setup::{Setup, json_or_file, refused, rules};
use serde_json::Value;
use std::path::PathBuf;

impl Setup {
    /// Takes settings: JSON, or a file of it. Flags are taken after them and win.
    pub(super) fn settings(&mut self, given: &str) -> anyhow::Result<()> {
        let text = json_or_file(given)?;
        let wrong = |why: &str| {
            refused(
                format!("could not parse the settings: {why}"),
                "pass a JSON object or a JSON file",
            )
        };
        let settings: Value =
            serde_json::from_str(&text).map_err(|error| wrong(&error.to_string()))?;
        for (name, value) in settings.as_object().ok_or_else(|| wrong("not an object"))? {
            match (name.as_str(), value) {
                ("model", Value::String(model)) => self.set_model(model),
                ("env", Value::Object(_)) => self.variables(value),
                ("permissions", Value::Object(_)) => self.permissions(value)?,
                // Whoever fences something in must hear that it would not be.
                ("hooks", Value::Object(hooks)) if !hooks.is_empty() => return Err(fence(name)),
                ("sandbox", sandbox) if sandbox["enabled"] == true => return Err(fence(name)),
                ("$schema", _) => {}
                (name, _) => self.nothing(name),
            }
        }
        Ok(())
    }

    fn variables(&mut self, env: &Value) {
        for (name, value) in env.as_object().into_iter().flatten() {
            match value {
                Value::String(text) => self.env.push((name.clone(), text.clone())),
                Value::Number(_) | Value::Bool(_) => {
                    self.env.push((name.clone(), value.to_string()));
                }
                _ => self.nothing(&format!("env.{name}")),
            }
        }
    }

    fn permissions(&mut self, permissions: &Value) -> anyhow::Result<()> {
        for (name, value) in permissions.as_object().into_iter().flatten() {
            match name.as_str() {
                "allow" => self.allow.extend(rules(&words(name, value)?)?),
                "ask" => self.ask.extend(rules(&words(name, value)?)?),
                "deny" => self.deny.extend(rules(&words(name, value)?)?),
                "defaultMode" => self.set_mode(value.as_str().unwrap_or_default())?,
                "disableBypassPermissionsMode" => self.no_bypass |= value == "disable",
                "additionalDirectories" => {
                    self.include.extend(words(name, value)?.into_iter().map(PathBuf::from));
                }
                other => self.nothing(&format!("permissions.{other}")),
            }
        }
        Ok(())
    }

    fn nothing(&mut self, name: &str) {
        self.notes.push(format!("ignored setting `{name}`: it has no counterpart in Gemini CLI"));
    }
}

/// A setting that keeps something from happening, and would not here.
fn fence(name: &str) -> anyhow::Error {
    let message = format!("the setting `{name}` has no counterpart in Gemini CLI");
    refused(message, "see docs/claude.md for the supported settings")
}

/// A list of words. A rule that could not be read would be one that is not kept.
fn words(name: &str, value: &Value) -> anyhow::Result<Vec<String>> {
    let all = value.as_array().map(|all| {
        all.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
    });
    all.flatten().ok_or_else(|| {
        let message = format!("the setting `permissions.{name}` must be a list of strings");
        refused(message, "see docs/claude.md for the supported settings")
    })
}
