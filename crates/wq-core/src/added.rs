//! What an add answers.

use std::error::Error;
use std::fmt;
use std::num::NonZeroUsize;

/// What became of an item given to [`add`](crate::WorkQueue::add).
///
/// Before shutdown it may be ignored. A worker that adds a failed item again checks [`is_accepted`](Self::is_accepted): after shutdown the queue does not
/// take the item, and it is lost unless the worker keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Added {
    /// It was not in the queue and now waits in it.
    Queued,
    /// It was waiting already (queued, or marked to run again): the two adds lead to one hand-out, which is yet to come.
    Merged,
    /// It is being processed: it runs again when that is done.
    Deferred,
    /// The queue was shut down: nothing was added.
    ShutDown,
}

impl Added {
    /// Whether the item will be handed out after this add: anything but [`ShutDown`](Self::ShutDown).
    #[must_use]
    pub const fn is_accepted(self) -> bool {
        !matches!(self, Self::ShutDown)
    }
}

/// What became of the items given to [`add_all`](crate::WorkQueue::add_all), counted by [`Added`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct AddedAll {
    /// Items now waiting that were not there before.
    pub queued: usize,
    /// Items that were waiting already.
    pub merged: usize,
    /// Items being processed, which run again.
    pub deferred: usize,
    /// Items refused because the queue was shut down: all or none.
    pub shut_down: usize,
}

impl AddedAll {
    pub(crate) fn count(&mut self, added: Added) {
        match added {
            Added::Queued => self.queued += 1,
            Added::Merged => self.merged += 1,
            Added::Deferred => self.deferred += 1,
            Added::ShutDown => self.shut_down += 1,
        }
    }
}

/// Counts what became of adds one by one.
impl FromIterator<Added> for AddedAll {
    fn from_iter<I: IntoIterator<Item = Added>>(added: I) -> Self {
        added.into_iter().fold(Self::default(), |mut all, added| {
            all.count(added);
            all
        })
    }
}

/// Why an add was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RejectedReason {
    /// As many items are queued or marked to run again as the queue's capacity allows.
    Full {
        /// The capacity given to the builder.
        capacity: NonZeroUsize,
    },
    /// The queue was shut down.
    ShutDown,
}

/// An add that was refused, with the item handed back.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rejected<T> {
    item: T,
    reason: RejectedReason,
}

impl<T> Rejected<T> {
    /// For the layers above, which refuse in the same words.
    #[must_use]
    pub const fn new(item: T, reason: RejectedReason) -> Self {
        Self { item, reason }
    }

    /// The item that was not added.
    #[must_use]
    pub const fn item(&self) -> &T {
        &self.item
    }

    /// The item that was not added.
    #[must_use]
    pub fn into_item(self) -> T {
        self.item
    }

    /// Why it was not added.
    #[must_use]
    pub const fn reason(&self) -> RejectedReason {
        self.reason
    }
}

impl<T> fmt::Debug for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejected").field("reason", &self.reason).finish_non_exhaustive()
    }
}

impl<T> fmt::Display for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            RejectedReason::Full { capacity } => {
                write!(
                    f,
                    "the queue is full: its capacity of {capacity} items is used; try again later, or call add, which has no bound"
                )
            }
            RejectedReason::ShutDown => f.write_str("the queue is shut down and takes no more items"),
        }
    }
}

impl<T> Error for Rejected<T> {}
