//! The commands of the CLI that a prompt may begin with: its own, and those that people have written.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

/// The CLI's own, as far as they are of use from elsewhere than its screen.
const OWN: [(&str, &str); 12] = [
    ("/about", "which version runs"),
    ("/chat", "save and resume conversations"),
    ("/clear", "begin anew with an empty conversation"),
    ("/compress", "replace the conversation by a summary"),
    ("/copy", "copy the last answer"),
    ("/directory", "directories that the agent may work in"),
    ("/extensions", "extensions that are installed"),
    ("/init", "write a GEMINI.md for this project"),
    ("/mcp", "MCP servers and their tools"),
    ("/memory", "what the agent keeps in mind"),
    ("/stats", "tokens and time of this session"),
    ("/tools", "tools that the agent has"),
];

/// How deep directories of commands are looked into.
const DEPTH: usize = 4;
/// A file that is longer is no command. A repository may be anybody's.
const LONGEST: u64 = 1 << 20;

/// All commands, by name: those of the CLI, of the user (`~/.gemini/commands`) and of a project (`.gemini/commands`), of
/// which the later ones win, as in the CLI.
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
    let mut all: Vec<(String, String)> =
        OWN.iter().map(|(name, about)| ((*name).to_owned(), (*about).to_owned())).collect();
    let places = [Some(gemini.join("commands")), project.map(|at| at.join(".gemini/commands"))];
    for place in places.into_iter().flatten() {
        let mut written = Vec::new();
        read(&place, "/", DEPTH, &mut written);
        all.retain(|(name, _)| written.iter().all(|(own, _)| own != name));
        all.extend(written);
    }
    all.sort();
    all
}

fn read(directory: &Path, before: &str, depth: usize, out: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if kind.is_dir() && depth > 0 {
            let name = named(&entry.file_name());
            read(&path, &format!("{before}{name}:"), depth - 1, out);
        } else if kind.is_file() && path.extension().is_some_and(|end| end == "toml") {
            if entry.metadata().is_ok_and(|metadata| metadata.len() > LONGEST) {
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
