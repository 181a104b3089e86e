//! The body of a watch that faults can cut, silence or hold back, event by event.

use super::control::{Faults, Order, WatchRegistration};
use super::decide::Injection;
use super::kind::Fault;
use crate::body::{Body, Disconnected};
use crate::request_info::RequestInfo;
use crate::request_log::Tracer;
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
    registered: WatchRegistration,
    tracer: Tracer,
    /// Whole events that may still pass; `None`: all.
    left: Option<u64>,
    /// What happens then, and at the deadline.
    end: End,
    deadline: Option<Instant>,
    /// Half an event has been sent: the connection goes next.
    torn: bool,
    /// A line that came together with an order. The order goes first.
    held: Option<Wake>,
    /// Bookmarks are held back; with `true`, also the bookmark at the end of the initial events.
    withheld: Option<bool>,
}

/// The decision about a watch at its start.
#[derive(Debug)]
pub(crate) struct WatchDecision {
    pub(crate) injected: Option<Injection>,
    pub(crate) withheld: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Clean,
    MidLine,
    Silence,
    /// No end: one line that is no event.
    Garbage,
}

/// Why the watch woke.
enum Wake {
    Ordered,
    Deadline,
    Chunk(Option<Result<Bytes, Disconnected>>),
}

/// Begins like an event and is no JSON.
const GARBAGE: &[u8] = b"{\"type\":\"ADDED\",\"object\":\xff\xfe<html>502 Bad Gateway</html>\n";

impl FaultyWatch {
    /// The same body under the live faults and the decision at its start. All lines are traced.
    pub(crate) fn wrap(
        body: Body,
        faults: &Faults,
        user: &Arc<str>,
        request: RequestInfo,
        decided: WatchDecision,
        tracer: Tracer,
    ) -> Body {
        let (left, end, after_ms) = match decided.injected {
            Some(Injection { fault: Fault::CutWatch { after_ms, mid_line, .. }, events }) => {
                (Some(events), if mid_line { End::MidLine } else { End::Clean }, after_ms)
            }
            Some(Injection { fault: Fault::StallWatch { .. }, events }) => {
                (Some(events), End::Silence, None)
            }
            Some(Injection { fault: Fault::GarbageLine { .. }, events }) => {
                (Some(events), End::Garbage, None)
            }
            _ => (None, End::Clean, None),
        };
        let watch = Self {
            inner: body.into_stream(),
            registered: faults.register(user, request),
            tracer,
            left,
            end,
            deadline: after_ms
                .and_then(|after| Instant::now().checked_add(Duration::from_millis(after))),
            torn: false,
            held: None,
            withheld: decided.withheld,
        };
        // Boxed: it would be moved twice with each line.
        Body::stream(stream::unfold(Box::new(watch), |mut watch| async move {
            let chunk = watch.next().await;
            watch.tracer.chunk(chunk.as_ref());
            Some((chunk?, watch))
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
            self.registered.see();
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
                (Some(0), End::Garbage) => {
                    self.left = None;
                    return Some(Ok(Bytes::from_static(GARBAGE)));
                }
                _ => {}
            }
            let wake = match self.held.take() {
                Some(held) => held,
                None => self.next_wake().await,
            };
            if self.registered.has_changed() {
                // It comes after the order: a line of that moment may have been written later.
                self.held = Some(wake).filter(|wake| !matches!(wake, Wake::Ordered));
                continue;
            }
            match wake {
                Wake::Ordered => {}
                Wake::Deadline if self.end == End::MidLine => {
                    return Some(Err(Disconnected::new()));
                }
                Wake::Deadline => return None,
                Wake::Chunk(Some(Ok(line))) if self.withholds(&line) => {}
                Wake::Chunk(Some(Ok(line))) => return Some(Ok(self.pass(line))),
                Wake::Chunk(end) => return end,
            }
        }
    }

    async fn next_wake(&mut self) -> Wake {
        let deadline = self.deadline;
        tokio::select! {
            // First the line: to wait for orders costs a lock, and they are looked at before the
            // line passes.
            biased;
            chunk = self.inner.next() => Wake::Chunk(chunk),
            () = self.registered.changed() => Wake::Ordered,
            () = async { match deadline { Some(at) => sleep_until(at).await, None => pending().await } } => Wake::Deadline,
        }
    }

    fn withholds(&self, line: &Bytes) -> bool {
        self.withheld.is_some_and(|even_the_end_mark| {
            is_bookmark(line)
                && (even_the_end_mark || !line.windows(END_MARK.len()).any(|part| part == END_MARK))
        })
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

const END_MARK: &[u8] = b"k8s.io/initial-events-end";

/// Whether an event line is a bookmark: kube-apiserver and this server write the type first.
fn is_bookmark(line: &[u8]) -> bool {
    line.starts_with(b"{\"type\":\"BOOKMARK\"")
}
