//! DelayReader: reads the metrics of a delaying queue without keeping it alive.

use crate::queue::DelayingQueue;
use crate::shared::Shared;
use std::fmt;
use std::sync::{Arc, Weak};
use wq_core::{Backlog, Gauges, QueueReader, Survey};

/// Reads the metrics of a queue while it exists, then returns `None`. Moves no due items: they
/// count as delayed until another call queues them.
pub struct DelayReader<T, B: Backlog> {
    core: QueueReader<T, B>,
    shared: Weak<Shared<T, B>>,
}

impl<T, B: Backlog> DelayReader<T, B> {
    /// The reader of the core queue alone.
    #[must_use]
    pub const fn core(&self) -> &QueueReader<T, B> {
        &self.core
    }

    /// As [`QueueReader::gauges`], without due items that no call has queued yet.
    #[must_use]
    pub fn gauges(&self) -> Option<Gauges> {
        self.core.gauges()
    }

    /// As [`QueueReader::survey`].
    pub fn survey(&self, found: &mut B::Found) -> Option<Gauges>
    where
        B: Survey,
    {
        self.core.survey(found)
    }

    /// The number of items in the heap: delayed, or due and not queued yet.
    #[must_use]
    pub fn delayed(&self) -> Option<usize> {
        Some(self.shared.upgrade()?.lock().heap.len())
    }
}

impl<T, B: Backlog, S> DelayingQueue<T, B, S> {
    /// Returns a reader for metrics, which does not keep the queue alive.
    #[must_use]
    pub fn reader(&self) -> DelayReader<T, B> {
        DelayReader { core: self.core.reader(), shared: Arc::downgrade(&self.shared) }
    }
}

impl<T, B: Backlog> Clone for DelayReader<T, B> {
    fn clone(&self) -> Self {
        Self { core: self.core.clone(), shared: Weak::clone(&self.shared) }
    }
}

impl<T, B: Backlog> fmt::Debug for DelayReader<T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DelayReader").field("core", &self.core).finish_non_exhaustive()
    }
}
