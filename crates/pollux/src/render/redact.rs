//! Secrets taken out of what is shown to others. What looks like one goes; better one too many than one too few.

use regex::Regex;
use std::sync::LazyLock;

const GONE: &str = "[redacted]";

/// Secrets that are known by how they look.
static WHOLE: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = [
        r"AIza[0-9A-Za-z_\-]{30,}",
        r"ya29\.[0-9A-Za-z_\-]{20,}",
        r"sk-[0-9A-Za-z_\-]{16,}",
        r"gh[pousr]_[0-9A-Za-z]{20,}",
        r"github_pat_[0-9A-Za-z_]{20,}",
        r"glpat-[0-9A-Za-z_\-]{16,}",
        r"xox[abprs]-[0-9A-Za-z\-]{10,}",
        r"(?:AKIA|ASIA)[0-9A-Z]{16}",
        r"npm_[0-9A-Za-z]{30,}",
        r"eyJ[0-9A-Za-z_\-]{8,}\.eyJ[0-9A-Za-z_\-]{8,}\.[0-9A-Za-z_\-]*",
        // One that was cut off goes as far as it may be one.
        r#"(?s)-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?:.*?-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|(?:(?:\s|\\[nr])*[A-Z][A-Za-z-]*: [^\n\\"]*)*(?:[0-9A-Za-z+/=:,\-\s]|\\[nr])*)"#,
    ];
    patterns.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect()
});

/// What a secret is called, with what may follow the word in a name: `AWS_SECRET_ACCESS_KEY`, `clientSecretId`.
const NAME: &str = r"(?i:api[_-]?key|access[_-]?key|secret|pass(?:w(?:or)?d|phrase)|credential)s?(?:[_A-Z0-9-][\w-]*)?";
/// The same of a token. Tokens are also counted.
const TOKEN: &str = r"(?i:token)s?(?:[_A-Z0-9-][\w-]*)?";
/// Between a name and its value.
const IS: &str = r#"[\\"']*\s*[:=]\s*"#;

/// Secrets that are known by the words before them, which stay; so does what a pattern finds behind them.
static NAMED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = [
        // In quotes, up to the quote that ends it: as JSON has them, the same within JSON, and those of a shell.
        format!(r#"((?:{NAME}|{TOKEN}){IS}")(?:[^"\\\n]|\\.){{6,}}"#),
        format!(r#"((?:{NAME}|{TOKEN}){IS}\\+")(?:[^"\\\n]|\\+[^"\\\n]){{6,}}"#),
        format!(r#"((?:{NAME}|{TOKEN}){IS}')(?:[^"'\\\n]|\\+[^"\\\n]){{6,}}"#),
        format!(r#"({NAME}{IS})[^\s"'\\,;\[\]{{}}]{{6,}}"#),
        format!(r#"({TOKEN}{IS})[0-9]*[^\s"'\\,;\[\]{{}}0-9][^\s"'\\,;\[\]{{}}]{{5,}}"#),
        r"(?i)(\bbearer\s+)[0-9A-Za-z._~+/=\-]{12,}".to_owned(),
        format!(r"((?i:\bauthorization){IS}[\\\x22']*(?i:basic)\s+)[0-9A-Za-z+/=_\-]{{4,}}"),
        r#"([a-z][a-z0-9+.\-]*://[^\s/:@"']*:)[^\s/@"']+(@)"#.to_owned(),
    ];
    patterns.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect()
});

/// The same text without secrets. Works on JSON as well: no quote and no backslash is taken out of its place.
pub fn redact(text: &str) -> String {
    let mut text = text.to_owned();
    for pattern in WHOLE.iter() {
        text = pattern.replace_all(&text, GONE).into_owned();
    }
    for pattern in NAMED.iter() {
        text = pattern.replace_all(&text, format!("${{1}}{GONE}${{2}}")).into_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{NAMED, WHOLE, redact};

    #[test]
    fn what_looks_like_a_secret_is_taken_out_and_the_rest_stays() {
        assert_eq!((WHOLE.len(), NAMED.len()), (11, 8), "every pattern is one");
        let key = format!("AIza{}", "x".repeat(35));
        assert_eq!(redact(&format!("use {key} here")), "use [redacted] here");
        assert_eq!(redact("GEMINI_API_KEY=abcdef123456 run"), "GEMINI_API_KEY=[redacted] run");
        assert_eq!(
            redact("https://me:hunter22@example.com/x"),
            "https://me:[redacted]@example.com/x"
        );
        assert_eq!(
            redact("Authorization: Bearer abcdefghijklmnop"),
            "Authorization: Bearer [redacted]"
        );
        let whole = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----\nafter";
        assert_eq!(redact(whole), "[redacted]\nafter");
        let cut = "-----BEGIN PRIVATE KEY-----\nMIIEow+/\nIBAAKC";
        assert_eq!(redact(cut), "[redacted]");
        let json = serde_json::json!({ "text": cut, "more": "stays" }).to_string();
        assert_eq!(redact(&json), r#"{"more":"stays","text":"[redacted]"}"#);
        let json = serde_json::json!({ "text": "{\"password\": \"correct horse\", \"n\": 1}" })
            .to_string();
        let clean = redact(&json);
        assert!(serde_json::from_str::<serde_json::Value>(&clean).is_ok(), "{clean}");
        assert!(!clean.contains("correct") && !clean.contains("horse"), "{clean}");
        assert_eq!(
            redact("the token count is 17 and the password field is empty"),
            "the token count is 17 and the password field is empty"
        );
    }

    #[test]
    fn a_secret_goes_whole_whatever_its_name_and_its_quotes() {
        for (text, gone) in [
            ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG x", "AWS_SECRET_ACCESS_KEY=[redacted] x"),
            ("clientSecretId: abcdef123456", "clientSecretId: [redacted]"),
            ("redis://:hunter22@host:6379", "redis://:[redacted]@host:6379"),
            ("Authorization: Basic dXNlcjpwdw==", "Authorization: Basic [redacted]"),
            (r#"password = "a b, c; d\"e" # it"#, r#"password = "[redacted]" # it"#),
            ("password='it is, well' more", "password='[redacted]' more"),
            (
                r#"{"a":"{\"token\":\"x y; z\\n1\",\"n\":1}"}"#,
                r#"{"a":"{\"token\":\"[redacted]\",\"n\":1}"}"#,
            ),
        ] {
            assert_eq!(redact(text), gone);
        }
        let key =
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2.0 (x)\n\nlQOYBF+/\n=aBcD\n";
        assert_eq!(
            redact(&format!("{key}-----END PGP PRIVATE KEY BLOCK-----\nx")),
            "[redacted]\nx"
        );
        assert_eq!(redact(key), "[redacted]");
        let json = serde_json::json!({ "a": key, "b": "stays" }).to_string();
        assert_eq!(redact(&json), r#"{"a":"[redacted]","b":"stays"}"#);
        let cut = serde_json::json!({ "a": key.get(..50), "b": "stays" }).to_string();
        assert_eq!(redact(&cut), r#"{"a":"[redacted]","b":"stays"}"#);
    }

    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            r#"{"url":"http://localhost:3000","email":"me@x.org"}"#,
            r#"{"usage":{"total_tokens":1234567,"input_tokens":[1234567]},"tokens":{"a":"b"}}"#,
            "the secretary: Margaret; a tokenizer: sentencepiece",
            "a basic understanding of bearer bonds",
            "export TOKEN=${TOKEN}",
        ] {
            assert_eq!(redact(text), text);
        }
    }
}
