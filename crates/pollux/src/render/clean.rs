//! Text without anything that a terminal obeys.

use std::borrow::Cow;

/// The same text for a reader's eyes only: colour codes are taken out, every other control character becomes a sign
/// that can be seen, and so do the characters that turn the direction of text, with which a line can be made to read
/// as what it is not.
///
/// ```
/// assert_eq!(pollux::render::clean("\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}"), "red ␛]0;title␇");
/// ```
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = colour(rest) {
            rest = after;
            continue;
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            // The end of a line as Windows writes it.
            '\r' if rest.starts_with('\n') => {}
            c if is_obeyed(c) => out.push(picture(c)),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn is_obeyed(c: char) -> bool {
    let marks = matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}');
    let turns = marks || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    // Line and paragraph separators break lines for some readers and not for others.
    let breaks = matches!(c, '\u{2028}' | '\u{2029}');
    (c.is_control() && c != '\n' && c != '\t') || turns || breaks
}

/// A sign for a control character: Unicode has one for each of the ASCII ones.
fn picture(c: char) -> char {
    match c {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        _ => '\u{fffd}',
    }
}

/// What comes after a colour code, if the text begins with one.
fn colour(text: &str) -> Option<&str> {
    let body = text.strip_prefix("\u{1b}[")?;
    let after = body.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';' || c == ':');
    after.strip_prefix('m')
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn plain_text_is_not_copied() {
        assert!(matches!(clean("plain\n\ttext ✓ שלום"), std::borrow::Cow::Borrowed(_)));
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        let hostile =
            "a\u{1b}[2J\u{1b}]52;c;ZXZpbA==\u{7}b\u{9b}31mc\rd\r\ne\u{8}\u{7f}\u{202e}f\u{1b}[1";
        assert_eq!(clean(hostile), "a␛[2J␛]52;c;ZXZpbA==␇b\u{fffd}31mc␍d\ne␈␡\u{fffd}f␛[1");
        for turns in ["\u{61c}", "\u{200f}", "\u{2066}"] {
            assert_eq!(clean(turns), "\u{fffd}", "{turns:?}");
        }
    }

    #[test]
    fn colours_go_in_silence() {
        assert_eq!(clean("\u{1b}[1;38:5:2mok\u{1b}[m"), "ok");
    }
}
