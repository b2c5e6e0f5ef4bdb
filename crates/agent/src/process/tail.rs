//! The last of what a child writes to stderr, however much it writes.

use super::TAIL;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncRead, AsyncReadExt};

/// The end of a stream.
#[derive(Debug, Clone, Default)]
pub(super) struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    fn bytes(&self) -> MutexGuard<'_, VecDeque<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn text(&self) -> String {
        let bytes: Vec<u8> = self.bytes().iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn push(&self, more: &[u8]) {
        let mut bytes = self.bytes();
        bytes.extend(more);
        let surplus = bytes.len().saturating_sub(TAIL);
        bytes.drain(..surplus);
    }
}

pub(super) async fn read(mut from: impl AsyncRead + Unpin, tail: Tail) {
    let mut buffer = vec![0; 8 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        tail.push(buffer.get(..count).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::Tail;

    #[test]
    fn the_tail_is_bounded_and_keeps_the_end() {
        let tail = Tail::default();
        (0..100_000).for_each(|_| tail.push(b"x"));
        tail.push(b"end");
        assert_eq!(tail.text().len(), super::TAIL);
        assert!(tail.text().ends_with("xend"));
    }
}
