//! Snapshot: phases, counts, gauges and the content of a queue. Plain data, all of one moment.

use std::time::Duration;

/// The phase of an item in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Queued: in client-go's dirty set.
    #[doc(alias = "dirty")]
    Queued,
    /// Held by a guard: in client-go's processing set.
    Processing,
    /// Held by a guard and added again since: queued again when that guard ends. In both sets.
    ProcessingDirty,
}

/// The number of items in each phase, at one moment.
///
/// ```
/// use wq_core::WorkQueue;
///
/// let queue = WorkQueue::new();
/// queue.add_all(["a", "b"]);
/// let a = queue.try_get()?;
/// queue.add(*a.item());
/// let counts = queue.counts();
/// assert_eq!((counts.queued, counts.in_flight, counts.to_run_again), (1, 1, 1));
/// assert_eq!(counts.depth(), 2);
/// # Ok::<(), wq_core::TryGetError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Counts {
    /// Queued items. client-go's `Len`.
    pub queued: usize,
    /// Items held by guards.
    pub in_flight: usize,
    /// Items in flight that will be queued again when their guards end.
    pub to_run_again: usize,
}

impl Counts {
    /// Items that will be handed out: queued, or marked to run again. client-go's metric `depth`.
    #[must_use]
    pub const fn depth(&self) -> usize {
        self.queued.saturating_add(self.to_run_again)
    }

    /// Whether nothing is queued and nothing is in flight.
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        self.queued == 0 && self.in_flight == 0
    }
}

/// The gauges of a queue at one moment: [`QueueReader::gauges`](crate::QueueReader::gauges).
///
/// The times are `None` without an observer, and with an observer that is not
/// [timed](crate::Observer::is_timed).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Gauges {
    /// The number of items in each phase.
    pub counts: Counts,
    /// The sum of the times that items have been in flight: client-go's `unfinished_work_seconds`.
    #[doc(alias = "unfinished_work_seconds")]
    pub unfinished: Option<Duration>,
    /// The longest time that an item has been in flight, zero if none is. client-go's
    /// `longest_running_processor_seconds`.
    #[doc(alias = "longest_running_processor_seconds")]
    pub longest: Option<Duration>,
}

/// An item as a [`Snapshot`] saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen<T> {
    /// The item.
    pub item: T,
    /// The phase of the item.
    pub phase: Phase,
    /// The time since the pending add. `None` if the item is not queued and will not run again,
    /// and as in [`Gauges::unfinished`].
    pub waiting: Option<Duration>,
    /// The time since the hand-out. `None` if the item is queued, and as in
    /// [`Gauges::unfinished`].
    pub processing: Option<Duration>,
}

/// The content of a queue at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot<T> {
    /// All items, in no particular order.
    pub items: Vec<Seen<T>>,
    /// The number of items in each phase.
    pub counts: Counts,
    /// Whether hand-outs are paused.
    pub is_paused: bool,
    /// Whether the queue was shut down.
    pub is_shutting_down: bool,
}

impl<T> Snapshot<T> {
    /// The sum of the times that items have been in flight: client-go's `unfinished_work_seconds`.
    /// `None` as in [`Gauges::unfinished`].
    #[must_use]
    #[doc(alias = "unfinished_work_seconds")]
    pub fn unfinished(&self) -> Option<Duration> {
        self.in_hand().try_fold(Duration::ZERO, |sum, age| Some(sum.saturating_add(age?)))
    }

    /// The longest time that an item has been in flight, zero if none is. client-go's
    /// `longest_running_processor_seconds`. `None` as in [`Gauges::longest`].
    #[must_use]
    #[doc(alias = "longest_running_processor_seconds")]
    pub fn longest(&self) -> Option<Duration> {
        self.in_hand().try_fold(Duration::ZERO, |longest, age| Some(longest.max(age?)))
    }

    fn in_hand(&self) -> impl Iterator<Item = Option<Duration>> {
        self.items.iter().filter(|seen| seen.phase != Phase::Queued).map(|seen| seen.processing)
    }
}
