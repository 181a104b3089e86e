//! Reading: one queue at a scrape, and the joined values of queues with one name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use wq_core::{Backlog, Gauges, QueueReader, Survey};
use wq_priority::Depths;

use crate::watched::Delayed;

/// Reads a queue while it exists.
pub(crate) trait Read: Send + Sync {
    /// `None` once the queue is gone.
    fn read(&self) -> Option<Reading>;

    fn is_gone(&self) -> bool;
}

/// One reading of a queue. All fields but `delayed` are of one moment.
pub(crate) struct Reading {
    gauges: Gauges,
    /// The depth by label. The empty label stands for a depth without priorities.
    depths: Vec<(String, usize)>,
    delayed: Option<usize>,
}

/// Reads the depth as one number.
pub(crate) struct Plain<T, B: Backlog> {
    pub(crate) reader: QueueReader<T, B>,
    pub(crate) delayed: Option<Delayed>,
}

impl<T: Send, B: Backlog + Send> Read for Plain<T, B> {
    fn read(&self) -> Option<Reading> {
        let gauges = self.reader.gauges()?;
        let depths = vec![(String::new(), gauges.counts.depth())];
        Some(Reading { gauges, depths, delayed: self.delayed.as_ref().and_then(|read| read()) })
    }

    fn is_gone(&self) -> bool {
        self.reader.is_gone()
    }
}

/// Reads the depth by priority.
pub(crate) struct ByPriority<T, B: Backlog> {
    pub(crate) plain: Plain<T, B>,
    /// The labels of the queue's name.
    pub(crate) depths: Arc<Mutex<Depths>>,
}

impl<T: Send, B: Survey<Found = Depths> + Send> Read for ByPriority<T, B> {
    fn read(&self) -> Option<Reading> {
        let Plain { reader, delayed } = &self.plain;
        let _queue = reader.keep_alive()?; // Dropped after the lock.
        let mut depths = self.depths.lock().unwrap_or_else(PoisonError::into_inner);
        depths.begin();
        let gauges = reader.survey(&mut depths)?;
        let depths = depths.labels().collect();
        Some(Reading { gauges, depths, delayed: delayed.as_ref().and_then(|read| read()) })
    }

    fn is_gone(&self) -> bool {
        self.plain.is_gone()
    }
}

/// The joined readings of the queues of one name.
#[derive(Default)]
pub(crate) struct Shown {
    pub(crate) depths: BTreeMap<String, usize>,
    /// `None` if no queue reads a clock.
    pub(crate) unfinished: Option<Duration>,
    pub(crate) longest: Option<Duration>,
    /// `None` if no queue delays items.
    pub(crate) delayed: Option<usize>,
}

impl Shown {
    pub(crate) fn join(&mut self, read: Reading) {
        for (label, depth) in read.depths {
            *self.depths.entry(label).or_default() += depth;
        }
        self.unfinished = both(self.unfinished, read.gauges.unfinished, Duration::saturating_add);
        self.longest = both(self.longest, read.gauges.longest, Duration::max);
        self.delayed = both(self.delayed, read.delayed, |ours, theirs| ours + theirs);
    }
}

fn both<V>(ours: Option<V>, theirs: Option<V>, join: impl FnOnce(V, V) -> V) -> Option<V> {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) => Some(join(ours, theirs)),
        (ours, theirs) => ours.or(theirs),
    }
}
