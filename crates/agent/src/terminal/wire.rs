//! The words of tmux's control mode: one line in, one line out. Pure.

/// How the names begin under which we are told of panes; what follows is the pane's.
pub(super) const SUBSCRIBED: &str = "pollux";

/// One line that tmux wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// What follows is the answer to a command, until a line with the same mark.
    Begin(&'a str),
    /// The answer is over.
    End(&'a str),
    /// The answer is over, and says what went wrong.
    Error(&'a str),
    /// A program printed something.
    Output {
        /// Where.
        pane: &'a str,
        /// What it printed.
        bytes: Vec<u8>,
    },
    /// A window has another size, or other panes.
    Layout(&'a str),
    /// A window is gone.
    Closed(&'a str),
    /// A pane went into a mode of tmux's own, or left it.
    Mode(&'a str),
    /// What was asked to be told of a pane is different now.
    Told {
        /// The pane.
        pane: &'a str,
        /// What it is now.
        value: &'a str,
    },
    /// tmux says good-bye.
    Exit(&'a str),
    /// Anything else: we did not ask for it.
    Other,
}

impl<'a> Line<'a> {
    /// Reads a line. Lines of an answer are not to be read: they may hold anything.
    pub(super) fn read(line: &'a [u8]) -> Self {
        if let Some(rest) = line.strip_prefix(b"%output ") {
            let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
            let (pane, data) = rest.split_at(end);
            let Ok(pane) = std::str::from_utf8(pane) else { return Self::Other };
            return Self::Output { pane, bytes: unescaped(data.get(1..).unwrap_or_default()) };
        }
        let Ok(line) = std::str::from_utf8(line) else { return Self::Other };
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let first = || rest.split(' ').next().unwrap_or_default();
        match word {
            "%begin" => Self::Begin(rest),
            "%end" => Self::End(rest),
            "%error" => Self::Error(rest),
            "%layout-change" => Self::Layout(first()),
            "%window-close" | "%unlinked-window-close" => Self::Closed(first()),
            "%pane-mode-changed" => Self::Mode(first()),
            "%exit" => Self::Exit(rest),
            "%subscription-changed" => {
                // name $session @window index - : value
                let (head, value) = rest.split_once(" : ").unwrap_or((rest, ""));
                let name = head.split(' ').next().unwrap_or_default();
                match name.strip_prefix(SUBSCRIBED) {
                    Some(pane) => Self::Told { pane, value },
                    None => Self::Other,
                }
            }
            _ => Self::Other,
        }
    }
}

/// Bytes below a blank, and the backslash, come as a backslash and three octal digits.
fn unescaped(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len());
    let mut rest = data;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (plain, escape) = rest.split_at(at);
        out.extend_from_slice(plain);
        if let [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] = escape {
            out.push(((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0'));
            rest = after;
        } else {
            out.push(b'\\');
            rest = escape.get(1..).unwrap_or_default();
        }
    }
    out.extend_from_slice(rest);
    out
}

/// A text for an argument that tmux expands, as which it stays what it is: a directory may be called `C#Shop`, and tmux puts
/// the name of its session for `#S`.
pub(super) fn literal(text: &str) -> String {
    text.replace('#', "##")
}

/// A command as one line: each word in quotes, so that tmux reads it back as it was.
pub(super) fn command<S: AsRef<str>>(words: &[S]) -> String {
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        quote(word.as_ref(), &mut line);
    }
    line.push('\n');
    line
}

fn quote(word: &str, line: &mut String) {
    line.push('"');
    for c in word.chars() {
        match c {
            // A tilde at the beginning would be somebody's home.
            '"' | '\\' | '$' | '~' => {
                line.push('\\');
                line.push(c);
            }
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            '\0' => {}
            c if c.is_ascii_control() => {
                let (high, low) = (u32::from(c) >> 6, u32::from(c) & 0o77);
                let octal = [high, low >> 3, low & 7].map(|digit| char::from_digit(digit, 8));
                line.push('\\');
                line.extend(octal.into_iter().flatten());
            }
            c => line.push(c),
        }
    }
    line.push('"');
}

#[cfg(test)]
mod tests {
    use super::{Line, command};

    #[test]
    fn output_comes_back_byte_for_byte() {
        let line = b"%output %12 a\\033[1m\\134\\015\\012 \xc3\xa4 b\\";
        let Line::Output { pane, bytes } = Line::read(line) else { panic!("no output") };
        assert_eq!(pane, "%12");
        assert_eq!(bytes, b"a\x1b[1m\\\r\n \xc3\xa4 b\\");
    }

    #[test]
    fn what_is_told_of_a_pane_may_hold_anything() {
        let line = Line::read(b"%subscription-changed pollux%3 $0 @1 1 - : 0 a : b");
        assert_eq!(line, Line::Told { pane: "%3", value: "0 a : b" });
        assert_eq!(Line::read(b"%window-add @4"), Line::Other);
        assert_eq!(Line::read(b"%window-close @4"), Line::Closed("@4"));
        assert_eq!(Line::read(b"%exit"), Line::Exit(""));
    }

    #[test]
    fn a_command_is_one_line_whatever_is_in_it() {
        let line = command(&["set-buffer", "a\n\"b\" $HOME \\ #{x}; ~\x1b"]);
        assert_eq!(line, "\"set-buffer\" \"a\\n\\\"b\\\" \\$HOME \\\\ #{x}; \\~\\033\"\n");
    }
}
