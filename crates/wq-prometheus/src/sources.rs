//! `Sources`: the queues that a scrape reads, by name. The next scrape or a later `put` removes
//! queues that are gone.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::reading::{Read, Reading};

/// The first sweep for gone queues comes at this many sources. The next comes at twice the number
/// that is left.
const FEW: usize = 64;

pub(crate) struct Sources(Mutex<Held>);

struct Held {
    all: Vec<(Arc<str>, Arc<dyn Read>)>,
    sweep_at: usize,
}

impl Sources {
    pub(crate) fn put(&self, name: &str, read: Arc<dyn Read>) {
        let mut held = self.lock();
        if held.all.len() >= held.sweep_at {
            held.sweep();
        }
        held.all.push((name.into(), read));
    }

    /// Reads each existing queue. Returns the readings with the names of the queues.
    pub(crate) fn read(&self) -> Vec<(Arc<str>, Reading)> {
        let sources = self.lock().all.clone();
        // Outside the lock, because backlogs are user code.
        let readings: Vec<_> = sources
            .iter()
            .filter_map(|(name, read)| Some((Arc::clone(name), read.read()?)))
            .collect();
        if readings.len() < sources.len() {
            self.lock().sweep();
        }
        readings
    }

    /// The number of sources, including queues that are gone.
    pub(crate) fn len(&self) -> usize {
        self.lock().all.len()
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn sweep(&mut self) {
        self.all.retain(|(_, read)| !read.is_gone());
        self.sweep_at = self.all.len().saturating_mul(2).max(FEW);
    }
}

impl Default for Sources {
    fn default() -> Self {
        Self(Mutex::new(Held { all: Vec::new(), sweep_at: FEW }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wq_core::WorkQueue;

    use super::{FEW, Sources};
    use crate::reading::Plain;

    fn put(sources: &Sources, queue: &WorkQueue<u32>) {
        sources.put("claims", Arc::new(Plain { reader: queue.reader(), delayed: None }));
    }

    #[test]
    fn queues_that_are_gone_are_forgotten_without_a_scrape() {
        let sources = Sources::default();
        let kept: Vec<WorkQueue<u32>> = (0..10).map(|_| WorkQueue::new()).collect();
        kept.iter().for_each(|queue| put(&sources, queue));
        for _ in 0..10_000 {
            put(&sources, &WorkQueue::new());
            assert!(sources.len() <= FEW + 1);
        }
        assert_eq!(sources.read().len(), 10);
        assert_eq!(sources.len(), 10);
    }
}
