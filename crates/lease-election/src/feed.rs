//! Feed: the watch of one campaign, reopened whenever it ends. The candidate interprets the events.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;

use crate::clock::{Clock, Moment, Sleep};
use crate::error::StoreError;
use crate::store::{LeaseEvent, LeaseEvents, LeaseStore};
use crate::version::Version;

pub(crate) struct Feed {
    store: Arc<dyn LeaseStore>,
    clock: Arc<dyn Clock>,
    request_timeout: Duration,
    /// A watch that ends sooner counts as a failure.
    pace: Duration,
    failures: u32,
    /// The known version is too old to watch from: the next watch begins with the present state.
    anew: bool,
    state: State,
}

enum State {
    /// Opens as soon as the Lease was read.
    Ready,
    /// With the future: whether the watch begins with the present state.
    Opening(BoxFuture<'static, Result<LeaseEvents, StoreError>>, bool),
    Open(LeaseEvents, Moment),
    Pausing(Sleep),
}

/// What a feed reports.
pub(crate) enum FeedNews {
    /// `anew`: the watch skips changes since the known version. `leaps`: it begins with the present
    /// state.
    Opened {
        anew: bool,
        leaps: bool,
    },
    Event(LeaseEvent),
    /// The watch ended, normally or by an error, and will be reopened.
    Closed(Option<StoreError>),
}

impl Feed {
    pub(crate) fn new(
        store: Arc<dyn LeaseStore>,
        clock: Arc<dyn Clock>,
        request_timeout: Duration,
        pace: Duration,
    ) -> Self {
        Self { store, clock, request_timeout, pace, failures: 0, anew: false, state: State::Ready }
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Open(..))
    }

    /// Drops a watch that is behind; `next` opens another.
    pub(crate) fn restart(&mut self) {
        self.state = State::Ready;
    }

    /// The next news of the watch. `from`: the known version, if there is a Lease; `known`: whether
    /// the Lease was read at all.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing: its progress is kept in the feed.
    pub(crate) async fn next(&mut self, known: bool, from: Option<&Version>) -> FeedNews {
        loop {
            match &mut self.state {
                State::Ready if !known => std::future::pending().await,
                State::Ready => {
                    let store = Arc::clone(&self.store);
                    let from = from.filter(|_| !self.anew).cloned();
                    let (timeout, leaps) = (self.request_timeout, from.is_none());
                    let opening = async move {
                        tokio::time::timeout(timeout, store.watch(from.as_ref()))
                            .await
                            .unwrap_or_else(|_| {
                                Err(StoreError::unknown(
                                    "the watch did not open within the request time-out",
                                ))
                            })
                    };
                    self.state = State::Opening(Box::pin(opening), leaps);
                }
                State::Opening(opening, leaps) => match opening.await {
                    Ok(events) => {
                        let leaps = *leaps;
                        self.state = State::Open(events, self.clock.now());
                        return FeedNews::Opened { anew: std::mem::take(&mut self.anew), leaps };
                    }
                    Err(error) => {
                        self.anew |= error == StoreError::Expired;
                        return self.close(Some(error));
                    }
                },
                State::Open(events, since) => {
                    let error = match events.next().await {
                        Some(Ok(event)) => return FeedNews::Event(event),
                        Some(Err(error)) => Some(error),
                        None => None,
                    };
                    self.anew |= error == Some(StoreError::Expired);
                    if self.clock.now() >= since.after(self.pace) {
                        // The watch was useful. A release may come any moment, so no pause.
                        self.failures = 0;
                        self.state = State::Ready;
                        return FeedNews::Closed(error);
                    }
                    return self.close(error);
                }
                State::Pausing(pause) => {
                    pause.await;
                    self.state = State::Ready;
                }
            }
        }
    }

    /// Pauses before the next attempt: an eighth of the pace at first, up to 16 times the pace
    /// after failures in a row.
    fn close(&mut self, error: Option<StoreError>) -> FeedNews {
        self.failures = self.failures.saturating_add(1).min(8);
        let pause = (self.pace / 8).saturating_mul(1 << self.failures.saturating_sub(1));
        self.state = State::Pausing(self.clock.sleep_until(self.clock.now().after(pause)));
        FeedNews::Closed(error)
    }
}
