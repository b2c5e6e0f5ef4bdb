//! Prompts: sent where the agent has time, and else queued until it has.

use super::super::command::{Done, Effect, Order, Request, Verdict};
use super::super::queue::Queued;
use super::super::said::not_queued;
use super::Session;
use crate::model::SessionStatus;

impl Session {
    pub(super) fn prompt(&mut self, request: &Request, text: &str, images: &[String]) -> Verdict {
        if let Some(refused) = self.wrong_words(text, images) {
            return refused;
        }
        let (id, by) = (request.id.clone(), request.by.name.clone());
        let images = images.to_vec();
        let text = text.to_owned();
        let queued = Queued { id: id.clone(), text, by, images, doubt: false };
        if self.takes_prompts() && self.queue.waiting.is_empty() {
            self.queue.held = false;
            return Verdict::done(Done::Sent, self.begin(queued));
        }
        if self.queue.waiting.len() >= self.limits.queue {
            let why = format!("the queue is full ({} prompts)", self.queue.waiting.len());
            return Verdict::refused("queue_full", why, "cancel a queued prompt, or wait");
        }
        self.queue.waiting.push(queued);
        let before = self.queue.waiting.len() - 1;
        // Whoever sends one more prompt to an agent that does nothing, or will do nothing soon, wants the queue to go on.
        if self.takes_prompts() || self.stopping {
            self.queue.held = false;
            self.queue.released |= self.stopping;
        }
        Verdict::done(Done::Queued { id, before }, self.next())
    }

    pub(super) fn edit(&mut self, id: &str, text: &str) -> Verdict {
        let Some(images) = self.queue.find(id).map(|waiting| waiting.images.clone()) else {
            return not_queued(id);
        };
        if let Some(refused) = self.wrong_words(text, &images) {
            return refused;
        }
        if let Some(waiting) = self.queue.find(id) {
            text.clone_into(&mut waiting.text);
            waiting.doubt = false;
        }
        Verdict::done(Done::Edited, Vec::new())
    }

    /// Why this is no prompt, if it is none.
    fn wrong_words(&self, text: &str, images: &[String]) -> Option<Verdict> {
        if text.trim().is_empty() && images.is_empty() {
            return Some(Verdict::refused("no_prompt", "the prompt is empty", "add some text"));
        }
        let why = format!("the prompt is longer than {} bytes", self.limits.prompt);
        let hint = "put the text into a file and mention the file in the prompt";
        let is_long = text.len() > self.limits.prompt;
        is_long.then(|| Verdict::refused("prompt_too_long", why, hint))
    }

    pub(super) fn takes_prompts(&self) -> bool {
        matches!(self.status, SessionStatus::Idle | SessionStatus::Error)
    }

    /// From now on it works: the agent will say so too, but the next command may be faster.
    fn begin(&mut self, queued: Queued) -> Vec<Effect> {
        self.status = SessionStatus::Working;
        let (text, images) = (queued.text.clone(), queued.images.clone());
        let order = Order::Prompt { text, images, doubt: queued.doubt };
        self.sending = Some(queued);
        vec![Effect::Order(order)]
    }

    pub(super) fn next(&mut self) -> Vec<Effect> {
        if !self.takes_prompts() {
            return Vec::new();
        }
        self.queue.next().map(|queued| self.begin(queued)).unwrap_or_default()
    }
}
