//! Whether the CLI listens: it paints its input box before it does, and what is sent in between is lost or echoed by the
//! terminal. It asks for bracketed pastes when it begins to listen, and takes that back when it goes. Pure.

use memchr::memmem::rfind;

const ON: &[u8] = b"\x1b[?2004h";
const OFF: &[u8] = b"\x1b[?2004l";

/// What was heard of it.
#[derive(Debug, Default)]
pub(super) struct Listens {
    /// None where the agent was there before us: then it does.
    on: Option<bool>,
    /// The end of what was printed: a sign may come in two parts.
    tail: Vec<u8>,
}

impl Listens {
    /// For an agent that is only just started.
    pub(super) fn not_yet() -> Self {
        Self { on: Some(false), tail: Vec::new() }
    }

    /// Takes what was printed.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
        match (rfind(&self.tail, ON), rfind(&self.tail, OFF)) {
            (Some(on), off) if off.is_none_or(|off| off < on) => self.on = Some(true),
            (_, Some(_)) => self.on = Some(false),
            _ => {}
        }
        let told = self.tail.len().saturating_sub(ON.len() - 1);
        self.tail.drain(..told);
    }

    /// Whether it listens.
    pub(super) fn now(&self) -> bool {
        self.on.unwrap_or(true)
    }
}

#[cfg(test)]
mod tests {
    use super::Listens;

    #[test]
    fn a_sign_in_two_parts_is_a_sign() {
        let mut listens = Listens::not_yet();
        listens.hear(b"some text \x1b[?20");
        assert!(!listens.now());
        listens.hear(b"04h more");
        assert!(listens.now());
        listens.hear(b"\x1b[?2004lgone\x1b[?25h");
        assert!(!listens.now());
        assert!(Listens::default().now());
    }
}
