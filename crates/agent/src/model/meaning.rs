//! What a tool call is about: concluded, and each fact with the place that it was concluded from.

use super::Text;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use similar::TextDiff;

/// What a tool call does, inferred from the tool's name, arguments and result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema), ts(optional_fields))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Meaning {
    /// A command was run.
    Command {
        /// The command line.
        command: String,
        /// The output of the command, without the text that the agent adds.
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<Text<'static>>,
        /// Its exit code.
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// The source of each inferred field.
        derived: Derived,
    },
    /// A file was changed.
    Mutation {
        /// The path of the file.
        path: String,
        /// The kind of change, if known.
        #[serde(skip_serializing_if = "Option::is_none")]
        change: Option<Change>,
        /// The change, as a unified diff.
        #[serde(skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
        /// The source of each inferred field.
        derived: Derived,
    },
    /// A search or fetch.
    Card {
        /// The query, pattern or URL.
        title: String,
        /// The source of each inferred field.
        derived: Derived,
    },
    /// The tool returned what looks like a unified diff.
    Diff {
        /// The diff.
        diff: String,
        /// The source of the diff.
        derived: Derived,
    },
}

/// The kind of a file change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS, schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The file was created.
    Created,
    /// The file already existed.
    Edited,
}

/// The name of each fact, and the place that it was concluded from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Derived(pub Vec<(&'static str, &'static str)>);

impl Serialize for Derived {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (fact, from) in &self.0 {
            map.serialize_entry(fact, from)?;
        }
        map.end()
    }
}

/// A unified diff of the strings that an edit names. Where in the file they stand is not known here, so the lines are
/// counted from where the strings begin.
pub(crate) fn unified(path: &str, before: &str, after: &str) -> String {
    let line = |text: &str| {
        if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
    };
    let (before, after) = (line(before), line(after));
    TextDiff::from_lines(&before, &after)
        .unified_diff()
        .context_radius(3)
        .header(path, path)
        .to_string()
}
