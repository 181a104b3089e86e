//! What a delayed add answers, and what a drain that ran out of time leaves.

use std::error::Error;
use std::fmt;
use wq_core::Added;

/// What became of an item given to [`add_after`](crate::DelayingQueue::add_after).
///
/// Before shutdown it may be ignored. A worker that adds a failed item again checks [`is_accepted`](Self::is_accepted): after shutdown the queue does not
/// take the item, and it is lost unless the worker keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scheduled {
    /// It was due at once, and was added like any other item; if that was refused this is [`ShutDown`](Self::ShutDown).
    Now(Added),
    /// It waits for its deadline.
    Delayed,
    /// It waited already, and its deadline moved to the one given.
    Moved,
    /// It waited already, and keeps the deadline it had.
    Kept,
    /// The queue is shut down: nothing was added.
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

/// What was left when [`DelayingQueue::drained_timeout`](crate::DelayingQueue::drained_timeout) gave up.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotDrained<T> {
    /// How many items were queued.
    pub queued: usize,
    /// How many items waited for their deadline.
    pub delayed: usize,
    /// The items in the hands of guards, in no particular order.
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
