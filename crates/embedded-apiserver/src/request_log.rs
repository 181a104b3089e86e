//! Every request the server saw: exact counters that never drop, and a bounded ring of the newest
//! entries.

mod select;
mod trace;

pub(crate) use trace::{Tracer, of_request};

pub use select::{Forgotten, Selection};

use crate::body::Body;
use crate::clock::Clock;
use crate::request_info::{RequestInfo, Verb};
use http::Response;
use parking_lot::Mutex;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::Notify;
use trace::Trace;

/// How many entries are kept unless the builder says otherwise. An entry takes about 400 bytes.
pub(crate) const DEFAULT_CAPACITY: usize = 65_536;

/// Different (user, verb, resource) triples that are counted apart; a client that invents resources
/// beyond that number is counted under [`OTHERS`].
const MAX_SERIES: usize = 8_192;
/// The resource of what is not counted apart.
const OTHERS: &str = "(other)";

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// Not answered yet.
    Pending,
    /// Answered with this HTTP status. A watch counts as answered when its stream starts.
    Answered(u16),
    /// A fault dropped the connection.
    Disconnected,
    /// The client went away first, or the server stopped.
    Abandoned,
}

/// One request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// Position in the order of arrival; the first request is 0.
    pub seq: u64,
    /// When the request arrived, on tokio's clock (paused or not).
    pub at: Instant,
    /// The server's clock when the request arrived: the wall time at the server's start, moved on
    /// by tokio's clock.
    pub wall: SystemTime,
    /// Who asked.
    pub user: Arc<str>,
    /// For what.
    pub request: RequestInfo,
    /// How it ended.
    pub outcome: Outcome,
    /// From arrival to the head of the answer; `None` while pending.
    pub took: Option<Duration>,
    /// The word of the fault that was injected, if any (`conflict`, `drop_after` ...).
    pub fault: Option<&'static str>,
}

impl Entry {
    /// The HTTP status, if the request was answered.
    #[must_use]
    pub const fn status(&self) -> Option<u16> {
        match self.outcome {
            Outcome::Answered(status) => Some(status),
            _ => None,
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = &self.request;
        write!(f, "#{} {} {} {}", self.seq, self.user, request.verb, request.qualified_resource())?;
        if let Some(namespace) = &request.namespace {
            write!(f, " {namespace}/{}", request.name.as_deref().unwrap_or(""))?;
        } else if let Some(name) = &request.name {
            write!(f, " {name}")?;
        }
        match self.outcome {
            Outcome::Pending => f.write_str(" pending")?,
            Outcome::Answered(status) => write!(f, " {status}")?,
            Outcome::Disconnected => f.write_str(" disconnected")?,
            Outcome::Abandoned => f.write_str(" abandoned")?,
        }
        self.fault.map_or(Ok(()), |fault| write!(f, " fault={fault}"))
    }
}

/// What is counted apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Series {
    /// Who asked.
    pub user: Arc<str>,
    /// To do what.
    pub verb: Verb,
    /// API group; empty for the core group.
    pub group: String,
    /// Plural resource name; empty for paths that are no resource. `(other)`: of any, when 8,192
    /// series were counted apart already.
    pub resource: String,
    /// Subresource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subresource: Option<String>,
}

impl Series {
    fn is_of_others(&self) -> bool {
        self.resource == OTHERS
    }
}

/// The counters of one [`Series`]; they never drop and never go back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Requests that arrived.
    pub requests: u64,
    /// Requests that a fault was injected into.
    pub faulted: u64,
    /// Requests that ended without an answer: dropped by a fault or abandoned by the client.
    pub unanswered: u64,
    /// Answers by HTTP status.
    pub answered: BTreeMap<u16, u64>,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.faulted += other.faulted;
        self.unanswered += other.unanswered;
        for (&status, &count) in &other.answered {
            *self.answered.entry(status).or_default() += count;
        }
    }
}

/// Handle on the log of a server: cheap to clone, always current.
///
/// ```
/// # use embedded_apiserver::RequestLog;
/// # fn check(log: RequestLog) {
/// log.writes_to("leases").by("replica-1").assert_at_most(12);
/// log.reads_of("persistentvolumes").assert_none();
/// # }
/// ```
#[derive(Clone)]
pub struct RequestLog {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Clock,
    ring: Mutex<Ring>,
    changed: Notify,
}

struct Ring {
    capacity: usize,
    entries: VecDeque<Entry>,
    /// `seq` of the next request; the oldest kept entry has `next_seq - entries.len()`.
    next_seq: u64,
    /// Arrival of the newest entry that the ring gave up.
    forgotten_until: Option<Instant>,
    /// The latest wall time among the entries that the ring gave up.
    forgotten_wall: Option<SystemTime>,
    /// Over everything that came and went.
    trace: Trace,
    /// Index into `counts`.
    series: HashMap<Series, usize>,
    counts: Vec<Counts>,
}

impl RequestLog {
    /// A log that keeps the newest `capacity` entries (at least one).
    #[must_use]
    pub(crate) fn new(capacity: usize, clock: Clock) -> Self {
        let ring = Ring {
            capacity: capacity.max(1),
            entries: VecDeque::new(),
            next_seq: 0,
            forgotten_until: None,
            forgotten_wall: None,
            trace: Trace::default(),
            series: HashMap::new(),
            counts: Vec::new(),
        };
        Self { shared: Arc::new(Shared { clock, ring: Mutex::new(ring), changed: Notify::new() }) }
    }

    /// Notes an arrival now. The guard notes the end. `content`: a hash of what was sent.
    pub(crate) fn arrived(
        &self,
        user: &Arc<str>,
        request: &RequestInfo,
        content: u64,
    ) -> Recording {
        let mut ring = self.shared.ring.lock();
        // Read under the lock, so that the order of entries is the order of their instants.
        let now = tokio::time::Instant::now();
        let (at, wall) = (now.into_std(), SystemTime::from(self.shared.clock.at(now)));
        let counts = ring.series_of(user, request);
        ring.counts[counts].requests += 1;
        let seq = ring.next_seq;
        ring.next_seq += 1;
        let elapsed = self.shared.clock.elapsed(now);
        ring.trace.arrived(seq, elapsed, user, content);
        let dropped =
            if ring.entries.len() >= ring.capacity { ring.entries.pop_front() } else { None };
        if let Some(dropped) = &dropped {
            ring.forgotten_until = Some(dropped.at);
            ring.forgotten_wall = ring.forgotten_wall.max(Some(dropped.wall));
        }
        ring.entries.push_back(Entry {
            seq,
            at,
            wall,
            user: Arc::clone(user),
            request: request.clone(),
            outcome: Outcome::Pending,
            took: None,
            fault: None,
        });
        drop(ring);
        drop(dropped);
        self.shared.changed.notify_waiters();
        Recording {
            log: self.clone(),
            seq,
            counts,
            at,
            fault: None,
            outcome: Outcome::Abandoned,
            answer: 0,
        }
    }

    /// The server's clock, in the terms of [`Entry::wall`].
    #[must_use]
    pub fn now(&self) -> SystemTime {
        self.shared.clock.now().into()
    }

    /// A hash over everything that could be seen from outside so far, in order: who sent which
    /// request when, in whose name, with which body, and what was answered when, down to each
    /// line of each watch and to the half of an answer that breaks off. Times are those of
    /// tokio's clock.
    ///
    /// Two runs with the same seed, start time and requests, on one thread and under paused time,
    /// have the same hash, whatever faults were planned; if theirs differ, something in the
    /// test or in what it tests is left to chance. Hashes are comparable within one version of
    /// this crate.
    ///
    /// ```
    /// # use embedded_apiserver::EmbeddedApiServer;
    /// # fn run(seed: u64) -> EmbeddedApiServer { EmbeddedApiServer::builder().seed(seed).build() }
    /// let (one, other) = (run(7), run(7));
    /// assert_eq!(one.requests().trace_hash(), other.requests().trace_hash());
    /// ```
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.shared.ring.lock().trace.hash()
    }

    /// All requests; narrow it down with the methods of [`Selection`].
    pub fn all(&self) -> Selection {
        Selection::of(self.clone())
    }

    /// The requests of one user.
    pub fn by(&self, user: impl Into<String>) -> Selection {
        self.all().by(user)
    }

    /// The requests with this verb.
    pub fn verb(&self, verb: Verb) -> Selection {
        self.all().verb(verb)
    }

    /// Creates, updates, patches and deletes of a resource, its subresources included. See
    /// [`Selection::resource`] for the words.
    pub fn writes_to(&self, resource: impl Into<String>) -> Selection {
        self.all().writes().resource(resource)
    }

    /// Gets, lists and watches of a resource, its subresources included.
    pub fn reads_of(&self, resource: impl Into<String>) -> Selection {
        self.all().reads().resource(resource)
    }

    /// The counters by user, verb and resource, sorted. Exact since the server was built, whatever
    /// the ring forgot; see [`Selection::counts`] for what happens beyond 8,192 of them.
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

impl Ring {
    fn series_of(&mut self, user: &Arc<str>, request: &RequestInfo) -> usize {
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

    fn entry_mut(&mut self, seq: u64) -> Option<&mut Entry> {
        let oldest = self.next_seq - self.entries.len() as u64;
        let index = usize::try_from(seq.checked_sub(oldest)?).ok()?;
        self.entries.get_mut(index)
    }
}

/// A request under way. Dropping it without an outcome means that the client went away.
#[derive(Debug)]
pub(crate) struct Recording {
    log: RequestLog,
    seq: u64,
    counts: usize,
    at: Instant,
    fault: Option<&'static str>,
    outcome: Outcome,
    /// A hash of what is answered.
    answer: u64,
}

impl Recording {
    /// Follows the lines of the watch that is the answer.
    pub(crate) fn tracer(&self) -> Tracer {
        Tracer::new(self.log.clone(), self.seq)
    }

    /// Notes what the answer says.
    pub(crate) fn answered(&mut self, response: &Response<Body>) {
        self.answer = trace::of_answer(response);
    }

    /// Notes that a fault is being injected; visible at once, because some faults never end.
    pub(crate) fn faulted(&mut self, fault: &'static str) {
        let mut ring = self.log.shared.ring.lock();
        if self.fault.is_none() {
            ring.counts[self.counts].faulted += 1;
        }
        self.fault = Some(fault);
        if let Some(entry) = ring.entry_mut(self.seq) {
            entry.fault = Some(fault);
        }
    }

    /// Notes how the request ended.
    pub(crate) fn finish(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let mut ring = self.log.shared.ring.lock();
        let now = tokio::time::Instant::now();
        let took = now.into_std().saturating_duration_since(self.at);
        let elapsed = self.log.shared.clock.elapsed(now);
        ring.trace.ended(self.seq, elapsed, self.outcome, self.fault, self.answer);
        let counts = &mut ring.counts[self.counts];
        match self.outcome {
            Outcome::Answered(status) => *counts.answered.entry(status).or_default() += 1,
            _ => counts.unanswered += 1,
        }
        if let Some(entry) = ring.entry_mut(self.seq) {
            entry.outcome = self.outcome;
            entry.took = Some(took);
        }
        drop(ring);
        self.log.shared.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
