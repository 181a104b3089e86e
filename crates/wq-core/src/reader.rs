//! QueueReader: reads the metrics of a queue without keeping it alive.

use std::fmt;
use std::sync::{Arc, Weak};

use crate::backlog::{Backlog, Survey};
use crate::queue::WorkQueue;
use crate::shared::Shared;
use crate::snapshot::Gauges;

/// Reads the metrics of a queue while it exists. Made by [`WorkQueue::reader`].
///
/// A reader is not a handle: the queue goes away with its last handle, guard and future. All reads
/// then return `None`.
pub struct QueueReader<T, B: Backlog> {
    shared: Weak<Shared<T, B>>,
}

impl<T, B: Backlog> QueueReader<T, B> {
    /// The number of items in each phase and the times of those in flight, at one moment, for a
    /// scrape of metrics. Linear in the number of items in flight.
    #[must_use]
    pub fn gauges(&self) -> Option<Gauges> {
        Some(self.shared.upgrade()?.gauges())
    }

    /// Surveys the items that are queued or will run again into `found`, and returns the gauges of
    /// the same moment.
    ///
    /// Linear in the number of items in flight, beside the cost of the backlog. A queue without an
    /// observer keeps no list of items in flight. The cost is then linear in the recent peak size
    /// while any item is to run again.
    pub fn survey(&self, found: &mut B::Found) -> Option<Gauges>
    where
        B: Survey,
    {
        Some(self.shared.upgrade()?.survey(found))
    }

    /// Whether the queue no longer exists.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.shared.strong_count() == 0
    }

    /// Keeps the queue alive until the returned value is dropped.
    ///
    /// For a caller that reads under a lock of its own, where it must not drop the queue.
    #[must_use]
    pub fn keep_alive(&self) -> Option<KeptAlive<T, B>> {
        self.shared.upgrade().map(KeptAlive)
    }
}

/// Keeps a queue alive: see [`QueueReader::keep_alive`].
pub struct KeptAlive<T, B: Backlog>(#[expect(dead_code, reason = "it is held")] Arc<Shared<T, B>>);

impl<T, B: Backlog> fmt::Debug for KeptAlive<T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeptAlive")
    }
}

impl<T, B: Backlog, S> WorkQueue<T, B, S> {
    /// Returns a reader for metrics, which does not keep the queue alive.
    #[must_use]
    pub fn reader(&self) -> QueueReader<T, B> {
        QueueReader { shared: Arc::downgrade(&self.shared) }
    }
}

impl<T, B: Backlog> Clone for QueueReader<T, B> {
    fn clone(&self) -> Self {
        Self { shared: Weak::clone(&self.shared) }
    }
}

impl<T, B: Backlog> fmt::Debug for QueueReader<T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shared.upgrade() {
            Some(shared) => f.debug_tuple("QueueReader").field(&shared).finish(),
            None => f.write_str("QueueReader(gone)"),
        }
    }
}
