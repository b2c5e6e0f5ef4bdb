//! How windows of ours go: while some do, one more stays until the last of them is gone.
//!
//! Where the last two windows of a session close at one moment, tmux before 3.7 wants to tell its control clients which one is shown
//! now, finds none, and dies (tmux#5243): on the user's own server with all that they have in it.

use super::server::{SESSION, Server};
use super::turn::Turn;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::Semaphore;

/// The name of the window that stays.
const LAST: &str = "pollux-last";
/// What runs in it: it goes also where nobody is left to take it away.
const STAYS: &str = "exec sleep 60";

/// The window that stays: tmux's name of it, for as long as somebody needs it.
#[derive(Debug)]
pub(super) struct Stays {
    /// Two who come at once make one.
    gate: Semaphore,
    window: Mutex<Weak<String>>,
}

impl Default for Stays {
    fn default() -> Self {
        Self { gate: Semaphore::new(1), window: Mutex::default() }
    }
}

impl Server {
    /// Lets a window of ours go, in whatever way it does.
    pub(crate) async fn leaving<T>(&self, goes: impl Future<Output = T>) -> T {
        let stays = self.stays().await;
        let gone = goes.await;
        if let Some(window) = stays.and_then(Arc::into_inner) {
            // With it the session may end. It may have gone with its server.
            let _turn = Turn::wait(self.socket()).await;
            drop(self.command(&["kill-window", "-t", &window]).await);
        }
        gone
    }

    /// None where there is no session of ours that could end.
    async fn stays(&self) -> Option<Arc<String>> {
        let Stays { gate, window } = &self.link.stays;
        let _alone = gate.acquire().await.ok()?;
        let known = window.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        if known.is_some() {
            return known;
        }
        let target = format!("{SESSION}:");
        let words = ["new-window", "-d", "-P", "-F", "#{window_id}", "-t", &target, "-n", LAST];
        let made = Arc::new(self.ask(&[&words[..], &[STAYS]].concat()).await.ok()?);
        *window.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&made);
        Some(made)
    }
}
