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
        r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----(?:.*?-----END [A-Z ]*PRIVATE KEY-----|(?:[0-9A-Za-z+/=:,\-\s]|\\[nr])*)",
    ];
    patterns.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect()
});

/// Secrets that are known by the words before them, which stay.
static NAMED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = [
        r#"(?i)((?:api[_-]?key|secret|token|passw(?:or)?d|credential)s?[\\"']*\s*[:=]\s*[\\"']*)[^\s"'\\,;]{6,}"#,
        r"(?i)(\bbearer\s+)[0-9A-Za-z._~+/=\-]{12,}",
        r"([a-z][a-z0-9+.\-]*://[^\s/:@]+:)[^\s/@]+@",
    ];
    patterns.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect()
});

/// The same text without secrets. Works on JSON as well: no quote and no backslash is taken out of its place.
pub fn redact(text: &str) -> String {
    let mut text = text.to_owned();
    for pattern in WHOLE.iter() {
        text = pattern.replace_all(&text, GONE).into_owned();
    }
    for (at, pattern) in NAMED.iter().enumerate() {
        let with = if at == 2 { format!("${{1}}{GONE}@") } else { format!("${{1}}{GONE}") };
        text = pattern.replace_all(&text, with.as_str()).into_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{NAMED, WHOLE, redact};

    #[test]
    fn what_looks_like_a_secret_is_taken_out_and_the_rest_stays() {
        assert_eq!((WHOLE.len(), NAMED.len()), (11, 3), "every pattern is one");
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
        assert!(!clean.contains("correct"), "{clean}");
        assert_eq!(
            redact("the token count is 17 and the password field is empty"),
            "the token count is 17 and the password field is empty"
        );
    }
}
