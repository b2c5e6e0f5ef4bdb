//! What is sent, and what the sender meant by it. Pure.

/// What is sent to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Words {
    /// For the model, whatever it begins with.
    Prompt(String),
    /// One of the CLI's own commands, such as `/compress`.
    Command(String),
    /// A command for the shell, which the CLI runs and tells the model of.
    Shell(String),
}

/// Stands before a prompt that would be taken for a command. Nobody sees it, the CLI does not take it for a blank, and it
/// is none of the invisible characters that the CLI takes out of what is pasted, such as the zero-width space.
const VEIL: char = '\u{2060}';

impl Words {
    /// What somebody means who types this: a command of the CLI where it looks like one, else a prompt.
    ///
    /// ```
    /// use pollux_agent::gemini::terminal::Words;
    ///
    /// assert_eq!(Words::typed("/compress"), Words::Command("/compress".into()));
    /// assert_eq!(Words::typed("/etc/hosts: what is it?"), Words::Prompt("/etc/hosts: what is it?".into()));
    /// assert_eq!(Words::typed("!ls"), Words::Shell("ls".into()));
    /// ```
    pub fn typed(text: &str) -> Self {
        let text = plain(text);
        let text = text.trim_matches(is_blank);
        if let Some(command) = text.strip_prefix('!').filter(|command| !command.is_empty()) {
            return Self::Shell(command.trim().to_owned());
        }
        let name = text.strip_prefix('/');
        let name = name.and_then(|rest| rest.split(is_blank).find(|part| !part.is_empty()));
        let is_name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c))
        };
        match name {
            Some(name) if is_name(name) => Self::Command(text.to_owned()),
            _ => Self::Prompt(text.to_owned()),
        }
    }

    /// The text as it is pasted.
    pub(super) fn pasted(&self) -> String {
        match self {
            Self::Prompt(text) => {
                let text = plain(text);
                let begins = text.trim_start_matches(is_blank);
                if begins.starts_with('/') { format!("{VEIL}{text}") } else { text }
            }
            Self::Command(text) | Self::Shell(text) => plain(text).replace('\n', " "),
        }
    }

    /// True where there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        bare(&self.pasted()).is_empty()
    }
}

/// What is as good as a blank at the edge of a text: the CLI takes invisible characters out of what is pasted, so that a
/// command may come to light behind them.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || is_taken_out(c)
}

/// The invisible characters that the CLI takes out of what is pasted.
fn is_taken_out(c: char) -> bool {
    matches!(
        c,
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
    )
}

/// A text as the CLI takes it, of which nothing is seen that it takes out.
pub(super) fn taken(text: &str) -> String {
    text.chars().filter(|c| !is_taken_out(*c)).collect()
}

/// Text without what would steer a terminal, and with the line ends that a paste has.
fn plain(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let keep = |c: &char| matches!(c, '\n' | '\t') || !c.is_control();
    text.trim_end().chars().filter(keep).collect()
}

/// True where what stands in the input box is this text: it is wrapped there, and a long paste is only named.
pub(super) fn stands(draft: &str, text: &str) -> bool {
    let (draft, pasted) = (bare(draft), bare(text));
    if draft == pasted {
        return true;
    }
    is_name_of(&draft, text)
        || (draft.contains("[Image") && bare(&without_images(&draft)) == bare(&without_paths(text)))
        // A box shows only so many rows of a long draft: the end of it.
        || (draft.len() > 200 && pasted.ends_with(&draft))
}

/// A text for comparing: without blanks, which change where it is wrapped, without what the CLI takes out, and without the veil.
pub(super) fn bare(text: &str) -> String {
    text.chars().filter(|c| !is_blank(*c) && *c != VEIL).collect()
}

/// Whether the prompt of a turn, as it was told, is one that was sent, or has it in it: the CLI makes one prompt of all that it
/// has queued. Blanks do not count.
///
/// ```
/// use pollux_agent::gemini::terminal::is_prompt;
///
/// assert!(is_prompt("now the\n tests", "now the tests"));
/// assert!(is_prompt("now the tests\n\nand the docs", "and the docs"));
/// assert!(!is_prompt("now the tests of the docs", "now the tests"));
/// ```
pub fn is_prompt(told: &str, sent: &str) -> bool {
    let queued = format!("\n\n{}\n\n", told.trim());
    let (whole, own) = (bare(told), bare(sent));
    is_said(&own, &whole) || queued.contains(&format!("\n\n{}\n\n", sent.trim()))
}

/// A person's words and what was seen of them, both bare: a screen may show only the beginning.
pub(super) fn is_said(words: &str, said: &str) -> bool {
    !said.is_empty() && (words == said || (said.len() >= 12 && words.starts_with(said)))
}

/// A draft without the pictures that newer versions show instead of their paths: `[Image one.png]`.
fn without_images(draft: &str) -> String {
    let mut parts = draft.split("[Image");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(']').map_or(part, |(_, rest)| rest))
}

/// A text without the paths of pictures.
fn without_paths(text: &str) -> String {
    const PICTURES: [&str; 7] = [".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".bmp"];
    // A blank that is part of a path is escaped.
    let hidden = text.replace("\\ ", "\u{0}");
    let is_picture = |word: &str| {
        word.starts_with('@') && PICTURES.iter().any(|end| word.to_lowercase().ends_with(end))
    };
    hidden.split_whitespace().filter(|word| !is_picture(word)).collect::<Vec<_>>().join(" ")
}

/// True where the draft is the name that the CLI gives this paste, and nothing else: `[Pasted Text: 12 lines]`,
/// `[Pasted Text: 700 chars]`, with ` #2` where one before it was called the same.
fn is_name_of(draft: &str, text: &str) -> bool {
    let inside = draft.strip_prefix("[PastedText:").and_then(|rest| rest.strip_suffix(']'));
    let Some(named) = inside.map(|inside| inside.split('#').next().unwrap_or_default()) else {
        return false;
    };
    let (chars, lines) = (named.strip_suffix("chars"), named.strip_suffix("lines"));
    // The CLI counts characters after some of them were taken out, and as JavaScript does.
    let most = text.encode_utf16().count();
    let fits = |n: usize| n <= most && most <= n.saturating_mul(2);
    chars.is_some_and(|n| n.parse::<usize>().ok().is_none_or(fits))
        || lines.and_then(|n| n.parse().ok()) == Some(text.split('\n').count())
}

#[cfg(test)]
mod tests {
    use super::{Words, is_prompt, stands, taken};

    #[test]
    fn a_prompt_that_begins_with_a_slash_is_not_a_command() {
        let prompt = Words::Prompt("/clear is what?".into());
        assert_eq!(prompt.pasted(), "\u{2060}/clear is what?");
        assert_eq!(Words::typed("/clear"), Words::Command("/clear".into()));
        assert_eq!(Words::typed("// a comment"), Words::Prompt("// a comment".into()));
        assert_eq!(Words::typed(" \u{feff}/clear"), Words::Command("/clear".into()));
        let hidden = Words::Prompt("\u{feff}/clear".into());
        assert_eq!(hidden.pasted(), "\u{2060}\u{feff}/clear");
    }

    #[test]
    fn a_command_behind_what_the_cli_takes_out_is_a_command() {
        for hidden in ["\u{200b}/clear", "/\u{200e}clear", "\u{1}/clear", "\u{2066}\u{202e} /clear"]
        {
            assert!(matches!(Words::typed(hidden), Words::Command(_)), "{hidden:?}");
            let prompt = Words::Prompt(hidden.into()).pasted();
            assert!(prompt.starts_with('\u{2060}'), "{prompt:?}");
        }
    }

    #[test]
    fn a_draft_is_known_without_the_invisible_characters_that_the_cli_takes_out_of_it() {
        let hidden = "\u{feff}one\u{200b} \u{202e}two\u{2069}";
        assert!(stands("one two", hidden));
        assert_eq!(taken(hidden), "one two");
        assert!(is_prompt("one two", hidden));
        for nothing in ["", " \n", "\u{200b}\u{200e} \u{feff}", "\u{2060}"] {
            assert!(Words::Prompt(nothing.into()).is_empty(), "{nothing:?}");
        }
        assert!(!Words::Prompt("\u{200b}x".into()).is_empty());
    }

    #[test]
    fn nothing_in_a_prompt_steers_the_terminal() {
        let prompt = Words::Prompt("a\r\nb\x1b[201~\x03c\u{9b}d".into());
        assert_eq!(prompt.pasted(), "a\nb[201~cd");
    }

    #[test]
    fn a_draft_is_known_however_it_is_wrapped() {
        assert!(stands("write a long\nprompt here", "write a long prompt here"));
        assert!(stands("[Pasted Text: 12 lines]", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12"));
        assert!(stands("[Pasted Text: 3 lines #2]", "1\n2\n3"));
        assert!(!stands("[Pasted Text: 4 lines]", "1\n2\n3"));
        assert!(stands("[Pasted Text: 700 chars]", &"fox 🦊".repeat(120)));
        assert!(!stands("[Pasted Text: 700 chars]", "go on"), "somebody else has pasted that");
        let pictures = "look at @/tmp/one\\ pixel.png and @b.jpg ";
        assert!(stands("look at [Image one pixel.png] and [Image b.jpg]", pictures));
        assert!(!stands("look at [Image one pixel.png] and then", pictures));
        assert!(!stands("write a long prompt hereX", "write a long prompt here"));
        assert!(!stands("", "x"));
    }
}
