//! Text that came out of JSON and will go into JSON again.
//!
//! Most of the text in a session goes through Pollux unchanged. Decoding its escapes and encoding them again would be
//! the largest part of the work, and would lose what Rust's strings cannot hold (half of a surrogate pair, which the
//! CLI does write). So the token is kept as it was written, and decoded only where somebody looks at it.

use serde::de::{self, Visitor};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// A string, either ours or a JSON string token that has not been decoded yet.
///
/// ```
/// use pollux_agent::model::Text;
///
/// assert_eq!(Text::from("two\nlines").to_str(), "two\nlines");
/// assert_eq!(Text::from_json(r#""two\nlines""#).unwrap().to_str(), "two\nlines");
/// assert!(Text::from_json("17").is_none());
/// ```
#[derive(Clone)]
pub struct Text<'a>(Inner<'a>);

#[derive(Clone)]
enum Inner<'a> {
    /// Always a valid JSON string token: [`Text::from_raw`] and [`Text::from_json`] are the only ways in.
    Json(Cow<'a, RawValue>),
    Plain(Cow<'a, str>),
}

impl<'a> Text<'a> {
    /// The text of a JSON value, if that is a string.
    pub fn from_raw(raw: &'a RawValue) -> Option<Self> {
        raw.get().starts_with('"').then_some(Self(Inner::Json(Cow::Borrowed(raw))))
    }

    /// The text of one JSON value in a `str`, if that is a string.
    pub fn from_json(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok().and_then(Self::from_raw)
    }

    /// The text itself. Half surrogates, which have no text, are replaced by `U+FFFD`.
    pub fn to_str(&self) -> Cow<'_, str> {
        match &self.0 {
            Inner::Plain(text) => Cow::Borrowed(text),
            Inner::Json(raw) => decode(raw.get()),
        }
    }

    /// True where there is nothing but white space.
    pub fn is_blank(&self) -> bool {
        let begun = match &self.0 {
            Inner::Plain(text) => return text.trim().is_empty(),
            Inner::Json(raw) => raw.get().get(1..).unwrap_or_default().trim_start(),
        };
        // Most texts say something at once; only one that begins with an escape has to be decoded to know.
        begun == "\"" || (begun.starts_with('\\') && self.to_str().trim().is_empty())
    }

    /// True where letters that JSON need not escape stand in it as they are. For a quick no, before it is decoded.
    pub(crate) fn has_plain(&self, letters: &str) -> bool {
        let text = match &self.0 {
            Inner::Plain(text) => text,
            Inner::Json(raw) => raw.get(),
        };
        memchr::memmem::find(text.as_bytes(), letters.as_bytes()).is_some()
    }

    /// The same text, owned.
    pub fn into_owned(self) -> Text<'static> {
        Text(match self.0 {
            Inner::Json(raw) => Inner::Json(Cow::Owned(raw.into_owned())),
            Inner::Plain(text) => Inner::Plain(Cow::Owned(text.into_owned())),
        })
    }
}

/// Decodes a JSON string token.
fn decode(token: &str) -> Cow<'_, str> {
    let inner = token.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(token);
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Cow::Borrowed(inner);
    }
    let decoded: Result<Lossy, _> = serde_json::from_str(token);
    decoded.map_or(Cow::Borrowed(inner), |lossy| Cow::Owned(lossy.0))
}

/// A string that may hold half surrogates: `serde_json` gives them to those who ask for bytes.
pub(crate) struct Lossy(pub(crate) String);

impl<'de> de::Deserialize<'de> for Lossy {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Lossy;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Lossy, E> {
                Ok(Lossy(String::from_utf8_lossy(bytes).into_owned()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(Inner::Plain(Cow::Borrowed(text)))
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self(Inner::Plain(Cow::Owned(text)))
    }
}

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Inner::Json(raw) => raw.serialize(serializer),
            Inner::Plain(text) => serializer.serialize_str(text),
        }
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.to_str() == other.to_str()
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        self.to_str() == other
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_str(), f)
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn blank_is_what_is_blank_when_it_is_read() {
        for (json, blank) in
            [(r#""""#, true), (r#"" \n\t""#, true), (r#""\n a""#, false), (r#""a""#, false)]
        {
            assert_eq!(Text::from_json(json).unwrap().is_blank(), blank, "{json}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_goes_through_and_shows_as_a_replacement() {
        let json = r#""a\ud83d b""#;
        let text = Text::from_json(json).unwrap();
        assert_eq!(serde_json::to_string(&text).unwrap(), json);
        assert!(text.to_str().starts_with('a') && text.to_str().contains('\u{fffd}'));
    }
}
