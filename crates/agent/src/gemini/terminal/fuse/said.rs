//! What was said in a live session: what was sent and has begun no turn, and what was heard to arrive. Pure.

use super::super::words::taken;
use super::Fusion;

/// How many things that were said are remembered: more would find nothing more.
const SAID: usize = 64;

impl Fusion {
    /// What was said here, by whomever.
    pub fn said(&self) -> &[String] {
        &self.said
    }

    /// Whether the agent was told this since we are here, by whomever.
    pub fn has_heard(&self, mut is: impl FnMut(&str) -> bool) -> bool {
        self.heard.iter().any(|heard| is(heard))
    }

    pub(super) fn hears(&mut self, words: String) {
        self.heard.push_back(words);
        if self.heard.len() > SAID {
            self.heard.pop_front();
        }
    }

    /// A prompt was sent.
    pub fn sent(&mut self, prompt: &str) {
        self.early = None;
        self.sent.push_back(prompt.to_owned());
        self.remember(prompt);
    }

    /// A prompt was not taken: it begins no turn, and the next turn is another one's.
    pub fn not_taken(&mut self, prompt: &str) {
        if self.sent.back().is_some_and(|sent| sent == prompt) {
            self.sent.pop_back();
        }
    }

    /// What was sent was dropped again.
    pub fn dropped(&mut self) {
        self.sent.clear();
    }

    /// The agent was told this: what of it was sent from here begins no other turn. What was queued is told in one. True where some
    /// of it was.
    pub(super) fn arrived(&mut self, told: &str) -> bool {
        let lines = |text: &str| format!("\n{}\n", taken(text).trim().replace("\r\n", "\n"));
        let told = lines(told);
        let before = self.sent.len();
        self.sent.retain(|sent| !told.contains(&lines(sent)));
        self.sent.len() < before
    }

    pub(super) fn remember(&mut self, words: &str) {
        if !words.trim().is_empty() && self.said.last().is_none_or(|last| last != words) {
            self.said.push(words.to_owned());
            let most = self.said.len().saturating_sub(SAID);
            self.said.drain(..most);
        }
    }
}
