//! Lines out of a pipe, each with a limit.

use memchr::memchr;
use std::io;
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// A line may have this many bytes. What is longer is cut, and the rest of it is skipped.
pub(super) const LONGEST: usize = 64 << 20;

/// Reads lines that end with `\n` only: the CLI prints U+2028 as it is.
#[derive(Debug)]
pub(super) struct Lines<R> {
    from: R,
    line: Vec<u8>,
    skipping: bool,
    cut: bool,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, line: Vec::new(), skipping: false, cut: false }
    }

    /// True where the last line was longer than it may be, and so is not whole.
    pub(super) fn was_cut(&self) -> bool {
        self.cut
    }

    /// The next line, none at the end. What a future that was dropped had read is not lost.
    pub(super) async fn next(&mut self) -> io::Result<Option<String>> {
        loop {
            let chunk = self.from.fill_buf().await?;
            if chunk.is_empty() {
                let rest = std::mem::take(&mut self.line);
                self.cut = std::mem::take(&mut self.skipping);
                return Ok((!rest.is_empty()).then(|| text(rest)));
            }
            let end = memchr(b'\n', chunk);
            let piece = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
            if !self.skipping {
                let room = LONGEST - self.line.len().min(LONGEST);
                self.line.extend_from_slice(piece.get(..room.min(piece.len())).unwrap_or_default());
                self.skipping = piece.len() > room;
            }
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.from.consume(used);
            if end.is_some() {
                self.cut = std::mem::take(&mut self.skipping);
                return Ok(Some(text(std::mem::take(&mut self.line))));
            }
        }
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|wrong| String::from_utf8_lossy(wrong.as_bytes()).into_owned())
}
