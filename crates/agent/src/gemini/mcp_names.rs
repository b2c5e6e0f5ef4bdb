//! Names of MCP servers in the settings of the user, the project and the machine. Used to give
//! Pollux's own server a free name and to allow it.

use super::cli::Search;
use super::servers;
use super::settings::Machine;
use crate::regular;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// What settings know of MCP servers where an agent is to be started.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// The names that the user or the project has, or keeps out.
    taken: Vec<String>,
    /// The only ones that are let in. None where all are, or where the machine's administrator has a say in it.
    allowed: Option<Vec<String>>,
}

impl Known {
    /// Reads what the CLI will read that starts there, with these variables.
    pub fn read(home: &Path, cwd: &Path, env: &[(OsString, OsString)]) -> io::Result<Self> {
        let texts = texts(home, cwd)?;
        let machine = Machine::of(env, &Search::of_process());
        let ruled =
            |file: &Path| regular::text(file).is_ok_and(|it| servers::allowed(&it).is_some());
        let is_ruled = machine.files().into_iter().any(ruled);
        let allowed = if is_ruled { None } else { allowed(&texts) };
        Ok(Self { taken: taken(&texts)?, allowed })
    }

    /// What a server is called that is told to a process: its own name, or one with a number behind it where the user or the
    /// project has one of that name, or keeps it out.
    pub fn free_name(&self, name: &str) -> String {
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        // There are more numbers than names.
        names.find(|name| !self.taken.contains(name)).unwrap_or_default()
    }

    /// The argument that lets in servers which are told to a process, beside those that the user and the project let in; none
    /// where it needs none.
    pub fn let_in(&self, names: &[&str]) -> Option<OsString> {
        let own = names.iter().map(ToString::to_string);
        let all: Vec<String> = self.allowed.iter().flatten().cloned().chain(own).collect();
        let needed = self.allowed.is_some() && !names.is_empty();
        needed.then(|| format!("--allowed-mcp-server-names={}", all.join(",")).into())
    }
}

/// The user's settings and the project's, with where they are.
fn texts(home: &Path, cwd: &Path) -> io::Result<[(PathBuf, String); 2]> {
    let text = |directory: &Path| -> io::Result<(PathBuf, String)> {
        let file = directory.join(".gemini/settings.json");
        let bytes = match regular::whole(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            read => read.map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", file.display()))
            })?,
        };
        Ok((file, String::from_utf8_lossy(&bytes).into_owned()))
    };
    Ok([text(home)?, text(cwd)?])
}

/// The names of servers that settings have, or keep out.
fn taken(texts: &[(PathBuf, String)]) -> io::Result<Vec<String>> {
    let mut taken = Vec::new();
    for (file, text) in texts {
        let names = servers::names(text);
        taken.extend(names.map_err(|why| io::Error::other(format!("{}: {why}", file.display())))?);
        taken.extend(servers::excluded(text));
    }
    Ok(taken)
}

/// The names of the only servers that settings let in; none where they let in all.
fn allowed(texts: &[(PathBuf, String)]) -> Option<Vec<String>> {
    let mut lists = texts.iter().filter_map(|(_, text)| servers::allowed(text));
    let mut allowed = lists.next()?;
    // Where both have a list, the CLI lets in what is in both.
    for other in lists {
        allowed.retain(|name| other.contains(name));
    }
    // With an argument of its own it no longer looks at those that are kept out.
    let kept_out: Vec<String> =
        texts.iter().flat_map(|(_, text)| servers::excluded(text)).collect();
    allowed.retain(|name| !kept_out.contains(name));
    Some(allowed)
}

#[cfg(test)]
mod tests {
    use super::Known;
    use serde_json::{Value, json};
    use std::fs;
    use tempfile::TempDir;

    /// What is known where these are the settings of the user, the project and the machine.
    fn known([user, project, machine]: [Value; 3]) -> Known {
        let root = TempDir::new().unwrap();
        let (home, cwd) = (root.path().join("home"), root.path().join("shop"));
        for (place, value) in [(&home, user), (&cwd, project)] {
            fs::create_dir_all(place.join(".gemini")).unwrap();
            fs::write(place.join(".gemini/settings.json"), value.to_string()).unwrap();
        }
        let file = root.path().join("machine.json");
        fs::write(&file, machine.to_string()).unwrap();
        let env = [("GEMINI_CLI_SYSTEM_SETTINGS_PATH".into(), file.into_os_string())];
        Known::read(&home, &cwd, &env).unwrap()
    }

    #[test]
    fn a_server_has_a_name_that_is_neither_taken_nor_kept_out() {
        let user = json!({ "mcpServers": { "pollux": {} } });
        let project = json!({ "mcp": { "excluded": ["pollux-2"] } });
        let known = known([user, project, json!({})]);
        assert_eq!(known.free_name("pollux"), "pollux-3");
        assert_eq!(known.free_name("other"), "other");
    }

    #[test]
    fn a_server_is_let_in_beside_those_that_all_let_in_and_nobody_keeps_out() {
        let user = json!({ "mcp": { "allowed": ["a", "b", "c"], "excluded": ["c"] } });
        let project = json!({ "mcp": { "allowed": ["c", "b"] } });
        let let_in = |machine: Value| known([user.clone(), project.clone(), machine]);
        let arg = let_in(json!({})).let_in(&["pollux"]);
        assert_eq!(arg.unwrap(), "--allowed-mcp-server-names=b,pollux");
        assert_eq!(let_in(json!({})).let_in(&[]), None, "there is nobody to let in");
        let ruled = json!({ "mcp": { "allowed": ["a"] } });
        assert_eq!(let_in(ruled).let_in(&["pollux"]), None, "the administrator has a say");
        let free = known([json!({}), json!({}), json!({})]);
        assert_eq!(free.let_in(&["pollux"]), None, "all are let in");
    }
}
