//! A request under way: notes its arrival, its fault, its answer, and each line of a watch.

use super::entry::{Entry, Outcome};
use super::log::RequestLog;
use super::trace::{self, Trace};
use crate::body::{Body, Disconnected};
use crate::request_info::RequestInfo;
use bytes::Bytes;
use http::Response;
use std::sync::Arc;
use std::time::Instant;

impl RequestLog {
    /// Notes an arrival now. The guard notes the end. `content`: a hash of the request.
    pub(crate) fn arrived(
        &self,
        user: &Arc<str>,
        request: &RequestInfo,
        content: u64,
    ) -> Recording {
        let mut ring = self.shared.ring.lock();
        // Read under the lock, so that the order of entries is the order of their instants.
        let now = tokio::time::Instant::now();
        let (at, wall) = (now.into_std(), self.shared.clock.at(now));
        let counts = ring.series_of(user, request);
        ring.counts[counts].requests += 1;
        let seq = ring.next_seq;
        ring.next_seq += 1;
        let elapsed = self.shared.clock.elapsed(now);
        ring.trace.arrived(seq, elapsed, user, content);
        let dropped = ring.push(Entry {
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
    /// A hash of the answer.
    answer: u64,
}

impl Recording {
    /// Follows the lines of the watch that is the answer.
    pub(crate) fn tracer(&self) -> Tracer {
        Tracer { log: self.log.clone(), seq: self.seq }
    }

    /// Notes the answer.
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

/// Notes the lines of a watch.
#[derive(Debug)]
pub(crate) struct Tracer {
    log: RequestLog,
    seq: u64,
}

impl Tracer {
    /// A line, the loss of the connection, or the regular end.
    pub(crate) fn chunk(&self, chunk: Option<&Result<Bytes, Disconnected>>) {
        let mut content = Trace::default();
        match chunk {
            Some(Ok(bytes)) => content.bytes(bytes),
            Some(Err(_)) => content.word(1),
            None => content.word(2),
        }
        let content = content.hash();
        let mut ring = self.log.shared.ring.lock();
        let elapsed = self.log.shared.clock.elapsed(tokio::time::Instant::now());
        ring.trace.chunk(self.seq, elapsed, content);
    }
}
