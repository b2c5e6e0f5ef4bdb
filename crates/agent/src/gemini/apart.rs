//! A home for one process of the CLI: the user's own, by links, with settings of its own.
//!
//! Since 0.60 the CLI takes settings for one process from nobody but root. Whoever wants to give MCP servers to one agent
//! in a terminal, and leave the user's file alone, gives it another home. All that the CLI keeps there is the user's all
//! the same: what it reads and writes (sign-in, sessions, extensions, memory) goes through links.

use super::cli::{Cli, Version};
use super::servers::{entry, with};
use crate::acp::McpServer;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::Path;

/// The variable that names a home.
pub(super) const HOME: &str = "GEMINI_CLI_HOME";
/// It came with this version.
const SINCE: Version = Version::new(0, 25, 0);
/// The variable that names the file of trusted folders. The CLI writes it anew, which would replace a link.
const TRUSTED: &str = "GEMINI_CLI_TRUSTED_FOLDERS_PATH";
/// The only file that is not the user's.
const SETTINGS: &str = "settings.json";
/// Directories that the CLI makes when it needs them: they are to be the user's from the start.
const DIRECTORIES: [&str; 2] = ["tmp", "history"];
/// Files that it makes when it needs them.
const FILES: [&str; 6] = [
    "projects.json",
    "state.json",
    "installation_id",
    "google_accounts.json",
    "oauth_creds.json",
    "GEMINI.md",
];
/// What it looks for beside its own directory.
const BESIDE: [&str; 2] = [".agents", ".env"];

/// True where the CLI can be given a home of its own. One that cannot has its servers from the user's settings only.
pub fn is_possible(cli: &Cli) -> bool {
    cli.at_least(SINCE)
}

/// Makes a home at `at`, which must not be there yet, for a process that shall have these servers beside the user's, those
/// that are `trusted` without being asked about. Gives the variables that lead the CLI there. Nothing of the user's is
/// changed, but for directories that the CLI itself would make.
pub fn home(
    users: &Path,
    at: &Path,
    servers: &[McpServer],
    trusted: &[&str],
) -> io::Result<Vec<(String, OsString)>> {
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
    let is_trusted = |server: &McpServer| trusted.contains(&server.name());
    let entries: Vec<_> = servers.iter().map(|it| entry(it, is_trusted(it))).collect();
    // Only for the CLI: no editor will miss the mark.
    let text = with(text.trim_start_matches('\u{feff}'), &entries).map_err(io::Error::other)?;
    let mut file = fs::OpenOptions::new();
    let mut file = file.write(true).create_new(true).mode(0o600).open(own.join(SETTINGS))?;
    file.write_all(text.as_bytes())?;
    Ok(vec![(HOME.into(), at.into()), (TRUSTED.into(), theirs.join("trustedFolders.json").into())])
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
    use super::{McpServer, home};
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
        let env = home(&users, &at, &[server("pollux"), server("other")], &["pollux"]).unwrap();
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
        assert_eq!(own.matches("trust").count(), 1, "{own}");
        assert!(at.join(".gemini/extensions").is_dir());
    }
}
