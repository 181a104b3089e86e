//! Added: the result of an add.

use std::error::Error;
use std::fmt;
use std::num::NonZeroUsize;

/// The result of [`add`](crate::WorkQueue::add).
///
/// A worker that adds a failed item again must check [`is_accepted`](Self::is_accepted). After
/// shutdown the queue refuses the item, and only the worker still has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Added {
    /// The item was not in the queue and is queued now.
    Queued,
    /// The item was queued already, or marked to run again. Both adds lead to one hand-out, still
    /// to come.
    Merged,
    /// The item is being processed and runs again afterwards.
    Deferred,
    /// The queue is shut down and refused the item.
    ShutDown,
}

impl Added {
    /// Whether the item will be handed out after this add: false for [`ShutDown`](Self::ShutDown)
    /// only.
    #[must_use]
    pub const fn is_accepted(self) -> bool {
        !matches!(self, Self::ShutDown)
    }
}

/// The result of [`add_all`](crate::WorkQueue::add_all): the number of items for each [`Added`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct AddedAll {
    /// Items that were not in the queue and are queued now.
    pub queued: usize,
    /// Items that were queued already, or marked to run again.
    pub merged: usize,
    /// Items that are being processed and run again afterwards.
    pub deferred: usize,
    /// Items refused because the queue is shut down: all or none.
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

/// Counts the results of single adds.
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
    /// The queue is full: as many items as its capacity are queued or marked to run again.
    Full {
        /// The capacity given to the builder.
        capacity: NonZeroUsize,
    },
    /// The queue is shut down.
    ShutDown,
}

/// A refused add, with its item.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rejected<T> {
    item: T,
    reason: RejectedReason,
}

impl<T> Rejected<T> {
    /// For layers above that refuse an add themselves.
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
            RejectedReason::ShutDown => {
                f.write_str("the queue is shut down and takes no more items")
            }
        }
    }
}

impl<T> Error for Rejected<T> {}
