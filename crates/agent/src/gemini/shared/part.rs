//! What we write into a file that is somebody else's, and how it comes out again. Pure.

use crate::gemini::servers::{self, Entry};
use memchr::memmem;
use serde::{Deserialize, Serialize};

/// What stands before and behind our part of a context file. A comment in markdown.
const BEGIN: &str =
    "<!-- Pollux: begin. For an agent that is being started; goes when it has read it. -->\n";
const END: &str = "<!-- Pollux: end. -->\n";
/// Keeps the CLI from taking `@word` for a file that is to be read.
const JOINER: char = '\u{2060}';

/// Ours in a file of somebody else's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ours {
    /// What an agent is told, in a file of context.
    Role(String),
    /// MCP servers, in a file of settings.
    Servers(Vec<Entry>),
}

/// What is to be done with a file that is to be as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Return {
    /// It is as it was, or somebody has written it anew: there is nothing of ours in it.
    Nothing,
    /// Nobody has touched it since we wrote it: it becomes what it was.
    Back,
    /// Somebody has changed it: it becomes this, which is theirs without ours.
    Without(Vec<u8>),
    /// Somebody has changed it so that ours cannot be told from theirs: it stays as it is.
    Stays,
}

impl Ours {
    /// The file with ours in it.
    pub(super) fn put_in(&self, before: Option<&[u8]>) -> Result<Vec<u8>, String> {
        match self {
            Self::Role(text) => {
                let mut made = before.unwrap_or_default().to_vec();
                made.extend(gap(&made).bytes());
                made.extend(part(text).into_bytes());
                Ok(made)
            }
            Self::Servers(entries) => {
                servers::with(settings(before)?, entries).map(String::into_bytes)
            }
        }
    }

    /// What becomes of a file that is `now` so, and was so `before`.
    pub(super) fn take_out(&self, now: Option<&[u8]>, before: Option<&[u8]>) -> Return {
        let Some(text) = now.filter(|_| now != before) else { return Return::Nothing };
        if self.put_in(before).is_ok_and(|made| made == text) {
            return Return::Back;
        }
        let out = match self {
            Self::Role(role) => cut(text, role, before.unwrap_or_default()),
            Self::Servers(entries) => settings(now)
                .and_then(|text| servers::without(text, entries, settings(before)?))
                .ok()
                .map(String::into_bytes),
        };
        match out {
            Some(out) if Some(&*out) == before => Return::Back,
            Some(out) if out != text => Return::Without(out),
            _ if self.is_in(text) => Return::Stays,
            _ => Return::Nothing,
        }
    }

    /// True where something of ours is in a file, or may be.
    fn is_in(&self, text: &[u8]) -> bool {
        match self {
            Self::Role(_) => {
                [BEGIN, END].iter().any(|mark| memmem::find(text, mark.as_bytes()).is_some())
            }
            Self::Servers(entries) => match settings(Some(text)).and_then(servers::names) {
                Ok(names) => entries.iter().any(|(name, _)| names.contains(name)),
                Err(_) => true,
            },
        }
    }
}

fn settings(text: Option<&[u8]>) -> Result<&str, String> {
    str::from_utf8(text.unwrap_or_default()).map_err(|error| error.to_string())
}

/// What stands between what is there and our part.
fn gap(before: &[u8]) -> &'static str {
    match before {
        [] => "",
        [.., b'\n'] => "\n",
        _ => "\n\n",
    }
}

fn part(text: &str) -> String {
    format!("{BEGIN}{}\n{END}", told(text).trim_end())
}

/// A context file reads other files where it says `@name`; a role only speaks of them.
fn told(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut last = ' ';
    for c in text.chars() {
        if c == '@' && last.is_ascii_whitespace() {
            out.push(JOINER);
        }
        out.push(c);
        last = c;
    }
    out
}

/// The text without our part, if that is in it as we wrote it.
fn cut(text: &[u8], told: &str, before: &[u8]) -> Option<Vec<u8>> {
    let ours = part(told);
    let (head, rest) = text.split_at_checked(memmem::find(text, ours.as_bytes())?)?;
    let (_, rest) = rest.split_at_checked(ours.len())?;
    // The empty line before it is ours too, where an editor has not done away with it.
    let bare = head.strip_suffix(gap(before).as_bytes());
    let ends_so = |head: &&[u8]| head.last() == Some(&b'\n') || !before.ends_with(b"\n");
    Some([bare.filter(ends_so).unwrap_or(head), rest].concat())
}

/// The text without any part of ours: one that another Pollux has lent, or has left.
pub(super) fn healed(text: &[u8]) -> Option<Vec<u8>> {
    let at = memmem::find(text, BEGIN.as_bytes())?;
    let (head, rest) = text.split_at_checked(at)?;
    let end = memmem::find(rest, END.as_bytes())?;
    let (_, rest) = rest.split_at_checked(end + END.len())?;
    Some([head, rest].concat())
}

/// What a server is called that nobody else's is called so.
pub(super) fn free(name: &str, taken: &[String]) -> String {
    let is_free = |name: &String| !taken.contains(name);
    let others = (2..).map(|number| format!("{name}-{number}"));
    // There are more numbers than names.
    std::iter::once(name.to_owned()).chain(others).find(is_free).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Ours, Return, free, healed};
    use proptest::prelude::*;
    use serde_json::json;

    fn role() -> Ours {
        Ours::Role("You are the tester. Ask @reviewer.".to_owned())
    }

    fn servers() -> Ours {
        Ours::Servers(vec![("pollux".to_owned(), json!({ "command": "pollux", "args": ["mcp"] }))])
    }

    #[test]
    fn what_nobody_touched_becomes_what_it_was() {
        for before in [None, Some(""), Some("# Mine"), Some("# Mine\n"), Some("{ // mine\n}\n")] {
            let before = before.map(str::as_bytes);
            for ours in [role(), servers()] {
                let Ok(made) = ours.put_in(before) else { continue };
                assert_eq!(ours.take_out(Some(&made), before), Return::Back, "{ours:?}");
                assert_eq!(ours.take_out(before, before), Return::Nothing);
            }
        }
    }

    #[test]
    fn what_somebody_wrote_meanwhile_stays_and_only_ours_goes() {
        let before = Some("# Mine\n".as_bytes());
        let made = String::from_utf8(role().put_in(before).unwrap()).unwrap();
        for (changed, out) in [
            (format!("# New\n{made}"), "# New\n# Mine\n".to_owned()),
            (format!("{made}More\n"), "# Mine\nMore\n".to_owned()),
            (made.replace("# Mine\n\n", "# Mine\n"), "# Mine\n".to_owned()),
        ] {
            let expected = match &*out {
                "# Mine\n" => Return::Back,
                _ => Return::Without(out.into_bytes()),
            };
            assert_eq!(role().take_out(Some(changed.as_bytes()), before), expected, "{changed}");
        }
        let poet = made.replace("tester", "poet");
        assert_eq!(role().take_out(Some(poet.as_bytes()), before), Return::Stays);
        for theirs in [Some(&b"written anew"[..]), None] {
            assert_eq!(role().take_out(theirs, before), Return::Nothing, "theirs alone");
        }
    }

    #[test]
    fn settings_that_cannot_be_read_are_left_alone() {
        assert!(servers().put_in(Some(b"{ no")).is_err());
        let torn = br#"{ "mcpServers": { "pollux": "#;
        assert_eq!(servers().take_out(Some(torn), Some(b"{}")), Return::Stays);
        let theirs = br#"{ "mcpServers": { "pollux": { "command": "mine" } } }"#;
        assert_eq!(servers().take_out(Some(theirs), Some(b"{}")), Return::Stays);
    }

    #[test]
    fn a_role_brings_no_other_file_in() {
        let made = String::from_utf8(role().put_in(None).unwrap()).unwrap();
        assert!(made.contains("Ask \u{2060}@reviewer."), "{made}");
        assert_eq!(healed(made.as_bytes()).as_deref(), Some(&b""[..]));
        assert_eq!(healed(b"# Mine\n"), None);
    }

    #[test]
    fn a_name_that_somebody_has_is_not_taken() {
        let taken = ["pollux".to_owned(), "pollux-2".to_owned()];
        assert_eq!(free("pollux", &taken), "pollux-3");
        assert_eq!(free("docs", &taken), "docs");
    }

    proptest! {
        #[test]
        fn no_byte_of_theirs_is_lost(before in "[a-z# \n]{0,40}", more in "[a-z\n]{1,20}", first: bool) {
            let made = role().put_in(Some(before.as_bytes())).unwrap();
            let more = more.into_bytes();
            let both = [before.clone().into_bytes(), more.clone()];
            let (changed, whole) = if first {
                ([more.clone(), made].concat(), [more, before.clone().into_bytes()].concat())
            } else {
                ([made, more].concat(), both.concat())
            };
            let out = role().take_out(Some(&changed), Some(before.as_bytes()));
            prop_assert_eq!(out, Return::Without(whole));
        }
    }
}
