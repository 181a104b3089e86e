//! The body of a watch that faults can cut, silence or hold back, event by event.

use super::control::{Faults, Order, Registered};
use super::decide::Injection;
use super::plan::Fault;
use crate::body::{Body, Disconnected};
use crate::request_info::RequestInfo;
use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt};
use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Wraps the stream of a watch. One chunk of the stream is one event line.
pub(crate) struct FaultyWatch {
    inner: Pin<Box<dyn Stream<Item = Result<Bytes, Disconnected>> + Send>>,
    registered: Registered,
    /// Whole events that may still pass; `None`: all.
    left: Option<u64>,
    /// What happens then, and at the deadline.
    end: End,
    deadline: Option<Instant>,
    /// Half an event has been sent: the connection goes next.
    torn: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Clean,
    MidLine,
    Silence,
}

/// What woke the watch.
enum Woken {
    Ordered,
    Deadline,
    Chunk(Option<Result<Bytes, Disconnected>>),
}

impl FaultyWatch {
    /// The same body, under the live faults and the one that was decided at its start.
    pub(crate) fn wrap(
        body: Body,
        faults: &Faults,
        user: &Arc<str>,
        request: RequestInfo,
        decided: Option<Injection>,
    ) -> Body {
        let (left, end, after_ms) = match decided {
            Some(Injection { fault: Fault::CutWatch { after_ms, mid_line, .. }, events }) => {
                (Some(events), if mid_line { End::MidLine } else { End::Clean }, after_ms)
            }
            Some(Injection { fault: Fault::StallWatch { .. }, events }) => (Some(events), End::Silence, None),
            _ => (None, End::Clean, None),
        };
        let watch = Self {
            inner: body.into_stream(),
            registered: faults.register(user, request),
            left,
            end,
            deadline: after_ms.and_then(|after| Instant::now().checked_add(Duration::from_millis(after))),
            torn: false,
        };
        Body::stream(stream::unfold(watch, |mut watch| async move {
            let chunk = watch.next().await?;
            Some((chunk, watch))
        }))
    }

    /// The next chunk; `None` is a regular end.
    async fn next(&mut self) -> Option<Result<Bytes, Disconnected>> {
        if self.torn {
            // Not at once: the half event must be on its way before the connection goes.
            tokio::task::yield_now().await;
            return Some(Err(Disconnected::new()));
        }
        loop {
            match self.registered.order() {
                Order::Cut => return None,
                Order::Drop => return Some(Err(Disconnected::new())),
                Order::Stall => {
                    self.registered.changed().await;
                    continue;
                }
                Order::Flow if self.registered.is_partitioned() => {
                    self.registered.changed().await;
                    continue;
                }
                Order::Flow => {}
            }
            match (self.left, self.end) {
                (Some(0), End::Clean) => return None,
                (Some(0), End::Silence) => {
                    self.registered.changed().await;
                    continue;
                }
                _ => {}
            }
            match self.woken().await {
                Woken::Ordered => {}
                Woken::Deadline if self.end == End::MidLine => return Some(Err(Disconnected::new())),
                Woken::Deadline => return None,
                Woken::Chunk(Some(Ok(line))) => return Some(Ok(self.pass(line))),
                Woken::Chunk(end) => return end,
            }
        }
    }

    async fn woken(&mut self) -> Woken {
        let deadline = self.deadline;
        tokio::select! {
            biased;
            () = self.registered.changed() => Woken::Ordered,
            chunk = self.inner.next() => Woken::Chunk(chunk),
            () = async { match deadline { Some(at) => sleep_until(at).await, None => pending().await } } => Woken::Deadline,
        }
    }

    fn pass(&mut self, line: Bytes) -> Bytes {
        match &mut self.left {
            Some(0) => {
                self.torn = true;
                line.slice(..line.len() / 2)
            }
            Some(left) => {
                *left -= 1;
                line
            }
            None => line,
        }
    }
}
