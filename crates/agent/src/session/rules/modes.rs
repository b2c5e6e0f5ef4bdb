//! What the agent may do without asking: for good, or for a while. What was given for a while ends, also where it cannot be taken
//! back at once.

use super::super::command::{By, Done, Effect, Order, Verdict};
use super::Session;
use crate::model::Mode;
use jiff::{SignedDuration, Timestamp};

/// A mode that has ended and could not be taken back is taken back again after so long.
const TRY_AGAIN: SignedDuration = SignedDuration::from_secs(10);

impl Session {
    pub(super) fn set_mode(
        &mut self,
        mode: Mode,
        seconds: Option<u32>,
        by: &By,
        now: Timestamp,
    ) -> Verdict {
        let asked = seconds.map(|seconds| SignedDuration::from_secs(seconds.into()));
        let lasts = match (mode, by.remote) {
            (Mode::Yolo, true) => Some(asked.map_or(self.limits.yolo, |a| a.min(self.limits.yolo))),
            _ => asked,
        };
        // Yolo upon yolo does not become what comes back.
        let back = match (self.mode, self.until) {
            (_, Some((_, back))) => back,
            (Mode::Yolo, None) => Mode::Default,
            (mode, None) => mode,
        };
        self.leaves();
        self.until = lasts.map(|lasts| (now.saturating_add(lasts).unwrap_or(now), back));
        Verdict::done(Done::Sent, vec![self.order_mode(mode)])
    }

    /// Another mode is asked for: when the one ends that the agent is in is not forgotten before it is out of it.
    pub(super) fn leaves(&mut self) {
        if self.changing == 0 {
            self.before = self.until;
        }
    }

    pub(super) fn order_mode(&mut self, mode: Mode) -> Effect {
        self.wanted = mode;
        self.changing += 1;
        self.unheard = Some(mode);
        Effect::Order(Order::Mode(mode))
    }

    /// The agent says in which mode it is. Where that is not the one that was asked for, somebody pressed a key in its terminal;
    /// unless it was asked just now: then the agent speaks of before, or goes through other modes to get there.
    pub(super) fn mode_is(&mut self, mode: Mode) {
        if mode == self.wanted {
            self.unheard = None;
        } else if self.unheard.is_none() && self.changing == 0 {
            (self.until, self.before) = (None, None);
            self.wanted = mode;
        }
        self.mode = mode;
    }

    /// The agent could not be brought into a mode.
    pub(super) fn mode_stays(&mut self, asked: Mode, now: Timestamp) {
        // What was asked for behind it decides.
        if self.changing > 0 {
            return;
        }
        let before = self.before.take();
        // One that it is in already ends when it shall.
        if asked != self.mode {
            // A mode that has ended must end: it is tried again.
            let again = now.saturating_add(TRY_AGAIN).unwrap_or(now);
            let yolo = (self.mode == Mode::Yolo).then_some((again, asked));
            self.until = before.map(|(until, back)| (until.max(again), back)).or(yolo);
        }
        (self.wanted, self.unheard) = (self.mode, None);
    }
}
