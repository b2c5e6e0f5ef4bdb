//! What must hold for any bytes that claim to be a session file.

use pollux_agent::gemini::transcript::digest::{digest, digest_document, digest_lines};
use pollux_agent::gemini::transcript::{Transcript, events, text};

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
