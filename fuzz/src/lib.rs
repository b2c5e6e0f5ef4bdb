//! What must hold for any bytes that come in over one of our borders.

#[allow(dead_code, unused_imports)]
mod api;
#[allow(dead_code)]
mod team;
// The library keeps it to itself.
#[allow(dead_code)]
#[path = "../../crates/agent/src/terminal/wire.rs"]
mod wire;

use api::{Bring, ClientFrame, Said};
use pollux_agent::acp::recorded;
use pollux_agent::claude::control::{self, Line};
use pollux_agent::gemini::acp::Quirks;
use pollux_agent::gemini::transcript::digest::{digest, digest_document, digest_lines};
use pollux_agent::gemini::transcript::{Transcript, events, text};
use pollux_agent::gemini::{hooks, screen as screens, stream};
use pollux_agent::model::Event;
use pollux_agent::terminal::{Emulator, Size};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::borrow::Cow;
use std::sync::Arc;
use team::profile::{LONGEST, Profile, is_name};

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

/// Lines of one of Claude's SDKs. What is asked under an id is answered under this id and no other.
pub fn claude_control(bytes: &[u8]) {
    for line in letters(bytes).lines() {
        match Line::read(line) {
            Line::Asked { id, .. } => {
                let read = |line: serde_json::Value| Line::read(&line.to_string());
                let yes = Line::Answered { id: id.clone(), outcome: Ok(json!({})) };
                assert_eq!(read(control::answered(&id, &json!({}))), yes);
                let no = Line::Answered { id: id.clone(), outcome: Err("no".to_owned()) };
                assert_eq!(read(control::refused(&id, "no")), no);
                assert_eq!(read(control::withdrawn(&id)), Line::Withdrawn { id });
            }
            Line::User(user) => {
                let known =
                    |block: &serde_json::Value| block["type"] == "text" || block["type"] == "image";
                assert!(user.blocks.iter().all(known), "{user:?}");
            }
            _ => {}
        }
    }
}

/// What can be read can be written, and what was written is read as the same.
fn comes_back<T: Serialize + DeserializeOwned>(text: &str) {
    let Ok(read) = serde_json::from_str::<T>(text) else { return };
    let written = serde_json::to_string(&read).expect("it can be written");
    let again: T = serde_json::from_str(&written).expect("what was written can be read");
    assert_eq!(serde_json::to_string(&again).expect("it can be written again"), written);
}

/// A frame of a client of the daemon: a device, or a process that brings a session.
pub fn client_frame(bytes: &[u8]) {
    let text = letters(bytes);
    comes_back::<ClientFrame>(&text);
    comes_back::<Bring>(&text);
    comes_back::<Said>(&text);
}

/// A profile: its name and those of its servers are plain words, only variables are filled in, and it is the same each time.
pub fn profile(bytes: &[u8]) {
    let text = letters(bytes);
    let fill = |name: &str| {
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{name:?}");
        name.starts_with('A').then(|| "${B} ---".to_owned())
    };
    let read = Profile::read(&text, "file_name", &fill);
    assert_eq!(read, Profile::read(&text, "file_name", &fill));
    let Ok(profile) = read else { return };
    assert!(text.len() <= LONGEST);
    assert!(is_name(&profile.name) && profile.servers.keys().all(|name| is_name(name)));
    assert_eq!(profile.prompt, profile.prompt.trim());
    assert!(profile.fits(&profile.name));
    serde_json::to_string(&profile).expect("a profile can be written");
}

/// Lines of tmux's control mode; and the bytes as what a program printed, on the way that tmux sends them.
pub fn tmux_lines(bytes: &[u8]) {
    for line in bytes.split(|byte| *byte == b'\n') {
        if let wire::Line::Output { bytes, .. } = wire::Line::read(line) {
            assert!(bytes.len() <= line.len());
        }
    }
    let mut line = b"%output %7 ".to_vec();
    for byte in bytes {
        // As tmux's `control_append_data` has it.
        match byte {
            0..=31 | b'\\' => line.extend(format!("\\{byte:03o}").into_bytes()),
            byte => line.push(*byte),
        }
    }
    let read = wire::Line::read(&line);
    assert_eq!(read, wire::Line::Output { pane: "%7", bytes: bytes.to_vec() });
    // Whatever is in it, a command is one line: nobody gets to say a second one.
    let command = wire::command(&["set-buffer", &letters(bytes)]);
    assert!(command.ends_with('\n') && command.matches('\n').count() == 1, "{command:?}");
    assert!(!command.contains('\r') && !command.contains('\0'), "{command:?}");
}

/// What a program draws on a terminal, and what we read there.
pub fn screen(bytes: &[u8]) {
    let mut emulator = Emulator::new(Size { columns: 80, rows: 24 });
    for part in bytes.chunks(61) {
        emulator.feed(part);
    }
    let _read = screens::read(&emulator.screen());
}
