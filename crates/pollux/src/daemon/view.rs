//! What has not become a message yet, folded from events. Pure.

use super::log::cut;
use crate::api::{Live, LivePart};
use pollux_agent::model::{Block, Content, Event, EventKind, Message, Part, Role};
use serde_json::Value;

/// So much of a growing text is kept: the end of it.
const LONGEST: usize = 32 << 10;
/// So much of a tool's output is kept.
const OUTPUT: usize = 4 << 10;
/// So many bytes of parts go into one frame.
const FRAME: usize = 64 << 10;
/// So many parts are kept.
const MOST: usize = 200;

/// The parts of a message that is being made.
#[derive(Debug, Default, Clone)]
pub struct View {
    live: Live,
}

impl View {
    /// What there is now: the newest parts, as many as one frame has room for, and one at least.
    pub fn live(&self) -> Live {
        let mut room = FRAME;
        let fits = |part: &&LivePart| {
            let bytes = serde_json::to_string(part).map_or(0, |json| json.len());
            let fits = bytes <= room || room == FRAME;
            room = room.saturating_sub(bytes);
            fits
        };
        let mut parts: Vec<LivePart> =
            self.live.parts.iter().rev().take_while(fits).cloned().collect();
        parts.reverse();
        Live { parts }
    }

    /// Takes one event in.
    pub fn fold(&mut self, event: &Event<'_>) {
        match &event.kind {
            EventKind::TurnStarted { prompt } => {
                self.live.parts.clear();
                let mut text = prompt.to_string();
                text.truncate(text.floor_char_boundary(LONGEST));
                self.push(LivePart::Prompt { text });
            }
            EventKind::TextGrew { part, text, .. } => self.grow(*part, &text.to_str()),
            EventKind::ToolStarted { id, name, input, meaning } => self.push(LivePart::Tool {
                id: id.to_string(),
                name: name.to_string(),
                input: short(input.to_value()),
                meaning: meaning
                    .as_ref()
                    .and_then(|meaning| serde_json::to_value(meaning).ok())
                    .map(short),
                status: None,
                output: None,
            }),
            EventKind::ToolEnded { id, status, output, error, .. } => {
                let how = serde_json::to_value(status).ok();
                let how = how.and_then(|how| how.as_str().map(str::to_owned));
                let text = output.as_ref().or(error.as_ref()).map(ToString::to_string);
                self.ended(&id.to_str(), how, text);
            }
            EventKind::MessageRecorded { message, .. } => self.recorded(message),
            EventKind::HistoryRewritten { .. } => {
                self.live.parts.retain(|part| !matches!(part, LivePart::Text { .. }));
            }
            EventKind::SessionEnded { .. } => self.live.parts.clear(),
            _ => {}
        }
    }

    fn push(&mut self, part: LivePart) {
        self.live.parts.push(part);
        if self.live.parts.len() > MOST {
            self.live.parts.remove(0);
        }
    }

    fn grow(&mut self, part: Part, grown: &str) {
        match (self.live.parts.last_mut(), part) {
            (Some(LivePart::Text { text }), Part::Text)
            | (Some(LivePart::Thinking { text }), Part::Thinking) => {
                text.push_str(grown);
                keep_end(text, LONGEST);
            }
            (_, Part::Text) => self.push(LivePart::Text { text: grown.to_owned() }),
            (_, Part::Thinking) => self.push(LivePart::Thinking { text: grown.to_owned() }),
        }
    }

    fn ended(&mut self, ended: &str, how: Option<String>, text: Option<String>) {
        for part in &mut self.live.parts {
            if let LivePart::Tool { id, status, output, .. } = part
                && id == ended
            {
                *status = how;
                if let Some(mut text) = text {
                    keep_end(&mut text, OUTPUT);
                    *output = Some(text);
                }
                return;
            }
        }
    }

    /// What is in the message is no longer on its way.
    fn recorded(&mut self, message: &Message<'_>) {
        let (said, thought, calls) = holds(message);
        self.live.parts.retain(|part| match part {
            // What the agent tells itself is not what it was asked.
            LivePart::Prompt { .. } => message.role != Role::User || message.meta,
            LivePart::Text { text } => !said.contains(text.trim()),
            LivePart::Thinking { text } => {
                // Thoughts are written down in other words than those in which they grew.
                message.role != Role::Assistant || !(thought || said.contains(text.trim()))
            }
            LivePart::Tool { id, .. } => !calls.contains(id),
        });
    }
}

/// What a message says, whether it thinks, and the calls whose results are in it.
fn holds(message: &Message<'_>) -> (String, bool, Vec<String>) {
    let Content::Blocks(blocks) = &message.content else {
        return (message.text(), false, Vec::new());
    };
    let thought = blocks.iter().any(|block| matches!(block, Block::Thinking { .. }));
    let calls = blocks.iter().filter_map(|block| match block {
        Block::ToolResult { tool_use_id, .. } => Some(tool_use_id.to_string()),
        _ => None,
    });
    (message.text(), thought, calls.collect())
}

/// A value whose long texts are cut, as they are where it is told as an event: a whole file may be in it.
fn short(mut value: Value) -> Value {
    cut(&mut value);
    value
}

fn keep_end(text: &mut String, most: usize) {
    if text.len() > most {
        let from = text.ceil_char_boundary(text.len() - most);
        text.drain(..from);
    }
}

#[cfg(test)]
mod tests {
    use super::{FRAME, View};
    use pollux_agent::model::{Event, EventKind, Input, Source, Text};
    use serde_json::json;
    use serde_json::value::to_raw_value;
    use std::borrow::Cow;

    #[test]
    fn a_call_that_writes_a_long_file_is_seen_with_the_prompt_that_led_to_it() {
        let mut view = View::default();
        let prompt = EventKind::TurnStarted { prompt: Text::from("write it") };
        let input = json!({ "file_path": "a.txt", "content": "x".repeat(4 * FRAME) });
        let call = EventKind::ToolStarted {
            id: Text::from("t1"),
            name: Text::from("write_file"),
            input: Input::Raw(Cow::Owned(to_raw_value(&input).unwrap())),
            meaning: None,
        };
        for kind in [prompt, call] {
            view.fold(&Event::new(Source::Acp, kind));
        }
        let live = serde_json::to_string(&view.live()).unwrap();
        assert!(live.len() < FRAME, "{}", live.len());
        assert!(live.contains("write it") && live.contains("a.txt"), "{live}");
    }
}
