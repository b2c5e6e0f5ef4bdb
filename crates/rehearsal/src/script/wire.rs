//! The TOML of a script, as it is written. Each value that can be wrong remembers where it stands.

use super::{Cut, Split, Trial, Usage};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Range, RangeInclusive};
use std::time::Duration;
use toml::{Spanned, Table};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    pub(super) about: Option<String>,
    pub(super) trial: Option<Spanned<Trial>>,
    #[serde(default)]
    pub(super) rule: Vec<Spanned<Rule>>,
    pub(super) default: Option<Spanned<Rule>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Rule {
    pub(super) name: Option<String>,
    // When.
    pub(super) asks: Option<Spanned<String>>,
    pub(super) prompt: Option<Spanned<String>>,
    pub(super) prompt_regex: Option<Spanned<String>>,
    pub(super) tool: Option<Spanned<String>>,
    pub(super) result: Option<Spanned<String>>,
    pub(super) result_regex: Option<Spanned<String>>,
    pub(super) model: Option<Spanned<String>>,
    pub(super) model_regex: Option<Spanned<String>>,
    pub(super) step: Option<Spanned<Count>>,
    pub(super) time: Option<Spanned<Count>>,
    // Then.
    pub(super) reply: Option<Spanned<OneOrMany<Spanned<Item>>>>,
    pub(super) error: Option<Spanned<Error>>,
    #[serde(default)]
    pub(super) empty: bool,
    pub(super) usage: Option<Usage>,
    pub(super) finish: Option<Spanned<String>>,
    pub(super) pause: Option<Pause>,
}

impl Rule {
    /// Where its conditions stand.
    pub(super) fn conditions(&self) -> impl Iterator<Item = Range<usize>> {
        let texts = [&self.asks, &self.prompt, &self.prompt_regex, &self.tool, &self.result];
        let more = [&self.result_regex, &self.model, &self.model_regex];
        let texts = texts.into_iter().chain(more).flatten().map(Spanned::span);
        texts.chain([&self.step, &self.time].into_iter().flatten().map(Spanned::span))
    }
}

/// One piece of a reply: a bare string is a text.
#[derive(Debug)]
pub(super) struct Item(pub(super) Piece);

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Item;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, or a table such as { call = \"read_file\" }")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Item, E> {
                Ok(Item::from(text.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Item, A::Error> {
                Piece::deserialize(de::value::MapAccessDeserializer::new(map)).map(Item)
            }
        }
        from.deserialize_any(Read)
    }
}

/// A piece of a reply: exactly one of the first eight keys, and what belongs to it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Piece {
    pub(super) text: Option<Spanned<OneOrMany<String>>>,
    pub(super) thought: Option<Spanned<OneOrMany<String>>>,
    pub(super) call: Option<Spanned<String>>,
    pub(super) pause: Option<Pause>,
    pub(super) raw: Option<Spanned<String>>,
    pub(super) chunk: Option<Spanned<String>>,
    pub(super) cut: Option<Cut>,
    pub(super) stall: Option<Stall>,
    // Of texts and thoughts.
    pub(super) split: Option<Spanned<Split>>,
    pub(super) repeat: Option<Spanned<u64>>,
    // Of calls.
    pub(super) args: Option<Spanned<Table>>,
    pub(super) id: Option<String>,
    pub(super) exact: bool,
}

impl Piece {
    /// Whether it is exactly one kind of piece; a pause may also stand between the chunks of a text.
    pub(super) fn is_one_thing(&self) -> bool {
        let says = [self.text.is_some(), self.thought.is_some()];
        let others = [
            self.call.is_some(),
            self.raw.is_some(),
            self.chunk.is_some(),
            self.cut.is_some(),
            self.stall.is_some(),
        ];
        let count = |kinds: &[bool]| kinds.iter().filter(|kind| **kind).count();
        match (count(&says), count(&others)) {
            (1, 0) => true,
            (0, others) => others + usize::from(self.pause.is_some()) == 1,
            _ => false,
        }
    }
}

impl From<String> for Item {
    fn from(text: String) -> Self {
        let length = text.len();
        let text = Some(Spanned::new(0..length, OneOrMany(vec![text])));
        Self(Piece { text, ..Piece::default() })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Error {
    pub(super) status: Spanned<u16>,
    pub(super) message: Option<String>,
    /// Google's word for the status, such as `RESOURCE_EXHAUSTED`.
    pub(super) reason: Option<String>,
    /// When to try again, in the way the API says it.
    pub(super) retry: Option<Pause>,
    /// The limit that was hit, such as `GenerateRequestsPerDayPerProjectPerModel-FreeTier`.
    pub(super) quota: Option<String>,
    /// A whole body instead of one made of the above.
    pub(super) body: Option<String>,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, Spanned<String>>,
}

/// A duration such as `30ms` or `1.5s`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pause(pub(super) Duration);

impl<'de> Deserialize<'de> for Pause {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let bad = || {
            de::Error::custom(format!(
                "`{text}` is not a duration; use for example `30ms` or `1.5s`"
            ))
        };
        let read: jiff::SignedDuration = text.parse().map_err(|_unread| bad())?;
        Ok(Self(read.try_into().map_err(|_negative| bad())?))
    }
}

/// `true`: for ever; a duration: that long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stall(pub(super) Option<Duration>);

impl<'de> Deserialize<'de> for Stall {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = Stall;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`true` (forever) or a duration such as `2s`")
            }
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<Stall, E> {
                if on {
                    Ok(Stall(None))
                } else {
                    Err(E::invalid_value(de::Unexpected::Bool(on), &self))
                }
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Stall, E> {
                let Pause(pause) = Pause::deserialize(de::value::StrDeserializer::new(text))?;
                Ok(Stall(Some(pause)))
            }
        }
        from.deserialize_any(Read)
    }
}

/// A number such as `2`, or a range of numbers such as `2..`, `..3` or `2..4`, both ends included.
#[derive(Debug, Clone)]
pub(super) struct Count(pub(super) RangeInclusive<u64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = Count;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number such as `2`, or a range such as \"2..\" or \"2..4\"")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Count, E> {
                let bad = |_negative| E::invalid_value(de::Unexpected::Signed(number), &self);
                u64::try_from(number).map(|number| Count(number..=number)).map_err(bad)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Count, E> {
                let bad = || E::invalid_value(de::Unexpected::Str(text), &self);
                let end = |text: &str, open: u64| match text.trim() {
                    "" => Ok(open),
                    text => text.parse().map_err(|_unread| bad()),
                };
                let (first, last) = text.split_once("..").ok_or_else(bad)?;
                let (first, last) = (end(first, 0)?, end(last, u64::MAX)?);
                if first <= last { Ok(Count(first..=last)) } else { Err(bad()) }
            }
        }
        from.deserialize_any(Read)
    }
}

impl<'de> Deserialize<'de> for Split {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = Split;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"words\", \"lines\" or a number of characters")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Split, E> {
                match usize::try_from(number) {
                    Ok(number) if number > 0 => Ok(Split::Every(number)),
                    _ => Err(E::invalid_value(de::Unexpected::Signed(number), &self)),
                }
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Split, E> {
                match text {
                    "words" => Ok(Split::Words),
                    "lines" => Ok(Split::Lines),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }
        from.deserialize_any(Read)
    }
}

/// A string, or a list: of texts in an item, of items in a reply.
#[derive(Debug, Clone)]
pub(super) struct OneOrMany<T>(pub(super) Vec<T>);

impl<'de, T: Deserialize<'de> + FromText> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + FromText> Visitor<'de> for Read<T> {
            type Value = OneOrMany<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<OneOrMany<T>, E> {
                Ok(OneOrMany(vec![T::from_text(text)]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMany<T>, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                Ok(OneOrMany(all))
            }
        }
        from.deserialize_any(Read(PhantomData))
    }
}

/// What a bare string stands for.
pub(super) trait FromText {
    fn from_text(text: &str) -> Self;
}

impl FromText for String {
    fn from_text(text: &str) -> Self {
        text.to_owned()
    }
}

impl FromText for Spanned<Item> {
    fn from_text(text: &str) -> Self {
        Spanned::new(0..0, Item::from(text.to_owned()))
    }
}
