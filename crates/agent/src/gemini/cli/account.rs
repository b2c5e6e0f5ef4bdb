//! Who is signed in, as far as files and variables tell. Nobody is asked, and no secret is read further than whether it
//! is there.

use crate::regular;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstObject, CstRootNode};
use serde::Serialize;
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

/// The variables that sign somebody in.
const VARIABLES: [&str; 4] =
    ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"];

/// Who is signed in to the CLI whose directory is `gemini`. `is_set` tells of a variable whether it is set.
pub fn account(gemini: &Path, is_set: &dyn Fn(&str) -> bool) -> Account {
    let text = regular::text(&gemini.join("settings.json")).unwrap_or_default();
    let home = gemini.parent().unwrap_or(gemini);
    let written = [gemini.join(".env"), home.join(".env")].iter().any(|file| names_one(file));
    let variable = written || VARIABLES.iter().any(|name| is_set(name));
    match selected(&text).as_deref() {
        Some("oauth-personal" | "login_with_google") => Account::NotServed,
        Some("gemini-api-key") if variable || stored(gemini) => Account::Present,
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
    let text = regular::text(file).unwrap_or_default();
    text.lines().any(|line| {
        let line = line.trim().trim_start_matches("export ");
        VARIABLES
            .iter()
            .any(|name| line.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')))
    })
}

/// The way of signing in that settings choose. Comments are allowed in them.
fn selected(settings: &str) -> Option<String> {
    let text = settings.trim_start_matches('\u{feff}');
    let root = CstRootNode::parse(text, &ParseOptions::default()).ok()?.object_value()?;
    let text = |object: &CstObject, name: &str| {
        object.get(name)?.value()?.as_string_lit()?.decoded_value().ok()
    };
    let auth = root.object_value("security").and_then(|security| security.object_value("auth"));
    let selected = auth.and_then(|auth| text(&auth, "selectedType"));
    // Before 0.9 it stood here.
    selected.or_else(|| text(&root, "selectedAuthType"))
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
        let old = "{ \"selectedAuthType\": \"vertex-ai\", \"security\": null, }";
        fs::write(gemini.join("settings.json"), old).unwrap();
        assert_eq!(account(&gemini, &|_| false), Account::Present);
    }
}
