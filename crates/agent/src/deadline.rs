//! Moments in time that something is waited for until.

use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// As long as anybody can wait.
const FAR: Duration = Duration::from_hours(24 * 365);

/// The moment when a time is over. One that no clock could tell is a time without an end.
pub(crate) fn after(time: Duration) -> Instant {
    Instant::now() + time.min(FAR)
}

/// Waits for a moment, and for ever where there is none.
pub(crate) async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
