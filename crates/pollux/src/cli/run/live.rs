//! The line at the bottom of the terminal while the agent works: how long, how many tokens.

use crate::report::human::short;
use crate::report::status::Status;
use crate::report::table::printable;
use pollux_agent::model::{Event, EventKind, Part, Scope};
use std::time::{Duration, Instant};

/// How often the line moves.
const BEAT: Duration = Duration::from_millis(120);

pub(super) struct Live {
    status: Option<Status>,
    since: Instant,
    tokens: u64,
    doing: String,
    /// The answer is in the middle of a line, which the status must not touch.
    speaking: bool,
}

impl Live {
    pub(super) fn new(people: bool) -> Self {
        Self {
            status: people.then(Status::new).flatten(),
            since: Instant::now(),
            tokens: 0,
            doing: "starting".to_owned(),
            speaking: false,
        }
    }

    pub(super) fn hide(&mut self) {
        if let Some(status) = &mut self.status {
            status.clear();
        }
    }

    pub(super) fn show(&mut self, event: &Event<'_>) {
        match &event.kind {
            EventKind::UsageChanged { scope: Scope::Message, usage, .. } => {
                self.tokens += usage.total_tokens;
            }
            EventKind::TextGrew { part: Part::Text, text, .. } => {
                self.speaking = !text.to_str().ends_with('\n');
                "answering".clone_into(&mut self.doing);
            }
            EventKind::ToolStarted { name, .. } => {
                self.speaking = false;
                self.doing = format!("running {}", printable(&name.to_str()));
            }
            EventKind::TurnStarted { .. } | EventKind::ToolEnded { .. } => {
                self.speaking = false;
                "thinking".clone_into(&mut self.doing);
            }
            _ => {}
        }
    }

    /// Waits for the next beat; for ever where nobody looks.
    pub(super) async fn tick(&mut self) {
        let Some(status) = &mut self.status else { return std::future::pending().await };
        tokio::time::sleep(BEAT).await;
        if !self.speaking {
            let seconds = self.since.elapsed().as_secs();
            let tokens = match self.tokens {
                0 => String::new(),
                tokens => format!(" · {} tokens", short(tokens)),
            };
            status.set(&format!("{} · {seconds}s{tokens} · Ctrl-C to stop", self.doing));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Live;
    use pollux_agent::model::Event;

    #[test]
    fn the_name_of_a_tool_cannot_steer_the_terminal() {
        let started = r#"{"type":"tool_started","id":"1","name":"evil\u001b[2J\nname","input":{},"source":"acp"}"#;
        let mut live = Live::new(false);
        live.show(&Event::from_json(started).unwrap());
        assert_eq!(live.doing, "running evil␛[2J name");
    }
}
