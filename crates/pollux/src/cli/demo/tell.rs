//! A session as a few lines, for the person who started the demo.

use crate::render::clean;
use crate::report;
use serde_json::Value;

/// Says what matters of each event.
#[derive(Debug, Default)]
pub(super) struct Teller {
    text: String,
}

impl Teller {
    pub(super) fn event(&mut self, event: &Value) {
        match event["type"].as_str().unwrap_or_default() {
            "text_grew" if event["part"] == "text" => {
                self.text.push_str(event["text"].as_str().unwrap_or_default());
            }
            "tool_started" => {
                self.rest();
                report::note(&format!("  → {}", word(event, "name")));
            }
            "asked" => {
                self.rest();
                report::note(&format!("  ? {}", word(event, "text")));
            }
            "answered" => report::note("  ✓ answered"),
            "turn_ended" => {
                self.rest();
                report::quiet("  the turn is over");
            }
            _ => {}
        }
    }

    /// What was said so far.
    fn rest(&mut self) {
        let said = std::mem::take(&mut self.text);
        if !said.trim().is_empty() {
            report::note(&format!("  {}", clean(said.trim())));
        }
    }
}

fn word(event: &Value, name: &str) -> String {
    clean(event[name].as_str().unwrap_or_default()).into_owned()
}
