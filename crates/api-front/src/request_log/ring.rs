//! The newest entries, the counters of all requests, and the trace. Pure.

use super::entry::{Counts, Entry, OTHERS, Series};
use super::trace::Trace;
use crate::request_info::RequestInfo;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// Different (user, verb, resource) triples that are counted apart. A client that invents more
/// resources is counted under [`OTHERS`].
pub(super) const MAX_SERIES: usize = 8_192;

/// The state of a log.
pub(super) struct Ring {
    pub(super) capacity: usize,
    pub(super) entries: VecDeque<Entry>,
    /// `seq` of the next request; the oldest kept entry has `next_seq - entries.len()`.
    pub(super) next_seq: u64,
    /// Arrival of the newest entry that the ring gave up.
    forgotten_until: Option<Instant>,
    /// The latest wall time among the entries that the ring gave up.
    pub(super) forgotten_wall: Option<SystemTime>,
    /// Over all arrivals and ends.
    pub(super) trace: Trace,
    /// Index into `counts`.
    pub(super) series: HashMap<Series, usize>,
    pub(super) counts: Vec<Counts>,
}

impl Ring {
    /// An empty ring with room for `capacity` entries, at least one.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            entries: VecDeque::new(),
            next_seq: 0,
            forgotten_until: None,
            forgotten_wall: None,
            trace: Trace::default(),
            series: HashMap::new(),
            counts: Vec::new(),
        }
    }

    /// Adds an entry; returns the oldest one if it has no room any more.
    pub(super) fn push(&mut self, entry: Entry) -> Option<Entry> {
        let is_full = self.entries.len() >= self.capacity;
        let dropped = if is_full { self.entries.pop_front() } else { None };
        if let Some(dropped) = &dropped {
            self.forgotten_until = Some(dropped.at);
            self.forgotten_wall = self.forgotten_wall.max(Some(dropped.wall));
        }
        self.entries.push_back(entry);
        dropped
    }

    /// The place of a request's counters in `counts`.
    pub(super) fn series_of(&mut self, user: &Arc<str>, request: &RequestInfo) -> usize {
        let series = Series {
            user: Arc::clone(user),
            verb: request.verb,
            group: request.group.clone(),
            resource: request.resource.clone(),
            subresource: request.subresource.clone(),
        };
        if let Some(&at) = self.series.get(&series) {
            return at;
        }
        let series = if self.series.len() < MAX_SERIES {
            series
        } else {
            Series {
                group: String::new(),
                resource: OTHERS.to_owned(),
                subresource: None,
                ..series
            }
        };
        let (counts, next) = (&mut self.counts, self.series.len());
        *self.series.entry(series).or_insert_with(|| {
            counts.push(Counts::default());
            next
        })
    }

    pub(super) fn entry_mut(&mut self, seq: u64) -> Option<&mut Entry> {
        let oldest = self.next_seq - self.entries.len() as u64;
        let index = usize::try_from(seq.checked_sub(oldest)?).ok()?;
        self.entries.get_mut(index)
    }

    /// # Errors
    ///
    /// [`Forgotten`] if an entry that arrived at `since` or later is gone.
    pub(super) fn reaches_back_to(&self, since: Instant) -> Result<(), Forgotten> {
        match self.forgotten_until {
            Some(until) if until >= since => Err(self.forgotten()),
            _ => Ok(()),
        }
    }

    pub(super) fn forgotten(&self) -> Forgotten {
        Forgotten { oldest_seq: self.next_seq - self.entries.len() as u64 }
    }
}

/// The log has dropped entries of the time that a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Forgotten {
    /// Position of the oldest entry that is still kept.
    pub oldest_seq: u64,
}

impl fmt::Display for Forgotten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the request log has forgotten entries of that time (the oldest it keeps is number {}); \
             ask sooner, or build the server with a larger request_log_capacity",
            self.oldest_seq
        )
    }
}

impl std::error::Error for Forgotten {}
