//! A command line as rules look at it: how it begins, and whether it is one command. Pure. It is no parser of shells: where a
//! line is not plain, the careful answer is given.

/// What ends a command, or begins another one, in whichever shell.
const MORE: [char; 11] = ['\n', '\r', ';', '|', '&', '`', '$', '<', '>', '(', ')'];

/// What may stand before a command in a line, and is none.
const BEFORE: [&str; 10] = ["{", "!", "if", "then", "elif", "else", "while", "until", "do", "time"];

/// True where a line is one command, and begins with these words. For a yes: what else is in the line would have it too.
pub(crate) fn is_only(line: &str, words: &str) -> bool {
    let mut said = line.split_whitespace();
    !line.contains(MORE) && words.split_whitespace().all(|word| said.next() == Some(word))
}

/// True where some command in a line begins with these words, wherever it stands and however it is written. For a no.
pub(crate) fn has_some(line: &str, words: &str) -> bool {
    line.split(MORE).any(|command| begins(command, words))
}

fn begins(command: &str, words: &str) -> bool {
    let mut words = words.split_whitespace().map(bare);
    let Some(name) = words.next() else { return true };
    let said = command.split_whitespace().map(bare);
    let mut said = said.skip_while(|word| *word != name && is_before(word));
    let path = format!("/{name}");
    said.next().is_some_and(|word| word == name || word.ends_with(&path))
        && words.all(|word| said.next() == Some(word))
}

/// A word without what shells read over.
fn bare(word: &str) -> String {
    word.replace(['"', '\'', '\\'], "")
}

/// True for a word that is no command yet: one of the shell's own, or a variable for the command.
fn is_before(word: &str) -> bool {
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    BEFORE.contains(&word) || word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

#[cfg(test)]
mod tests {
    use super::{has_some, is_only};

    #[test]
    fn a_yes_is_for_one_command_and_a_no_for_each() {
        for line in [
            "rm x",
            "rm -rf x && ls",
            "ls; rm x",
            "echo `rm x`",
            "a | (rm x)",
            "ls\nrm x",
            "{ rm x; }",
            "! rm x",
            "if true; then rm x; fi",
            "LANG=C rm x",
            "\\rm x",
            "'rm' x",
            "/bin/rm x",
        ] {
            assert!(has_some(line, "rm"), "{line}");
            assert_eq!(is_only(line, "rm"), line == "rm x", "{line}");
        }
        for line in ["rmdir x", "ls rm", ""] {
            assert!(!has_some(line, "rm") && !is_only(line, "rm"), "{line}");
        }
        assert!(is_only("git status -s", "git status") && !is_only("git", "git status"));
        assert!(has_some("time ls", "time") && !has_some("git", "git push") && has_some("ls", ""));
    }
}
