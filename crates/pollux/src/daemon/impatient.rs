//! A connection that is given up where the other side does not read, or says nothing at all: it would hold its seat for ever.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A stream to which a write may wait so long and no longer, and whose first byte must come in time.
#[derive(Debug)]
pub(super) struct Impatient<S> {
    stream: S,
    longest: Duration,
    late: Pin<Box<Sleep>>,
    waits: bool,
    heard: bool,
}

impl<S: AsyncWrite + Unpin> Impatient<S> {
    pub(super) fn new(stream: S, first: Duration, longest: Duration) -> Self {
        Self { stream, longest, late: Box::pin(sleep(first)), waits: false, heard: false }
    }

    /// What a write came to; an error where it has waited for too long.
    fn in_time<T>(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let written = write(Pin::new(&mut self.stream), cx);
        if written.is_ready() {
            self.waits = false;
            return written;
        }
        if !self.waits {
            self.waits = true;
            self.late.as_mut().reset(Instant::now() + self.longest);
        }
        ready!(self.late.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(ErrorKind::TimedOut, "the client does not read its data")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if read.is_ready() {
            self.heard = true;
        } else if !self.heard && !self.waits {
            ready!(self.late.as_mut().poll(cx));
            return Poll::Ready(Err(io::Error::new(
                ErrorKind::TimedOut,
                "the client sent no data",
            )));
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.in_time(cx, |stream, cx| stream.poll_write(cx, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.in_time(cx, AsyncWrite::poll_flush)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.in_time(cx, AsyncWrite::poll_shutdown)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        all: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.in_time(cx, |stream, cx| stream.poll_write_vectored(cx, all))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::Impatient;
    use std::io::ErrorKind;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::timeout;

    #[tokio::test]
    async fn a_write_waits_for_a_reader_that_reads_and_not_for_one_that_does_not() {
        let (ours, mut theirs) = duplex(16);
        let mut ours = Impatient::new(ours, Duration::from_mins(1), Duration::from_millis(200));
        let slow = async {
            let mut all = Vec::new();
            for _ in 0..4 {
                tokio::time::sleep(Duration::from_millis(100)).await;
                let mut some = [0; 16];
                theirs.read_exact(&mut some).await.unwrap();
                all.extend(some);
            }
            all.len()
        };
        let (written, read) = tokio::join!(ours.write_all(&[1; 64]), slow);
        written.unwrap();
        assert_eq!(read, 64);
        let never = timeout(Duration::from_mins(1), ours.write_all(&[1; 64])).await.unwrap();
        assert_eq!(never.unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
