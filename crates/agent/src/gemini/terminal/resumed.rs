//! A session that is gone on with: it is whole before anything is said in it, and no stub of its resume stays, for which
//! the next start of the CLI would delete it.

use super::super::transcript::resume::Guard;
use super::act::refusal;
use super::work::Work;
use crate::model::{Event, EventKind, Failure, Level, SessionStatus, Source};
use std::time::{Duration, Instant};

/// How long the CLI may take to write back what it has read: at first it empties the list.
const WRITTEN: Duration = Duration::from_secs(10);
/// How long it may take to leave its stub, where it leaves one.
const LEFT: Duration = Duration::from_secs(3);
/// So long after a stub was moved the CLI may write another line of it, and by that make it anew.
const AGAIN: Duration = Duration::from_secs(10);
/// So long that is waited for before the session is called safe.
const STILL: Duration = Duration::from_millis(500);

/// What is known of a session that is gone on with.
#[derive(Debug)]
pub(super) struct Resumed {
    guard: Guard,
    /// When a stub was there, and was moved.
    moved: Option<Instant>,
    /// All that was there before was there again.
    whole: bool,
}

impl Resumed {
    pub(super) fn new(guard: Guard) -> Self {
        Self { guard, moved: None, whole: false }
    }

    /// Moves the stubs.
    fn put_away(&mut self) {
        // What cannot be moved now is tried again with the next news.
        if self.guard.move_stubs().is_ok_and(|stubs| !stubs.is_empty()) {
            self.moved = Some(Instant::now());
        }
    }

    /// True where a stub may yet come.
    fn expects(&self) -> bool {
        self.moved.is_none_or(|at| at.elapsed() < AGAIN)
    }
}

impl Work {
    /// Something was written, or the agent is ready.
    pub(super) fn put_stubs_away(&mut self) {
        let ready = self.status() != SessionStatus::Starting;
        if let Some(resumed) = self.resumed.as_mut().filter(|resumed| ready && resumed.expects()) {
            resumed.put_away();
        }
    }

    /// Waits until a session that is gone on with is safe: its stub is put away, and all of it is there.
    pub(super) async fn is_whole(&mut self) -> Result<(), Failure> {
        self.put_stubs_away();
        let done =
            |work: &Self| work.resumed.as_ref().is_none_or(|resumed| resumed.moved.is_some());
        let known = |work: &Self| work.resumed.as_ref().is_none_or(|resumed| resumed.whole);
        if known(self) {
            return Ok(());
        }
        self.until(LEFT, done).await;
        let whole =
            |work: &Self| work.resumed.as_ref().is_none_or(|resumed| resumed.guard.check().is_ok());
        let is_whole = self.until(WRITTEN, whole).await;
        self.until(STILL, |_| false).await;
        self.put_stubs_away();
        let Some(resumed) = &mut self.resumed else { return Ok(()) };
        resumed.whole = is_whole;
        let Err(missing) = resumed.guard.check() else { return Ok(()) };
        let Some(resumed) = self.resumed.take() else { return Ok(()) };
        // It would write over what is put back, and nobody would find it under a session that is whole.
        drop(self.stop().await);
        let what = match resumed.guard.put_back() {
            Ok(()) => "Pollux restored the file".to_owned(),
            Err(error) => format!("Pollux could not restore the file: {error}"),
        };
        let message =
            format!("resuming damaged the session ({missing}); the agent was stopped; {what}");
        let hint = format!("a copy is at {}", resumed.guard.copy().display());
        Err(refusal("resume_damaged", message, &hint))
    }

    /// The agent is gone. What it left goes with it, and a session that is gone too is put back.
    pub(super) fn leaves_whole(&mut self, out: &mut Vec<Event<'static>>) {
        let Some(mut resumed) = self.resumed.take() else { return };
        resumed.put_away();
        if !resumed.guard.is_gone() {
            return;
        }
        let copy = resumed.guard.copy().display();
        let text = match resumed.guard.put_back() {
            Ok(()) => format!("the session file was deleted and restored from its copy ({copy})"),
            Err(error) => format!("the session file was deleted; a copy is at {copy}: {error}"),
        };
        let kind = EventKind::Notice { level: Level::Error, text };
        out.push(Event::new(Source::Pollux, kind));
    }
}
