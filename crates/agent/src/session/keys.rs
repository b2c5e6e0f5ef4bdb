//! Keys by their names. Pure.

/// So many keys, and so long a text, may come at once.
const MOST: usize = 64;
const LONGEST: usize = 4096;

const NAMES: [&str; 17] = [
    "Enter", "Escape", "Tab", "BTab", "BSpace", "Space", "Up", "Down", "Left", "Right", "Home",
    "End", "PageUp", "PageDown", "DC", "IC", "S-Tab",
];

/// What is wrong with keys, if anything is.
pub(super) fn wrong(text: Option<&str>, keys: &[String]) -> Option<String> {
    if text.is_none_or(str::is_empty) && keys.is_empty() {
        return Some("no keys given".to_owned());
    }
    if keys.len() > MOST || text.is_some_and(|text| text.len() > LONGEST) {
        return Some(format!("at most {MOST} keys and {LONGEST} bytes can be sent in one request"));
    }
    if text.is_some_and(|text| text.contains(char::is_control)) {
        return Some("the text must not contain control characters".to_owned());
    }
    keys.iter().find(|key| !is_key(key)).map(|key| format!("unknown key `{key}`"))
}

fn is_key(name: &str) -> bool {
    let bare = ["C-", "M-", "S-"].iter().find_map(|with| name.strip_prefix(with));
    let letter = |name: &str| name.len() == 1 && name.bytes().all(|b| b.is_ascii_alphanumeric());
    let function = name.strip_prefix('F').and_then(|number| number.parse::<u8>().ok());
    NAMES.contains(&name)
        || letter(name)
        || bare.is_some_and(|bare| letter(bare) || NAMES.contains(&bare))
        || function.is_some_and(|number| (1..=12).contains(&number))
}

#[cfg(test)]
mod tests {
    use super::wrong;

    #[test]
    fn keys_have_names_and_nothing_else_is_one() {
        let keys = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(wrong(None, &keys(&["Enter", "C-c", "M-Up", "F12", "y", "S-Tab"])), None);
        for name in ["-X", "F13", "kill-server", ";", "C-", "", "C-;"] {
            assert!(wrong(None, &keys(&[name])).is_some(), "{name}");
        }
        assert!(wrong(None, &[]).is_some());
        assert!(wrong(Some("a\u{1b}[A"), &[]).is_some());
        assert_eq!(wrong(Some("-l -- words; and more"), &[]), None);
    }
}
