//! Commands that were seen before, with what was replied: a retry is told the same, and runs nothing.

use super::command::{Command, Reply};
use std::collections::{HashMap, VecDeque};

/// So many commands are remembered; a retry comes within seconds.
const MOST: usize = 1024;

/// The commands of the last while, by their ids.
#[derive(Debug, Clone, Default)]
pub struct Known {
    replies: HashMap<String, (Command, Reply)>,
    order: VecDeque<String>,
}

impl Known {
    /// Remembers a command. The oldest is forgotten where there are too many.
    pub fn remember(&mut self, id: String, command: Command, reply: Reply) {
        if self.replies.insert(id.clone(), (command, reply)).is_none() {
            self.order.push_back(id);
        }
        while self.order.len() > MOST {
            if let Some(oldest) = self.order.pop_front() {
                self.replies.remove(&oldest);
            }
        }
    }

    /// What was replied to the command with an id, and which one that was.
    pub fn get(&self, id: &str) -> Option<&(Command, Reply)> {
        self.replies.get(id)
    }
}
