//! What must hold for any bytes that come in over one of our borders.

use pollux_agent::acp::recorded;
use pollux_agent::claude::control::Line;
use pollux_agent::gemini::acp::Quirks;
use pollux_agent::gemini::transcript::digest::{digest, digest_document, digest_lines};
use pollux_agent::gemini::transcript::{Transcript, events, text};
use pollux_agent::gemini::{hooks, screen as screens, stream};
use pollux_agent::model::Event;
use pollux_agent::terminal::{Emulator, Size};
use std::borrow::Cow;
use std::sync::Arc;

/// Reads bytes in every way in which the library reads a session file.
pub fn read_in_every_way(bytes: &[u8]) {
    let whole = text(bytes);
    let transcript = Transcript::read(&whole);
    for message in transcript.messages_ever() {
        serde_json::to_string(&message).expect("a message can be written");
    }
    let shown = transcript.messages().count() as u64;
    assert_eq!(digest(&whole).messages, shown, "the sums count what is shown");
    digest_lines(bytes).expect("memory can be read");
    digest_document(bytes);
    for event in events(bytes) {
        serde_json::to_string(&event).expect("an event can be written");
    }
}

fn letters(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// Events can be written and read back; what is written then is the same.
fn come_back(events: &[Event<'_>]) {
    for event in events {
        let json = serde_json::to_string(event).expect("an event can be written");
        let read = Event::from_json(&json).expect("what was written can be read");
        assert_eq!(serde_json::to_string(&read).expect("it can be written again"), json);
    }
}

/// A conversation over the Agent Client Protocol.
pub fn acp_lines(bytes: &[u8]) {
    come_back(&recorded(&letters(bytes), Arc::new(Quirks::default())));
}

/// What a headless run prints.
pub fn stream_json(bytes: &[u8]) {
    let (events, messages) = stream::whole(&letters(bytes), None, Some(1), "it failed");
    come_back(&events);
    for message in messages {
        serde_json::to_string(&message).expect("a message can be written");
    }
}

/// What a hook is told.
pub fn hook_payload(bytes: &[u8]) {
    come_back(&hooks::events(&letters(bytes)));
}

/// An event of ours.
pub fn event_json(bytes: &[u8]) {
    if let Ok(event) = Event::from_json(&letters(bytes)) {
        serde_json::to_string(&event).expect("an event can be written");
    }
}

/// Lines of one of Claude's SDKs.
pub fn claude_control(bytes: &[u8]) {
    for line in letters(bytes).lines() {
        let _read = Line::read(line);
    }
}

/// What a program draws on a terminal, and what we read there.
pub fn screen(bytes: &[u8]) {
    let mut emulator = Emulator::new(Size { columns: 80, rows: 24 });
    for part in bytes.chunks(61) {
        emulator.feed(part);
    }
    let _read = screens::read(&emulator.screen());
}
