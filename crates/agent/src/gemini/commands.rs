//! The commands of the CLI that a prompt may begin with: its own, and those that people have written.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

/// The CLI's own, as far as they are of use from elsewhere than its screen.
const OWN: [(&str, &str); 12] = [
    ("/about", "show the version"),
    ("/chat", "save and resume conversations"),
    ("/clear", "start a new, empty conversation"),
    ("/compress", "replace the conversation with a summary"),
    ("/copy", "copy the last answer"),
    ("/directory", "manage workspace directories"),
    ("/extensions", "list installed extensions"),
    ("/init", "create a GEMINI.md for this project"),
    ("/mcp", "list MCP servers and their tools"),
    ("/memory", "manage the agent's memory"),
    ("/stats", "show tokens and times of this session"),
    ("/tools", "list available tools"),
];

/// How deep directories of commands are looked into.
const DEPTH: usize = 4;
/// A file that is longer is no command. A repository may be anybody's.
const LONGEST: u64 = 1 << 20;

/// All commands, by name: those of the CLI, of the user (`~/.gemini/commands`) and of a project (`.gemini/commands`). Where two
/// have one name, the CLI's own keeps it, and the others are called after whose they are, as in the CLI (0.34 and later).
///
/// ```
/// use pollux_agent::gemini::commands::all;
/// # let directory = tempfile::tempdir().unwrap();
/// let project = directory.path();
/// std::fs::create_dir_all(project.join(".gemini/commands/git")).unwrap();
/// std::fs::write(project.join(".gemini/commands/git/commit.toml"), "description = \"Commit\"\nprompt = \"…\"").unwrap();
/// let commands = all(&project.join("nowhere"), Some(project));
/// assert!(commands.contains(&("/git:commit".into(), "Commit".into())));
/// ```
pub fn all(gemini: &Path, project: Option<&Path>) -> Vec<(String, String)> {
    let own = OWN.iter().map(|(name, about)| ((*name).to_owned(), (*about).to_owned()));
    let mut all: Vec<Command> = own.collect();
    let (mut users, mut projects) = (Vec::new(), Vec::new());
    // Where the user's own links lead is the user's choice.
    read(&gemini.join("commands"), "/", DEPTH, |path| fs::metadata(path), &mut users);
    if let Some(project) = project {
        let place = project.join(".gemini/commands");
        read(&place, "/", DEPTH, |path| fs::symlink_metadata(path), &mut projects);
    }
    let users_renamed = renamed("user", &users, &[&all, &projects]);
    let projects_renamed = renamed("workspace", &projects, &[&all, &users]);
    all.extend(users_renamed);
    all.extend(projects_renamed);
    all.sort();
    all
}

/// The name of a command, and what it is about.
type Command = (String, String);

/// Commands under the names that they have beside others.
fn renamed(whose: &str, commands: &[Command], others: &[&Vec<Command>]) -> Vec<Command> {
    let is_taken = |name: &String| others.iter().any(|all| all.iter().any(|(it, _)| it == name));
    let named = |(name, about): &Command| match name.strip_prefix('/') {
        Some(bare) if is_taken(name) => (format!("/{whose}.{bare}"), about.clone()),
        _ => (name.clone(), about.clone()),
    };
    commands.iter().map(named).collect()
}

/// Reads the commands below a directory, by what is known of each path.
fn read(
    directory: &Path,
    before: &str,
    depth: usize,
    look: fn(&Path) -> io::Result<Metadata>,
    out: &mut Vec<Command>,
) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(found) = look(&path) else { continue };
        if found.is_dir() && depth > 0 {
            let name = named(&entry.file_name());
            read(&path, &format!("{before}{name}:"), depth - 1, look, out);
        } else if found.is_file() && path.extension().is_some_and(|end| end == "toml") {
            if found.len() > LONGEST {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            let table = text.parse::<toml::Table>().unwrap_or_default();
            let about = table.get("description").and_then(toml::Value::as_str).unwrap_or_default();
            let name = named(path.file_stem().unwrap_or_default());
            out.push((format!("{before}{name}"), about.to_owned()));
        }
    }
}

/// What the CLI calls a file or a directory of commands: what could not be typed is a low line.
fn named(name: &OsStr) -> String {
    let typed = |c: char| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' };
    name.to_string_lossy().chars().map(typed).collect()
}

#[cfg(test)]
mod tests {
    use super::all;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn commands_of_one_name_are_called_after_whose_they_are_and_the_clis_own_keeps_its() {
        let directory = tempfile::tempdir().unwrap();
        let (home, project) = (directory.path().join("home"), directory.path().join("project"));
        let (users, projects) = (home.join("commands"), project.join(".gemini/commands"));
        for place in [&users, &projects] {
            fs::create_dir_all(place).unwrap();
            fs::write(place.join("try.toml"), "prompt = \"x\"").unwrap();
        }
        fs::write(users.join("chat.toml"), "prompt = \"x\"").unwrap();
        symlink(users.join("chat.toml"), users.join("linked.toml")).unwrap();
        symlink(users.join("chat.toml"), projects.join("secret.toml")).unwrap();
        let names = all(&home, Some(&project)).into_iter().map(|(name, _)| name);
        let names: Vec<String> = names.collect();
        for name in ["/user.try", "/workspace.try", "/chat", "/user.chat", "/linked"] {
            assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
        }
        for name in ["/try", "/secret"] {
            assert!(names.iter().all(|known| known != name), "{name}: {names:?}");
        }
    }

    #[test]
    fn a_command_is_offered_under_the_name_that_the_cli_takes() {
        let home = tempfile::tempdir().unwrap();
        let commands = home.path().join("commands");
        fs::create_dir_all(commands.join("v1.2")).unwrap();
        for file in ["v1.2/two words.toml", "a.b.toml", "not.md"] {
            fs::write(commands.join(file), "prompt = \"x\"").unwrap();
        }
        let names: Vec<String> = all(home.path(), None).into_iter().map(|(name, _)| name).collect();
        assert!(names.contains(&"/v1.2:two_words".to_owned()), "{names:?}");
        assert!(names.contains(&"/a.b".to_owned()), "{names:?}");
        assert!(!names.iter().any(|name| name.starts_with("/not")), "{names:?}");
    }
}
