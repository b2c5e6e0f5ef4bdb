//! An agent that was told to end, and a daemon that ends right after.

use super::Task;
use crate::api::Driver;
use pollux_agent::model::SessionStatus;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

impl Task {
    /// True where the agent would outlive the daemon, and was told to end.
    pub(super) fn is_ending(&self) -> bool {
        let there = self.session.state().status != SessionStatus::Exited;
        self.ends && there && self.summary.driver == Some(Driver::Terminal)
    }
}

/// The daemon ends; and where an agent is on its way out, the time that it has for that is over.
pub(super) async fn stopped(stop: &CancellationToken, leaving: Option<Instant>) {
    match leaving {
        Some(late) => tokio::time::sleep_until(late).await,
        None => stop.cancelled().await,
    }
}
