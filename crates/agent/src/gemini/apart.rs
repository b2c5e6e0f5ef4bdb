//! A home for one process of the CLI: the user's own, by links, with settings of its own.
//!
//! Since 0.60 the CLI takes settings for one process from nobody but root. Whoever wants to give MCP servers to one agent
//! in a terminal, and leave the user's file alone, gives it another home. All that the CLI keeps there is the user's all
//! the same: what it reads and writes (sign-in, sessions, extensions, memory) goes through links.

use super::cli::HOME;
use super::servers::{entry, with};
use crate::acp::McpServer;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::Path;

/// The variable that names the file of trusted folders. The CLI writes it anew, which would replace a link.
const TRUSTED: &str = "GEMINI_CLI_TRUSTED_FOLDERS_PATH";
/// The only file that is not the user's.
const SETTINGS: &str = "settings.json";
/// Directories that the CLI makes when it needs them: they are to be the user's from the start.
const DIRECTORIES: [&str; 2] = ["tmp", "history"];
/// Others that it may make: not in the user's home before it does, and through a link to nowhere none is made.
const MADE: [&str; 4] = ["policies", "extensions", "skills", "acknowledgments"];
/// Files that it makes when it needs them. `projects.json` it puts in the place of the link: a project that is new there is
/// known again by the mark in its directory of `tmp`, which is the user's.
const FILES: [&str; 9] = [
    "projects.json",
    "state.json",
    "installation_id",
    "google_accounts.json",
    "oauth_creds.json",
    "gemini-credentials.json",
    "mcp-oauth-tokens.json",
    "a2a-oauth-tokens.json",
    "GEMINI.md",
];
/// What it looks for beside its own directory.
const BESIDE: [&str; 2] = [".agents", ".env"];

/// Makes a home at `at`, which must not exist yet, for a process that has these servers beside the
/// user's. Returns the variables that lead the CLI there. Nothing of the user's is changed, except
/// for directories that the CLI itself would make.
pub fn home(users: &Path, at: &Path, servers: &[McpServer]) -> io::Result<Vec<(String, OsString)>> {
    let (theirs, own) = (users.join(".gemini"), at.join(".gemini"));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&own)?;
    for name in DIRECTORIES {
        fs::create_dir_all(theirs.join(name))?;
    }
    for entry in fs::read_dir(&theirs)?.flatten() {
        if entry.file_name() != SETTINGS {
            symlink(entry.path(), own.join(entry.file_name()))?;
        }
    }
    for name in FILES {
        link(&theirs.join(name), &own.join(name))?;
    }
    for name in BESIDE {
        if users.join(name).exists() {
            link(&users.join(name), &at.join(name))?;
        }
    }
    let text = match fs::read_to_string(theirs.join(SETTINGS)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => "{}".to_owned(),
        Err(error) => return Err(error),
    };
    let entries: Vec<_> = servers.iter().map(entry).collect();
    // Only for the CLI: no editor will miss the mark.
    let text = with(text.trim_start_matches('\u{feff}'), &entries).map_err(io::Error::other)?;
    let mut file = fs::OpenOptions::new();
    let mut file = file.write(true).create_new(true).mode(0o600).open(own.join(SETTINGS))?;
    file.write_all(text.as_bytes())?;
    Ok(vec![(HOME.into(), at.into()), (TRUSTED.into(), theirs.join("trustedFolders.json").into())])
}

/// Gives the user what the CLI has made in such a home and the user has not, such as what was allowed for good. To be called
/// before it is removed.
pub fn bring_back(at: &Path) -> io::Result<()> {
    let own = at.join(".gemini");
    // Whose home it is, its links tell.
    let Ok(tmp) = fs::read_link(own.join("tmp")) else { return Ok(()) };
    let Some(theirs) = tmp.parent() else { return Ok(()) };
    MADE.iter().try_for_each(|name| bring(&own.join(name), &theirs.join(name)))
}

/// Copies a file, or all files of a directory; what is there already stays as it is, and one with nothing in it is not made.
fn bring(from: &Path, to: &Path) -> io::Result<()> {
    match brought(from, to) {
        // A process that ends takes away what it has just made.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn brought(from: &Path, to: &Path) -> io::Result<()> {
    let kind = fs::symlink_metadata(from)?;
    if kind.is_dir() {
        let mut entries = fs::read_dir(from)?;
        return entries.try_for_each(|entry| {
            let name = entry?.file_name();
            bring(&from.join(&name), &to.join(&name))
        });
    }
    if fs::symlink_metadata(to).is_ok() {
        return Ok(());
    }
    if let Some(directory) = to.parent() {
        fs::create_dir_all(directory)?;
    }
    if kind.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    fs::copy(from, to).map(drop)
}

fn link(to: &Path, at: &Path) -> io::Result<()> {
    match symlink(to, at) {
        // It was there, and so it has a link already.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::{McpServer, bring_back, home};
    use crate::acp::{Transport, Variable};
    use std::fs;

    fn server(name: &str) -> McpServer {
        let headers = vec![Variable { name: "Authorization".into(), value: "Bearer x".into() }];
        let url = "http://127.0.0.1:1/mcp".to_owned();
        McpServer::Remote { transport: Transport::Http, name: name.into(), url, headers }
    }

    #[test]
    fn the_users_home_is_seen_through_links_and_only_settings_differ() {
        let directory = tempfile::tempdir().unwrap();
        let (users, at) = (directory.path().join("me"), directory.path().join("own"));
        fs::create_dir_all(users.join(".gemini/extensions")).unwrap();
        let settings = "{ // mine\n  \"ui\": {} }";
        fs::write(users.join(".gemini/settings.json"), settings).unwrap();
        let env = home(&users, &at, &[server("pollux"), server("other")]).unwrap();
        assert_eq!(env[0].1, at.as_os_str());
        fs::write(at.join(".gemini/oauth_creds.json"), "new").unwrap();
        fs::write(at.join(".gemini/tmp/session"), "said").unwrap();
        let read = |name: &str| fs::read_to_string(users.join(".gemini").join(name)).unwrap();
        assert_eq!(
            (read("oauth_creds.json").as_str(), read("tmp/session").as_str()),
            ("new", "said")
        );
        assert_eq!(read("settings.json"), settings, "the user's own are as they were");
        let own = fs::read_to_string(at.join(".gemini/settings.json")).unwrap();
        assert!(own.contains("// mine") && own.contains("httpUrl"), "{own}");
        assert!(!own.contains("trust"), "policies decide what needs approval: {own}");
        assert!(at.join(".gemini/extensions").is_dir());
    }

    #[test]
    fn what_the_cli_makes_in_such_a_home_is_the_users() {
        let directory = tempfile::tempdir().unwrap();
        let (users, at) = (directory.path().join("me"), directory.path().join("own"));
        home(&users, &at, &[server("pollux")]).unwrap();
        assert!(!users.join(".gemini/policies").exists(), "it may be that nothing is made");
        let made = ["policies/auto-saved.toml", "gemini-credentials.json", "mcp-oauth-tokens.json"];
        // As the CLI makes it.
        fs::create_dir_all(at.join(".gemini/policies")).unwrap();
        for name in made {
            fs::write(at.join(".gemini").join(name), name).unwrap();
        }
        fs::create_dir_all(at.join(".gemini/extensions")).unwrap();
        bring_back(&at).unwrap();
        assert!(!users.join(".gemini/extensions").exists(), "nothing is in it");
        fs::remove_dir_all(&at).unwrap();
        for name in made {
            assert_eq!(fs::read_to_string(users.join(".gemini").join(name)).unwrap(), name);
        }
        home(&users, &at, &[server("pollux")]).unwrap();
        fs::write(at.join(".gemini/policies/auto-saved.toml"), "more").unwrap();
        bring_back(&at).unwrap();
        let kept = users.join(".gemini/policies/auto-saved.toml");
        assert_eq!(fs::read_to_string(kept).unwrap(), "more", "it was the user's all along");
    }
}
