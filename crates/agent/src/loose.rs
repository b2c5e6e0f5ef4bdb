//! JSON read without conditions: a field of the wrong type is missing, not an error.
//!
//! serde's derived types refuse a whole object for one wrong field, or for one that comes twice. A transcript must not
//! be lost for that, so the types of `wire` are made by [`loose_object!`] out of parts that take anything:
//! raw JSON, [`List`], [`Count`] and other loose objects. What was wrong is remembered, for the diagnostics.

use crate::model::Lossy;
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A key of an object, borrowed where it has no escapes.
pub(super) struct Key<'de>(pub(super) Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E: de::Error>(self, key: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(key.into()))
            }
            fn visit_str<E: de::Error>(self, key: &str) -> Result<Key<'de>, E> {
                Ok(Key(key.to_owned().into()))
            }
        }
        deserializer.deserialize_str(V)
    }
}

/// What was read without conditions.
pub(super) trait Loose {
    /// False where something else than an object stood.
    fn is_object(&self) -> bool;
}

/// How a value is read that could not be read at once, because of half a surrogate pair in a key or where no text is
/// expected: piece by piece, so that only what is broken is missing. It is slower, and seldom.
pub(super) trait Mend<'a>: Sized {
    fn mend(raw: &'a RawValue) -> Self;
}

impl<'a> Mend<'a> for &'a RawValue {
    fn mend(raw: &'a RawValue) -> Self {
        raw
    }
}

impl<'a, T: Mend<'a>> Mend<'a> for Option<T> {
    fn mend(raw: &'a RawValue) -> Self {
        (raw.get() != "null").then(|| T::mend(raw))
    }
}

impl<'a> Mend<'a> for Count {
    fn mend(raw: &'a RawValue) -> Self {
        serde_json::from_str(raw.get()).unwrap_or_default()
    }
}

impl<'a, T: Mend<'a>> Mend<'a> for List<T> {
    fn mend(raw: &'a RawValue) -> Self {
        match items(raw) {
            Some(raws) => Self { items: raws.into_iter().map(T::mend).collect(), wrong: false },
            None => Self { items: Vec::new(), wrong: raw.get() != "null" },
        }
    }
}

impl<'a> Mend<'a> for Entries<'a> {
    fn mend(raw: &'a RawValue) -> Self {
        Self(entries(raw).unwrap_or_default())
    }
}

/// The values of a list, an object alone being a list of one; none where something else stands.
pub(super) fn items(raw: &RawValue) -> Option<Vec<&RawValue>> {
    match raw.get().as_bytes().first()? {
        b'[' => serde_json::from_str(raw.get()).ok(),
        b'{' => Some(vec![raw]),
        _ => None,
    }
}

/// The entries of an object, whatever its keys are; none where something else stands.
pub(super) fn entries(raw: &RawValue) -> Option<Vec<(Cow<'_, str>, &RawValue)>> {
    serde_json::from_str(raw.get()).ok().map(|Broken(entries)| entries)
}

/// The entries of an object in whose keys there may be half surrogates.
struct Broken<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Broken<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Broken(Vec::new()))
    }
}

impl<'de> Visitor<'de> for Broken<'de> {
    type Value = Self;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }
    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while let Some(Lossy(key)) = map.next_key()? {
            self.0.push((key.into(), map.next_value()?));
        }
        Ok(self)
    }
}

/// Makes a type that reads an object by its known keys, the last one of a kind winning as in JavaScript, and that is
/// empty (`read` is false) where something else than an object stands.
macro_rules! loose_object {
    ($(#[$doc:meta])* $name:ident $(<$of:ident>)? { $($key:literal => $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default)]
        pub(super) struct $name<'a $(, $of)?> {
            $(pub(super) $field: $type,)*
            /// False where something else than an object stands.
            pub(super) read: bool,
            _borrowed: std::marker::PhantomData<&'a ()>,
        }

        impl<'a $(, $of)?> $crate::loose::Loose for $name<'a $(, $of)?> {
            fn is_object(&self) -> bool {
                self.read
            }
        }

        impl<'de: 'a, 'a $(, $of: serde::Deserialize<'de> + Default)?> serde::Deserialize<'de> for $name<'a $(, $of)?> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct V<'a $(, $of)?>(std::marker::PhantomData<(&'a (), $($of)?)>);
                impl<'de: 'a, 'a $(, $of: serde::Deserialize<'de> + Default)?> serde::de::Visitor<'de> for V<'a $(, $of)?> {
                    type Value = $name<'a $(, $of)?>;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("anything")
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                        let mut object = $name { read: true, ..$name::default() };
                        while let Some(key) = map.next_key::<$crate::loose::Key<'de>>()? {
                            match key.0.as_ref() {
                                $($key => object.$field = map.next_value()?,)*
                                _ => drop(map.next_value::<serde::de::IgnoredAny>()?),
                            }
                        }
                        Ok(object)
                    }
                    $crate::loose::wrong_is_default!($name<'a $(, $of)?>, seq);
                }
                deserializer.deserialize_any(V(std::marker::PhantomData))
            }
        }

        impl<'a $(, $of: serde::Deserialize<'a> + Default + $crate::loose::Mend<'a>)?> $crate::loose::Mend<'a> for $name<'a $(, $of)?> {
            fn mend(raw: &'a serde_json::value::RawValue) -> Self {
                if let Ok(object) = serde_json::from_str(raw.get()) {
                    return object;
                }
                let Some(entries) = $crate::loose::entries(raw) else { return Self::default() };
                let mut object = Self { read: true, ..Self::default() };
                for (key, raw) in entries {
                    match key.as_ref() {
                        $($key => object.$field = $crate::loose::Mend::mend(raw),)*
                        _ => {}
                    }
                }
                object
            }
        }
    };
}

/// The visitor's other methods: whatever else stands there is read over, and the value is empty.
macro_rules! wrong_is_default {
    ($type:ty, seq) => {
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<$type, A::Error> {
            while seq.next_element::<serde::de::IgnoredAny>()?.is_some() {}
            Ok(<$type>::default())
        }
        $crate::loose::wrong_is_default!($type);
    };
    ($type:ty) => {
        fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<$type, E> {
            Ok(<$type>::default())
        }
        fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<$type, E> {
            Ok(<$type>::default())
        }
        fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<$type, E> {
            Ok(<$type>::default())
        }
        fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<$type, E> {
            Ok(<$type>::default())
        }
        fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<$type, E> {
            Ok(<$type>::default())
        }
        fn visit_unit<E: serde::de::Error>(self) -> Result<$type, E> {
            Ok(<$type>::default())
        }
    };
}

pub(super) use {loose_object, wrong_is_default};

/// A list; one object alone is a list of one, and anything else is an empty list that knows that it is wrong.
#[derive(Debug, Clone)]
pub(super) struct List<T> {
    pub(super) items: Vec<T>,
    /// True where something else than a list, an object or null stands.
    pub(super) wrong: bool,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { items: Vec::new(), wrong: false }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for V<T> {
            type Value = Scalar<List<T>>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::with_capacity(seq.size_hint().unwrap_or(0));
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Scalar::Read(List { items, wrong: false }))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let one = T::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(Scalar::Read(List { items: vec![one], wrong: false }))
            }
            fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
                Ok(Scalar::Read(List::default()))
            }
            fn visit_str<E: de::Error>(self, _: &str) -> Result<Self::Value, E> {
                Ok(Scalar::Wrong)
            }
            fn visit_bool<E: de::Error>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Scalar::Wrong)
            }
            fn visit_i64<E: de::Error>(self, _: i64) -> Result<Self::Value, E> {
                Ok(Scalar::Wrong)
            }
            fn visit_u64<E: de::Error>(self, _: u64) -> Result<Self::Value, E> {
                Ok(Scalar::Wrong)
            }
            fn visit_f64<E: de::Error>(self, _: f64) -> Result<Self::Value, E> {
                Ok(Scalar::Wrong)
            }
        }
        Ok(match deserializer.deserialize_any(V(PhantomData))? {
            Scalar::Read(list) => list,
            Scalar::Wrong => Self { items: Vec::new(), wrong: true },
        })
    }
}

/// A list, or something that cannot be one.
enum Scalar<T> {
    Read(T),
    Wrong,
}

/// A number of tokens: whole and not negative, or zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Count(pub(super) u64);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Count;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }
            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Count, E> {
                Ok(Count(count))
            }
            fn visit_i64<E: de::Error>(self, count: i64) -> Result<Count, E> {
                Ok(Count(u64::try_from(count).unwrap_or(0)))
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "`as` saturates, which is right"
            )]
            fn visit_f64<E: de::Error>(self, count: f64) -> Result<Count, E> {
                Ok(Count(count as u64))
            }
            fn visit_unit<E: de::Error>(self) -> Result<Count, E> {
                Ok(Count(0))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Count, E> {
                Ok(Count(text.parse().unwrap_or(0)))
            }
            fn visit_bool<E: de::Error>(self, _: bool) -> Result<Count, E> {
                Ok(Count(0))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Count, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Count(0))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Count, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Count(0))
            }
        }
        deserializer.deserialize_any(V)
    }
}

/// The entries of an object in their order, values as raw JSON; none where something else stands.
#[derive(Debug, Clone, Default)]
pub(super) struct Entries<'a>(pub(super) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for V<'a> {
            type Value = Entries<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'a>, A::Error> {
                let mut entries = Vec::new();
                while let Some(key) = map.next_key::<Key<'de>>()? {
                    entries.push((key.0, map.next_value()?));
                }
                Ok(Entries(entries))
            }
            wrong_is_default!(Entries<'a>, seq);
        }
        deserializer.deserialize_any(V(PhantomData))
    }
}
