//! Who is signed in, as far as files and variables tell. Nobody is asked, and no secret is read further than whether it
//! is there.

use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// Who is signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Account {
    /// Nobody.
    None,
    /// Somebody, in a way that Google no longer serves.
    NotServed,
    /// Somebody.
    Present,
}

#[derive(Debug, Default, Deserialize)]
struct Settings {
    #[serde(default)]
    security: Security,
    /// Before 0.9 it stood here.
    #[serde(rename = "selectedAuthType")]
    old: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Security {
    #[serde(default)]
    auth: Auth,
}

#[derive(Debug, Default, Deserialize)]
struct Auth {
    #[serde(rename = "selectedType")]
    selected: Option<String>,
}

/// The variables that sign somebody in.
const VARIABLES: [&str; 4] =
    ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"];

/// Who is signed in to the CLI whose directory is `gemini`. `is_set` tells of a variable whether it is set.
pub fn account(gemini: &Path, is_set: &dyn Fn(&str) -> bool) -> Account {
    let text = fs::read_to_string(gemini.join("settings.json")).unwrap_or_default();
    let settings: Settings = serde_json::from_str(&without_comments(&text)).unwrap_or_default();
    let home = gemini.parent().unwrap_or(gemini);
    let written = [gemini.join(".env"), home.join(".env")].iter().any(|file| names_one(file));
    let variable = written || VARIABLES.iter().any(|name| is_set(name));
    match settings.security.auth.selected.or(settings.old).as_deref() {
        Some("oauth-personal" | "login_with_google") => Account::NotServed,
        Some("gemini-api-key") if variable || !is_set("GEMINI_API_KEY") && stored(gemini) => {
            Account::Present
        }
        Some("gemini-api-key") => Account::None,
        Some(_) => Account::Present,
        None if variable => Account::Present,
        None => Account::None,
    }
}

/// The CLI can keep the key in a store of its own.
fn stored(gemini: &Path) -> bool {
    ["gemini-credentials.json", "mcp-oauth-tokens-v2.json"]
        .iter()
        .any(|name| gemini.join(name).exists())
}

fn names_one(file: &Path) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().any(|line| {
        let line = line.trim().trim_start_matches("export ");
        VARIABLES
            .iter()
            .any(|name| line.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')))
    })
}

/// JSON without the comments that the CLI allows in its settings.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut in_string = false;
    while let Some(c) = rest.next() {
        match (c, rest.peek().copied()) {
            ('\\', Some(next)) if in_string => {
                out.push(c);
                out.push(next);
                rest.next();
            }
            ('"', _) => {
                in_string = !in_string;
                out.push(c);
            }
            ('/', Some('/')) if !in_string => {
                rest.by_ref().find(|c| *c == '\n');
                out.push('\n');
            }
            ('/', Some('*')) if !in_string => {
                let mut before = ' ';
                rest.next();
                rest.by_ref().find(|c| std::mem::replace(&mut before, *c) == '*' && *c == '/');
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Account, account};
    use std::fs;

    #[test]
    fn the_settings_and_the_variables_tell_who_is_signed_in() {
        let home = tempfile::tempdir().unwrap();
        let gemini = home.path().join(".gemini");
        fs::create_dir(&gemini).unwrap();
        assert_eq!(account(&gemini, &|_| false), Account::None);
        assert_eq!(account(&gemini, &|name| name == "GEMINI_API_KEY"), Account::Present);
        let settings = "{ // \"how\"\n \"security\": { /* x */ \"auth\": { \"selectedType\": \"oauth-personal\" } } }";
        fs::write(gemini.join("settings.json"), settings).unwrap();
        assert_eq!(account(&gemini, &|_| false), Account::NotServed);
    }
}
