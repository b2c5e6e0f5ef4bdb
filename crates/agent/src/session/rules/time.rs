//! What follows from time alone: modes that end, agents that are silent for too long.

use super::super::command::Effect;
use super::super::said::notice;
use super::Session;
use crate::model::{Level, SessionStatus};
use jiff::Timestamp;

impl Session {
    /// Time has passed.
    pub fn tick(&mut self, now: Timestamp) -> Vec<Effect> {
        let mut effects = Vec::new();
        if let Some((until, back)) = self.until
            && now >= until
        {
            let text = format!("the mode {} has expired", self.mode.upstream());
            self.leaves();
            self.until = None;
            effects.push(notice(Level::Warning, text));
            effects.push(self.order_mode(back));
        }
        let silent = now.duration_since(self.heard_at);
        let works = self.status == SessionStatus::Working;
        if works && !self.stalled && silent >= self.limits.stall {
            self.stalled = true;
            let text = format!("no output from the agent for {} s", silent.as_secs());
            effects.push(notice(Level::Warning, text));
        }
        effects
    }

    /// When time should be told next, if ever.
    pub fn wakes_at(&self) -> Option<Timestamp> {
        let works = self.status == SessionStatus::Working && !self.stalled;
        let stall = works.then(|| self.heard_at.saturating_add(self.limits.stall).ok()).flatten();
        let mode = self.until.map(|(until, _)| until);
        stall.into_iter().chain(mode).min()
    }
}
