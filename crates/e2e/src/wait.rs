//! Waiting for a condition, with a label and a time limit. Tests never just sleep.

use std::fmt::Debug;
use std::time::{Duration, Instant};

/// How often a condition is looked at.
const EVERY: Duration = Duration::from_millis(20);

/// Looks until the condition gives a value. At the time limit it panics with the label and the last state seen.
///
/// The condition gives `Ok` with what was waited for, or `Err` with what there is instead.
#[expect(clippy::panic, reason = "a test that waited in vain has failed")]
pub async fn wait_for<T, S: Debug>(
    label: &str,
    limit: Duration,
    mut condition: impl AsyncFnMut() -> Result<T, S>,
) -> T {
    let since = Instant::now();
    loop {
        match condition().await {
            Ok(value) => return value,
            Err(state) if since.elapsed() > limit => {
                panic!("waited {limit:?} for {label}; the last state was:\n{state:#?}")
            }
            Err(_) => tokio::time::sleep(EVERY).await,
        }
    }
}

/// The same for a condition that is true or false.
pub async fn wait_until(label: &str, limit: Duration, mut condition: impl FnMut() -> bool) {
    wait_for(label, limit, async || if condition() { Ok(()) } else { Err("not yet") }).await;
}
