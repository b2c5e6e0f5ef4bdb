//! A command line as rules look at it: how it begins, and whether it is one command. Pure. It is no parser of shells: where a
//! line is not plain, the careful answer is given.

/// What ends a command, or begins another one, in whichever shell.
const MORE: [char; 11] = ['\n', '\r', ';', '|', '&', '`', '$', '<', '>', '(', ')'];

/// True where a line is one command, and begins with these words. For a yes: what else is in the line would have it too.
pub(crate) fn is_only(line: &str, words: &str) -> bool {
    !line.contains(MORE) && begins(line, words)
}

/// True where some command in a line begins with these words, wherever it stands. For a no.
pub(crate) fn has_some(line: &str, words: &str) -> bool {
    line.split(MORE).any(|command| begins(command, words))
}

fn begins(command: &str, words: &str) -> bool {
    let mut said = command.split_whitespace();
    words.split_whitespace().all(|word| said.next() == Some(word))
}

#[cfg(test)]
mod tests {
    use super::{has_some, is_only};

    #[test]
    fn a_yes_is_for_one_command_and_a_no_for_each() {
        for line in ["rm x", "rm -rf x && ls", "ls; rm x", "echo `rm x`", "a | (rm x)", "ls\nrm x"]
        {
            assert!(has_some(line, "rm"), "{line}");
            assert_eq!(is_only(line, "rm"), line == "rm x", "{line}");
        }
        for line in ["rmdir x", "ls rm", ""] {
            assert!(!has_some(line, "rm") && !is_only(line, "rm"), "{line}");
        }
        assert!(is_only("git status -s", "git status") && !is_only("git", "git status"));
    }
}
