//! The arguments of a call that waits for permission. Gemini CLI does not send them over ACP; what it shows instead (a
//! diff, a title, a text) says what they must have been. Pure.

use crate::acp::{Call, Shown};
use serde_json::{Value, json};

/// What older versions put in front of what a command is for.
const WHERE: &str = "[current working directory ";
/// What the CLI puts in front of the prompt of a fetch.
const FETCH: &str = "Processing URLs and instructions from prompt: \"";

/// What the CLI puts in front of what it searches for.
const SEARCH: &str = "Searching the web for: \"";

/// The arguments of a call of a tool, in Gemini's words; none where nothing can be concluded.
pub(super) fn arguments(tool: &str, call: &Call<'_>) -> Option<Value> {
    if let Some(raw) = call.input {
        return serde_json::from_str(raw.get()).ok();
    }
    let title = call.title.as_deref();
    let diff = call.content.iter().find_map(|shown| match shown {
        Shown::Diff { path, old, new } => Some((path, old.as_deref().unwrap_or_default(), new)),
        _ => None,
    });
    match (tool, diff) {
        ("replace", Some((path, old, new))) => {
            let (old, new) = change(old, new);
            Some(json!({ "file_path": path, "old_string": old, "new_string": new }))
        }
        (_, Some((path, _, new))) => Some(json!({ "file_path": path, "content": new })),
        ("run_shell_command", _) => Some(command(title?, call)),
        ("web_fetch", _) => {
            let prompt = title?.strip_prefix(FETCH).and_then(|rest| rest.strip_suffix('"'));
            Some(json!({ "prompt": prompt.or(title) }))
        }
        ("read_file", _) => Some(json!({ "file_path": title? })),
        ("list_directory", _) => Some(json!({ "dir_path": title? })),
        ("glob" | "grep_search" | "search_file_content", _) => {
            Some(json!({ "pattern": quoted(title?) }))
        }
        ("google_web_search", _) => {
            let query = title?.strip_prefix(SEARCH).and_then(|rest| rest.strip_suffix('"'));
            Some(json!({ "query": query.or(title) }))
        }
        _ if tool.starts_with("mcp_") => {
            let text = call.text()?;
            serde_json::from_str(&text).ok().filter(Value::is_object)
        }
        _ => None,
    }
}

/// What stands between the quotes of a title such as `'*.rs' within src`.
fn quoted(title: &str) -> &str {
    let inside = title.strip_prefix('\'').unwrap_or(title);
    inside
        .strip_suffix('\'')
        .or_else(|| inside.split_once("' ").map(|(it, _)| it))
        .unwrap_or(inside)
}

/// The command in the title of a call, without where it runs and what it is for, which older versions write behind it. What
/// only looks like that is part of the command: people and rules must see all that would be run.
pub(super) fn command_of<'t>(call: &Call<'_>, title: &'t str) -> &'t str {
    // Newer versions tell it apart from the title.
    let is_apart = call.text().is_some_and(|text| text.starts_with(WHERE));
    if is_apart || call.id.contains("__") {
        return title;
    }
    let Some((command, place)) = title.rsplit_once(&format!(" {WHERE}")) else { return title };
    let behind = place.split_once(']').map(|(_, behind)| behind.trim_end_matches(" [background]"));
    let is_all =
        |behind: &str| behind.is_empty() || (behind.starts_with(" (") && behind.ends_with(')'));
    if behind.is_some_and(is_all) { command } else { title }
}

fn command(title: &str, call: &Call<'_>) -> Value {
    let command = command_of(call, title);
    let shown = call.text().unwrap_or_default();
    let purpose = shown.strip_prefix(WHERE).and_then(|rest| {
        let (_, rest) = rest.split_once(']')?;
        rest.trim().strip_prefix('(')?.strip_suffix(')')
    });
    match purpose {
        Some(purpose) => json!({ "command": command, "description": purpose }),
        None => json!({ "command": command }),
    }
}

/// The lines that a change replaces, and what by: as few as there are, but enough to stand in the file only once.
fn change<'t>(old: &'t str, new: &'t str) -> (String, String) {
    let before: Vec<&'t str> = old.split_inclusive('\n').collect();
    let after: Vec<&'t str> = new.split_inclusive('\n').collect();
    let same = |(one, other): &(&&str, &&str)| one == other;
    let head = before.iter().zip(&after).take_while(same).count();
    let room = before.len().min(after.len()) - head;
    let tail = before.iter().rev().zip(after.iter().rev()).take(room).take_while(same).count();
    // A few more lines at first, then ever more: a file of equal lines is not worth a look for each of them.
    let more =
        std::iter::successors(Some(0), |more| Some(if *more < 16 { more + 1 } else { more * 2 }));
    for more in more.take_while(|more| *more < 2 * before.len().max(1)) {
        let (head, tail) = (head.saturating_sub(more), tail.saturating_sub(more));
        let part =
            |lines: &[&str]| lines.get(head..lines.len() - tail).unwrap_or_default().concat();
        let found = part(&before);
        if !found.is_empty() && old.find(&found) == old.rfind(&found) {
            return (found, part(&after));
        }
    }
    (old.to_owned(), new.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Call, change, command_of, quoted};

    #[test]
    fn no_part_of_a_command_is_taken_for_what_the_cli_writes_behind_it() {
        let command = |id: &str, title: &str| {
            let call = Call { id: id.to_owned().into(), ..Call::default() };
            command_of(&call, title).to_owned()
        };
        let (old, new) = ("run_shell_command-1", "run_shell_command__run_shell_command_1_0");
        for behind in ["", " (shows it)", " (shows it) [background]"] {
            let title = format!("cat x [current working directory /w]{behind}");
            assert_eq!(command(old, &title), "cat x");
            assert_eq!(command(new, &title), title);
        }
        let sly = "ls [current working directory /w]; rm -r .";
        assert_eq!((command(old, sly), command(new, sly)), (sly.to_owned(), sly.to_owned()));
    }

    #[test]
    fn a_pattern_is_what_stands_in_quotes() {
        for (title, pattern) in
            [("'*.rs'", "*.rs"), ("'a b' within src", "a b"), ("plain", "plain")]
        {
            assert_eq!(quoted(title), pattern);
        }
    }

    #[test]
    fn a_change_is_named_by_the_fewest_lines_that_stand_in_the_file_once() {
        let own = |(old, new): (String, String)| [old, new];
        let said = |old: &str, new: &str| own(change(old, new));
        assert_eq!(said("a\nb\nc\n", "a\nX\nc\n"), ["b\n", "X\n"]);
        // The second of two equal lines is known by its neighbours.
        assert_eq!(said("a\nb\nc\nb\n", "a\nb\nc\nX\n"), ["c\nb\n", "c\nX\n"]);
        // What was only added has the lines around it.
        assert_eq!(said("a\nb\n", "a\nX\nb\n"), ["a\nb\n", "a\nX\nb\n"]);
        assert_eq!(said("a\nb\n", "a\n"), ["b\n", ""]);
        assert_eq!(said("", "x"), ["", "x"]);
        let many = "same\n".repeat(100_000);
        let (head, tail) = many.split_at(many.len() / 2);
        let grown = format!("{head}other\n{tail}");
        let (old, new) = change(&many, &grown);
        assert_eq!(many.replacen(&old, &new, 1), grown);
        let (old, new) = change("a a a", "a b a");
        assert_eq!("a a a".replacen(&old, &new, 1), "a b a");
    }
}
