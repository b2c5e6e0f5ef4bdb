//! Many figures as one: the middle of them, and what so many in a hundred stay below.

use std::time::Duration;

/// The median; no number where there is nothing.
pub(super) fn middle(all: impl IntoIterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = all.into_iter().collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

/// What `percent` of the times are no longer than.
pub(super) fn percentile(times: &[Duration], percent: usize) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).copied().unwrap_or_default()
}
