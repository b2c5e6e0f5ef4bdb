//! A point in time.

use serde::{Serialize, Serializer};

/// Milliseconds since 1970, written as RFC 3339 in UTC. Fields that end in `_at` are of this type.
///
/// ```
/// use pollux_agent::model::At;
///
/// assert_eq!(serde_json::to_string(&At(1_794_765_338_795)).unwrap(), r#""2026-11-15T17:55:38.795Z""#);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct At(pub i64);

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let time = jiff::Timestamp::from_millisecond(self.0).unwrap_or_default();
        serializer.collect_str(&format_args!("{time:.3}"))
    }
}
