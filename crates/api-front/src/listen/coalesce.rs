//! Lines of a watch that are ready at the same time leave as one chunk: one record of TLS, one
//! packet.

use std::pin::Pin;
use std::task::Poll;

use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt};
use tokio::task::yield_now;

use crate::body::Disconnected;

/// What a socket is given at once, unless one line is longer: no more than one record of TLS (2^14
/// bytes: RFC 8446, section 5.1), with the head and the tail of a chunk.
const MOST: usize = 16 * 1024 - 16;

/// How often all others get their turn before a line leaves. Measured with 100 watches and four
/// writers: each doubling up to here saved a fifth of all writes to sockets. When no other task
/// is ready, all turns take some microseconds.
const TURNS: u32 = 16;

type Line = Result<Bytes, Disconnected>;

struct Coalescer {
    lines: Pin<Box<dyn Stream<Item = Line> + Send>>,
    /// What ended the last chunk: the line that had no room in it any more, or the loss of the
    /// connection.
    next: Option<Line>,
    ended: bool,
}

/// The same lines: all that are ready when the first one leaves go with it. A loss of the
/// connection stays a chunk of its own.
pub(super) fn coalesce(
    lines: Pin<Box<dyn Stream<Item = Line> + Send>>,
) -> impl Stream<Item = Line> + Send + 'static {
    let watch = Box::new(Coalescer { lines, next: None, ended: false });
    stream::unfold(watch, async |mut watch| {
        let chunk = watch.chunk().await?;
        Some((chunk, watch))
    })
}

impl Coalescer {
    /// The next chunk; `None` is a regular end.
    async fn chunk(&mut self) -> Option<Line> {
        if self.ended {
            return None;
        }
        let (first, turns) = match self.next.take() {
            Some(line) => (line, 0),
            // Requests that are there already are answered first: a burst of writes then makes one
            // chunk.
            None => (self.lines.next().await?, TURNS),
        };
        // Before a loss, what was handed out is to be on its way.
        for _ in 0..if first.is_ok() { turns } else { 1 } {
            yield_now().await;
        }
        let first = match first {
            Ok(line) => line,
            lost => return Some(lost),
        };
        let mut room = MOST.saturating_sub(first.len());
        let mut lines = vec![first];
        while let Some(line) = self.ready().await {
            match line {
                Ok(line) if line.len() <= room => {
                    room -= line.len();
                    lines.push(line);
                }
                other => {
                    self.next = Some(other);
                    break;
                }
            }
        }
        Some(Ok(match &*lines {
            [only] => only.clone(),
            all => all.concat().into(),
        }))
    }

    /// The next line if it is ready.
    async fn ready(&mut self) -> Option<Line> {
        match futures::poll!(self.lines.next()) {
            Poll::Ready(line) => {
                self.ended = line.is_none();
                line
            }
            Poll::Pending => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures::StreamExt;
    use futures::channel::mpsc::unbounded;

    use super::{MOST, coalesce};
    use crate::body::Disconnected;

    #[tokio::test]
    async fn lines_that_are_there_leave_together_in_order_and_a_loss_comes_after_them() {
        let (sender, lines) = unbounded();
        let mut chunks = Box::pin(coalesce(lines.boxed()));
        let long = "x".repeat(MOST);
        for line in ["a\n", "b\n", &long, "c\n"] {
            sender.unbounded_send(Ok(Bytes::copy_from_slice(line.as_bytes()))).unwrap();
        }
        for chunk in ["a\nb\n", &long, "c\n"] {
            assert_eq!(chunks.next().await.unwrap().unwrap(), chunk);
        }
        assert!(futures::poll!(chunks.next()).is_pending());
        sender.unbounded_send(Ok(Bytes::from_static(b"half"))).unwrap();
        sender.unbounded_send(Err(Disconnected::new())).unwrap();
        assert_eq!(chunks.next().await.unwrap().unwrap(), "half");
        assert!(futures::poll!(chunks.next()).is_pending(), "half a line is on its way first");
        assert!(chunks.next().await.unwrap().is_err());
        drop(sender);
        assert!(chunks.next().await.is_none());
    }

    #[tokio::test]
    async fn what_is_written_while_others_have_their_turn_goes_with_the_first_line_and_an_end_comes_after_it()
     {
        let (sender, lines) = unbounded();
        let mut chunks = Box::pin(coalesce(lines.boxed()));
        sender.unbounded_send(Ok(Bytes::from_static(b"a\n"))).unwrap();
        assert!(futures::poll!(chunks.next()).is_pending(), "requests come first");
        sender.unbounded_send(Ok(Bytes::from_static(b"b\n"))).unwrap();
        drop(sender);
        assert_eq!(chunks.next().await.unwrap().unwrap(), "a\nb\n");
        assert!(chunks.next().await.is_none());
    }
}
