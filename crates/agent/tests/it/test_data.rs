//! Where the recordings are, and how snapshots of them stay readable.

use serde_json::Value;
use std::path::{Path, PathBuf};

/// The recordings of all versions.
pub(crate) fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings")
}

/// Truncates long strings, and says how long they were.
pub(crate) fn truncate_strings(value: &mut Value) {
    match value {
        Value::String(text) if text.chars().count() > 200 => {
            let head: String = text.chars().take(120).collect();
            *text = format!("{head}… ({} characters)", text.chars().count());
        }
        Value::Array(list) => list.iter_mut().for_each(truncate_strings),
        Value::Object(map) => map.values_mut().for_each(truncate_strings),
        _ => {}
    }
}
