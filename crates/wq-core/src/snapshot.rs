//! What a queue shows of itself: phases, counts and snapshots. Plain data, all of one moment.

use std::time::Duration;

/// Where an item of the queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Waiting to be handed out: in the dirty set.
    #[doc(alias = "dirty")]
    Queued,
    /// In the hands of a guard: in the processing set.
    Processing,
    /// In the hands of a guard, and added again since: it is queued once more when that guard ends. In both sets.
    ProcessingDirty,
}

/// How many items are where, all counted in one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Counts {
    /// Items waiting to be handed out. Upstream's `Len`.
    pub queued: usize,
    /// Items in the hands of guards.
    pub in_flight: usize,
    /// Those of the items in flight that will be queued again when their guards end.
    pub to_run_again: usize,
}

impl Counts {
    /// Items that still have to be handed out: queued, or to run again. The `depth` metric of client-go.
    #[must_use]
    pub const fn depth(&self) -> usize {
        self.queued.saturating_add(self.to_run_again)
    }

    /// Whether nothing is queued and nothing is in flight: there is no work and nobody at work.
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        self.queued == 0 && self.in_flight == 0
    }
}

/// What the gauges of a queue show, all of one moment: [`WorkQueue::gauges`](crate::WorkQueue::gauges).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Gauges {
    /// How many items are where.
    pub counts: Counts,
    /// The sum of the times that the items in flight have been in hand: client-go's `unfinished_work_seconds`. `None` in
    /// a queue that reads no clock: without an observer, or with one that wants no times.
    #[doc(alias = "unfinished_work_seconds")]
    pub unfinished: Option<Duration>,
    /// The longest time that an item in flight has been in hand, zero if none is: client-go's
    /// `longest_running_processor_seconds`. `None` in a queue that reads no clock.
    #[doc(alias = "longest_running_processor_seconds")]
    pub longest: Option<Duration>,
}

/// An item as a [`Snapshot`] saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen<T> {
    /// The item.
    pub item: T,
    /// Where it was.
    pub phase: Phase,
    /// How long it had waited since its add. `None` for an item that waits for nothing, and in a queue that
    /// reads no clock: without an observer, or with one that wants no times.
    pub waiting: Option<Duration>,
    /// How long it had been in hand. `None` if nobody held it, and in a queue that reads no clock.
    pub processing: Option<Duration>,
}

/// The whole content of a queue in one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot<T> {
    /// All items, in no particular order.
    pub items: Vec<Seen<T>>,
    /// How many are where.
    pub counts: Counts,
    /// Whether hand-outs are paused.
    pub is_paused: bool,
    /// Whether the queue was shut down.
    pub is_shutting_down: bool,
}

impl<T> Snapshot<T> {
    /// The sum of the times that the items in flight have been in hand: client-go's `unfinished_work_seconds`.
    /// `None` in a queue that reads no clock.
    #[must_use]
    #[doc(alias = "unfinished_work_seconds")]
    pub fn unfinished(&self) -> Option<Duration> {
        self.in_hand().try_fold(Duration::ZERO, |sum, age| Some(sum.saturating_add(age?)))
    }

    /// The longest time that an item in flight has been in hand, zero if none is: client-go's
    /// `longest_running_processor_seconds`. `None` in a queue that reads no clock.
    #[must_use]
    #[doc(alias = "longest_running_processor_seconds")]
    pub fn longest(&self) -> Option<Duration> {
        self.in_hand().try_fold(Duration::ZERO, |longest, age| Some(longest.max(age?)))
    }

    fn in_hand(&self) -> impl Iterator<Item = Option<Duration>> {
        self.items.iter().filter(|seen| seen.phase != Phase::Queued).map(|seen| seen.processing)
    }
}
