//! `DelayReader`: looks at a delaying queue without keeping it alive.

use crate::queue::DelayingQueue;
use crate::shared::Shared;
use std::fmt;
use std::sync::{Arc, Weak};
use wq_core::{Backlog, Gauges, QueueReader, Survey};

/// Reads what metrics show of a queue, for as long as there is one: it is no handle. `None` from then on. It moves nothing: an item
/// that is due and that nobody has looked for is delayed still. Made by [`DelayingQueue::reader`].
pub struct DelayReader<T, B: Backlog> {
    core: QueueReader<T, B>,
    shared: Weak<Shared<T, B>>,
}

impl<T, B: Backlog> DelayReader<T, B> {
    /// What reads the queue below alone.
    #[must_use]
    pub const fn core(&self) -> &QueueReader<T, B> {
        &self.core
    }

    /// As [`DelayingQueue::gauges`].
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

    /// How many items wait for their deadline.
    #[must_use]
    pub fn delayed(&self) -> Option<usize> {
        Some(self.shared.upgrade()?.lock().heap.len())
    }
}

impl<T, B: Backlog, S> DelayingQueue<T, B, S> {
    /// What reads this queue for metrics without keeping it alive.
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
