//! What our own kinds of text and numbers are in TypeScript.

use super::{At, Derived, Input, Text};
use ts_rs::{Config, TS};

macro_rules! is {
    ($($type:ty => $typescript:literal),* $(,)?) => { $(
        impl TS for $type {
            type WithoutGenerics = Self;
            type OptionInnerType = Self;
            fn name(_: &Config) -> String {
                $typescript.to_owned()
            }
            fn inline(config: &Config) -> String {
                Self::name(config)
            }
        }
    )* };
}

is! {
    Text<'_> => "string",
    At => "string",
    Derived => "Record<string, string>",
    Input<'_> => "unknown",
}
