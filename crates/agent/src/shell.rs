//! A command line as rules look at it: how it begins, and whether it is one command. Pure. It is no parser of shells: where a
//! line is not plain, the careful answer is given.

/// What ends a command, or begins another one, in whichever shell.
const MORE: [char; 11] = ['\n', '\r', ';', '|', '&', '`', '$', '<', '>', '(', ')'];

/// What may stand before a command in a line, and is none.
const BEFORE: [&str; 9] = ["{", "!", "if", "then", "elif", "else", "while", "until", "do"];

/// Programs, and words of shells, that start the command which stands somewhere behind them.
const STARTERS: [&str; 29] = [
    "time", "command", "builtin", "exec", "eval", "coproc", "function", "sudo", "doas", "su",
    "env", "nohup", "setsid", "nice", "ionice", "stdbuf", "timeout", "watch", "xargs", "parallel",
    "find", "flock", "strace", "busybox", "sh", "bash", "dash", "zsh", "fish",
];

/// True where a line is one command, and begins with these words. For a yes: what else is in the line would have it too.
pub(crate) fn is_only(line: &str, words: &str) -> bool {
    let mut said = line.split_whitespace();
    !line.contains(MORE) && words.split_whitespace().all(|word| said.next() == Some(word))
}

/// True where some command in a line begins with these words, wherever it stands, whatever starts it, and however it is quoted.
/// For a no: where a command may be one of several words, each of them counts. Only a name that the line does not hold, because
/// a variable, a file or a pattern does, is not seen. Words that are more than one command are looked for as they are.
pub(crate) fn has_some(line: &str, words: &str) -> bool {
    if words.contains(MORE) {
        return dense(line).contains(&dense(words));
    }
    let words: Vec<String> = words.split_whitespace().map(bare).collect();
    let (mut at, mut is_target) = (At::Name, false);
    for piece in line.split_inclusive(MORE) {
        let said = piece.strip_suffix(MORE).unwrap_or(piece);
        let end = piece.chars().next_back().filter(|last| MORE.contains(last));
        if at.finds(said, end, is_target, &words) {
            return true;
        }
        // `>&`, `>|`: no command ends here.
        let goes_on = is_target && said.is_empty() && matches!(end, Some('&' | '|'));
        is_target = goes_on || is_redirection(end);
        at = if goes_on { at } else { at.behind(end) };
    }
    words.is_empty()
}

/// Where in a command a reader of a line is.
#[derive(Clone, Copy, PartialEq)]
enum At {
    /// The next word is its name.
    Name,
    /// Any word may be its name: something that starts others stood before, or a variable that may be empty.
    Any,
    /// The same for the rest of the line: a quote is open, and what looks like the end of a command may stand in it.
    Lost,
    /// Its name was read, what comes is for it.
    Behind,
}

impl At {
    /// True where a command begins with these words in a piece of a line, which ends at `end`. Left behind its last word.
    fn finds(&mut self, said: &str, end: Option<char>, is_target: bool, words: &[String]) -> bool {
        // In `2>file` the number is no word.
        let is_number = |c: char| is_redirection(end) && c.is_ascii_digit();
        let mut said: Vec<&str> = said.trim_end_matches(is_number).split_whitespace().collect();
        if is_target && !said.is_empty() && is_closed(said[0]) {
            said.remove(0);
        }
        (0..said.len()).any(|place| {
            let found = *self != Self::Behind && begins(&said[place..], words);
            *self = self.after(said[place]);
            found
        })
    }

    fn after(self, word: &str) -> Self {
        match self {
            Self::Name if !is_closed(word) => Self::Lost,
            Self::Name if is_before(&bare(word)) => Self::Name,
            Self::Name if STARTERS.iter().any(|name| is(&bare(word), name)) => Self::Any,
            Self::Name => Self::Behind,
            at => at,
        }
    }

    fn behind(self, end: Option<char>) -> Self {
        match (self, end) {
            (Self::Lost, _) => Self::Lost,
            (Self::Name, Some('$')) => Self::Any,
            (at, Some('$' | '<' | '>')) => at,
            _ => Self::Name,
        }
    }
}

fn begins(said: &[&str], words: &[String]) -> bool {
    let Some((name, words)) = words.split_first() else { return true };
    let mut said = said.iter().map(|word| bare(word));
    said.next().is_some_and(|word| is(&word, name))
        && words.iter().all(|word| said.next().as_ref() == Some(word))
}

/// True for the name of a program, and for a path to it.
fn is(word: &str, name: &str) -> bool {
    word.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

fn is_redirection(mark: Option<char>) -> bool {
    matches!(mark, Some('<' | '>'))
}

/// A word without what shells read over.
fn bare(word: &str) -> String {
    word.replace(['"', '\'', '\\'], "")
}

fn dense(line: &str) -> String {
    line.split_whitespace().collect()
}

/// True for a word that ends each quote which it begins.
fn is_closed(word: &str) -> bool {
    ['"', '\''].iter().all(|quote| word.matches(*quote).count() % 2 == 0)
}

/// True for a word that is no command yet: one of the shell's own, or a variable for the command.
fn is_before(word: &str) -> bool {
    BEFORE.contains(&word) || word.contains('=')
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
        for line in
            ["rmdir x", "ls rm", "ls $A rm", "ls 2>&1 rm", "echo 1 > rm", "sudo ls; ls rm", ""]
        {
            assert!(!has_some(line, "rm") && !is_only(line, "rm"), "{line}");
        }
        assert!(is_only("git status -s", "git status") && !is_only("git", "git status"));
        assert!(has_some("time ls", "time") && !has_some("git", "git push") && has_some("ls", ""));
    }

    #[test]
    fn a_no_is_not_passed_by_with_what_stands_before_the_command() {
        for line in [
            "2>/dev/null rm -rf x",
            "2>&1 rm x",
            ">> 'a b' rm x",
            "< in rm x",
            "A=\"b c\" rm x",
            "A='b; c' rm x",
            "A=$B rm x",
            "$A rm x",
            "a[0]=b rm x",
            "time -p rm x",
            "sudo rm x",
            "sudo -u \"$A\" rm x",
            "/usr/bin/env A=b rm x",
            "command rm x",
            "exec rm x",
            "nohup rm x",
            "ls | xargs -n 1 rm",
            "timeout 5 rm x",
            "bash -c 'rm x'",
            "find . -exec rm {} +",
            "ls; A=b sudo nice /bin/rm x",
        ] {
            assert!(has_some(line, "rm"), "{line}");
        }
        assert!(has_some("sudo git push", "git push") && !has_some("sudo git pull", "git push"));
    }

    #[test]
    fn a_no_to_more_than_one_command_is_one_to_exactly_that() {
        for line in ["curl x | sh", "ls; curl  x|sh -s"] {
            assert!(has_some(line, "curl x | sh"), "{line}");
        }
        assert!(!has_some("curl x", "curl x | sh"));
    }
}
