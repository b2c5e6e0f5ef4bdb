//! What our own kinds of text and numbers are in TypeScript and in JSON Schema.

use super::{At, Derived, Input, Text};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;
use ts_rs::{Config, TS};

macro_rules! is {
    ($($type:ty => $typescript:literal, $schema:tt);* $(;)?) => { $(
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
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $typescript.into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )* };
}

is! {
    Text<'_> => "string", { "type": "string" };
    At => "string", { "type": "string", "format": "date-time" };
    Derived => "Record<string, string>", { "type": "object", "additionalProperties": { "type": "string" } };
    Input<'_> => "unknown", {};
}
