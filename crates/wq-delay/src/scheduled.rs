//! Scheduled: the result of a delayed add. NotDrained: what a drain left when it timed out.

use std::error::Error;
use std::fmt;
use wq_core::Added;

/// The result of [`add_after`](crate::DelayingQueue::add_after).
///
/// A worker that adds a failed item again checks [`is_accepted`](Self::is_accepted): after shutdown
/// the queue does not take the item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scheduled {
    /// The item was due at once and was added without a delay.
    Now(Added),
    /// The item waits for its deadline.
    Delayed,
    /// The item was delayed already, and its deadline has changed.
    Moved,
    /// The item was delayed already, and keeps its deadline.
    Kept,
    /// The queue is shut down, and the item was dropped.
    ShutDown,
}

impl Scheduled {
    pub(crate) const fn at_once(added: Added) -> Self {
        if added.is_accepted() { Self::Now(added) } else { Self::ShutDown }
    }

    /// Whether the item will be handed out after this add.
    #[must_use]
    pub const fn is_accepted(self) -> bool {
        !matches!(self, Self::ShutDown | Self::Now(Added::ShutDown))
    }
}

/// The rest of a queue that [`Drained::wait_timeout`](crate::Drained::wait_timeout) did not see
/// drained.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotDrained<T> {
    /// The number of queued items.
    pub queued: usize,
    /// The number of items that wait for their deadline.
    pub delayed: usize,
    /// The items held by guards, in no particular order.
    pub in_flight: Vec<T>,
}

impl<T> fmt::Debug for NotDrained<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotDrained")
            .field("queued", &self.queued)
            .field("delayed", &self.delayed)
            .field("in_flight", &self.in_flight.len())
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Display for NotDrained<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { queued, delayed, in_flight } = self;
        write!(
            f,
            "the queue was not drained in time: {queued} items are queued, {delayed} delayed, {} in flight",
            in_flight.len()
        )
    }
}

impl<T> Error for NotDrained<T> {}
