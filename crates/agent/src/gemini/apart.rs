//! A home for one process of the CLI: the user's own, by links, with settings of its own.
//!
//! Since 0.60 the CLI takes settings for one process from nobody but root. Whoever wants to give MCP servers to one agent
//! in a terminal, and leave the user's file alone, gives it another home. All that the CLI keeps there is the user's all
//! the same: what it reads and writes (sign-in, sessions, extensions, memory) goes through links.

use super::settings::written;
use crate::acp::{McpServer, Transport, Variable};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::Path;

/// The variable that names a home.
const HOME: &str = "GEMINI_CLI_HOME";
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

/// Makes a home at `at`, which must not be there yet, for a process that shall have these servers beside the user's. Gives
/// the variables that lead the CLI there. Nothing of the user's is changed, but for directories that the CLI itself would
/// make.
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
    let text = with_servers(&text, servers).map_err(io::Error::other)?;
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

/// Settings with more servers. One of the same name is replaced, for this process.
fn with_servers(text: &str, servers: &[McpServer]) -> Result<String, String> {
    let text = text.trim_start_matches('\u{feff}');
    let text = if text.trim().is_empty() { "{}" } else { text };
    let wrong = |what: &str| format!("the settings of Gemini CLI cannot be read: {what}");
    let root = CstRootNode::parse(text, &ParseOptions::default())
        .map_err(|error| wrong(&error.to_string()))?;
    let settings = root.object_value().ok_or_else(|| wrong("they are no object"))?;
    let list = match settings.get("mcpServers") {
        Some(list) => list.object_value().ok_or_else(|| wrong("`mcpServers` is no object"))?,
        None => settings.object_value_or_set("mcpServers"),
    };
    let allowed = settings.object_value("mcp").and_then(|mcp| mcp.array_value("allowed"));
    for server in servers {
        let name = server.name();
        for known in list.properties() {
            if known.decoded_name().as_deref() == Some(name) {
                known.remove();
            }
        }
        list.append(name, written(&as_setting(server)));
        if let Some(allowed) = &allowed {
            allowed.append(CstInputValue::String(name.to_owned()));
        }
    }
    Ok(root.to_string())
}

fn as_setting(server: &McpServer) -> Value {
    let map = |all: &[Variable]| -> Map<String, Value> {
        all.iter().map(|one| (one.name.clone(), Value::from(one.value.clone()))).collect()
    };
    match server {
        McpServer::Stdio { command, args, env, .. } => {
            json!({ "command": command, "args": args, "env": map(env) })
        }
        McpServer::Remote { transport, url, headers, .. } => {
            let place = match transport {
                Transport::Http => "httpUrl",
                Transport::Sse => "url",
            };
            json!({ place: url, "headers": map(headers) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{McpServer, Transport, home, with_servers};
    use crate::acp::Variable;
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
        let env = home(&users, &at, &[server("pollux")]).unwrap();
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
        assert!(at.join(".gemini/extensions").is_dir());
    }

    #[test]
    fn a_server_of_the_same_name_is_replaced_and_a_list_of_allowed_ones_is_kept_up() {
        let text = r#"{"mcpServers":{"pollux":{"command":"mine"},"other":{}},"mcp":{"allowed":["other"]}}"#;
        let text = with_servers(text, &[server("pollux")]).unwrap();
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["mcpServers"]["pollux"]["httpUrl"], "http://127.0.0.1:1/mcp");
        assert!(read["mcpServers"]["pollux"]["command"].is_null());
        assert!(read["mcpServers"]["other"].is_object());
        assert_eq!(read["mcp"]["allowed"], serde_json::json!(["other", "pollux"]));
        assert!(with_servers("[]", &[]).is_err());
        assert!(with_servers("", &[server("pollux")]).unwrap().contains("httpUrl"));
    }
}
