//! The handle on a log: its clock, its counters, its trace.

use super::entry::{Counts, Series};
use super::ring::Ring;
use crate::clock::Clock;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::Notify;

/// How many entries are kept unless the builder says otherwise. An entry takes about 400 bytes.
pub(crate) const DEFAULT_CAPACITY: usize = 65_536;

/// Handle on the log of a front: cheap to clone, always current.
///
/// ```
/// # let front = api_front::Front::builder().build();
/// let log = front.requests();
/// log.writes_to("leases").by("replica-1").assert_at_most(12);
/// log.reads_of("persistentvolumes").assert_none();
/// ```
#[derive(Clone)]
pub struct RequestLog {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) clock: Clock,
    pub(super) ring: Mutex<Ring>,
    pub(super) changed: Notify,
}

impl RequestLog {
    /// A log that keeps the newest `capacity` entries (at least one).
    #[must_use]
    pub(crate) fn new(capacity: usize, clock: Clock) -> Self {
        let ring = Mutex::new(Ring::new(capacity));
        Self { shared: Arc::new(Shared { clock, ring, changed: Notify::new() }) }
    }

    pub(crate) fn clock(&self) -> Clock {
        self.shared.clock.clone()
    }

    /// The front's clock, in the terms of [`Entry::wall`](crate::Entry::wall).
    #[must_use]
    pub fn now(&self) -> SystemTime {
        self.shared.clock.now()
    }

    /// A hash over all requests and answers so far, in order, with their times on tokio's clock.
    ///
    /// It has the user, the impersonated user and the body of each request. It has each line of
    /// each watch, and the half of an answer that breaks off.
    ///
    /// Two runs with the same seed, start time and requests, on one thread and under paused time,
    /// have the same hash, whatever faults are planned. If their hashes differ, the test or its
    /// subject leaves something to chance. Hashes are comparable within one version of this crate.
    ///
    /// ```
    /// # use api_front::{FaultPlan, Front};
    /// # fn run(seed: u64) -> Front { Front::builder().faults(FaultPlan::seeded(seed)).build() }
    /// let (one, other) = (run(7), run(7));
    /// assert_eq!(one.requests().trace_hash(), other.requests().trace_hash());
    /// ```
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.shared.ring.lock().trace.hash()
    }

    /// The counters by user, verb and resource, sorted. Exact since the front was built, whatever
    /// entries are gone; see [`Selection::counts`](crate::Selection::counts) for more than 8,192
    /// of them.
    #[must_use]
    pub fn counts(&self) -> Vec<(Series, Counts)> {
        let ring = self.shared.ring.lock();
        let mut rows: Vec<_> = ring
            .series
            .iter()
            .map(|(series, &at)| (series.clone(), ring.counts[at].clone()))
            .collect();
        drop(ring);
        rows.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        rows
    }
}

impl fmt::Debug for RequestLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ring = self.shared.ring.lock();
        f.debug_struct("RequestLog")
            .field("requests", &ring.next_seq)
            .field("kept", &ring.entries.len())
            .field("capacity", &ring.capacity)
            .finish()
    }
}
