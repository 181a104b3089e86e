//! Go lock: a candidate by client-go's rules, locking an annotation, or an annotation and a Lease
//! (MultiLock).
//!
//! It acts until its renew deadline, takes a record that is unchanged for a lease, and replaces
//! only the record: the mark of our write stays. As A6 and A7 require, it recreates nothing that
//! was deleted, and writes at most once a second.

use std::time::Duration;

use lease_election::{Clock as _, MemoryLeaseStore, Record, TokioClock};
use tokio::time::Instant;

const RETRY: Duration = Duration::from_secs(1);
/// The longest time between the two halves of one write.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) struct GoLock {
    identity: &'static str,
    /// The store with the annotation comes first.
    halves: Vec<MemoryLeaseStore>,
    clock: TokioClock,
    lease: Duration,
    /// The records at their last observed change, and its time. They have no marks, which it does
    /// not read.
    observed: Option<(Vec<Record>, Instant)>,
    tried: Option<Instant>,
    /// The record that is only in the first half yet, and since when.
    half_way: Option<(Record, Instant)>,
    /// When it sent the last write that was answered, while it leads.
    renewed: Option<Instant>,
    /// Until when its process stands still, or is cut off.
    silent_until: Option<Instant>,
    pub(crate) terms: usize,
    /// How often it replaced a record of ours.
    pub(crate) over_marks: usize,
}

impl GoLock {
    pub(crate) fn new(
        identity: &'static str,
        halves: Vec<MemoryLeaseStore>,
        clock: TokioClock,
        lease: Duration,
    ) -> Self {
        Self {
            identity,
            halves,
            clock,
            lease,
            observed: None,
            tried: None,
            half_way: None,
            renewed: None,
            silent_until: None,
            terms: 0,
            over_marks: 0,
        }
    }

    /// Whether it may act: for four fifths of a lease after its last renewal. With 15 s that is a
    /// deadline of 10 s after a retry period of 2 s.
    pub(crate) fn leads(&self) -> bool {
        self.renewed.is_some_and(|renewed| renewed.elapsed() < self.lease * 4 / 5)
    }

    pub(crate) fn be_silent_for(&mut self, time: Duration) {
        self.silent_until = Some(Instant::now() + time);
    }

    /// Releases its lease, as `ReleaseOnCancel` does, and ends.
    pub(crate) fn release(&mut self) {
        let holds = |store: &MemoryLeaseStore| {
            store.lease().is_some_and(|there| there.record.holder == self.identity)
        };
        if self.leads() && self.halves.iter().all(holds) {
            let free = self.next(String::new(), 1);
            for half in 0..self.halves.len() {
                self.write(half, &free);
            }
        }
        (self.renewed, self.half_way, self.observed) = (None, None, None);
    }

    /// Does its next step.
    pub(crate) fn step(&mut self) {
        let now = Instant::now();
        if self.silent_until.is_some_and(|until| now < until) {
            return;
        }
        if !self.leads() {
            self.renewed = None;
        }
        if let Some((record, sent)) = self.half_way.take() {
            // It reads the half right before, and writes whatever it read.
            if now - sent < REQUEST_TIMEOUT && self.write(1, &record) {
                self.has_renewed(sent);
            }
            return;
        }
        if self.tried.is_some_and(|tried| now < tried + RETRY) {
            return;
        }
        self.tried = Some(now);
        let Some(seen) = self.look() else { return };
        let holder = match &seen[..] {
            [one] => one.holder.clone(),
            [one, other] if one.holder == other.holder => one.holder.clone(),
            _ => "leaderelection.k8s.io/unknown".to_owned(),
        };
        if self.observed.as_ref().is_none_or(|(known, _)| *known != seen) {
            self.observed = Some((seen, now));
        }
        let unchanged = self.observed.as_ref().map_or(Duration::ZERO, |(_, since)| now - *since);
        if holder == self.identity || holder.is_empty() || unchanged >= self.lease {
            let seconds = i32::try_from(self.lease.as_secs()).expect("a few seconds");
            let record = self.next(self.identity.to_owned(), seconds);
            match (self.write(0, &record), self.halves.len()) {
                (false, _) => {}
                (true, 1) => self.has_renewed(now),
                (true, _) => self.half_way = Some((record, now)),
            }
        }
    }

    fn has_renewed(&mut self, sent: Instant) {
        self.terms += usize::from(self.renewed.is_none());
        self.renewed = Some(sent);
        self.observed = self.look().map(|seen| (seen, Instant::now()));
    }

    /// Both halves as it reads them; `None` if one is missing.
    fn look(&self) -> Option<Vec<Record>> {
        let bare = |store: &MemoryLeaseStore| {
            let record = store.lease()?.record;
            // It compares whole seconds, which it keeps.
            let cut = |time: Option<jiff::Timestamp>| {
                time.and_then(|time| jiff::Timestamp::from_second(time.as_second()).ok())
            };
            let (acquire_time, renew_time) = (cut(record.acquire_time), cut(record.renew_time));
            Some(Record {
                acquire_time,
                renew_time,
                write_id: None,
                successor: String::new(),
                ..record
            })
        };
        self.halves.iter().map(bare).collect()
    }

    /// The record that follows the first half's.
    fn next(&self, holder: String, lease_duration_seconds: i32) -> Record {
        let there = self.halves[0].lease().map(|lease| lease.record).unwrap_or_default();
        let time = jiff::Timestamp::from_second(self.clock.wall().as_second()).ok();
        let is_new = holder != there.holder;
        Record {
            acquire_time: if is_new { time } else { there.acquire_time },
            leader_transitions: there.leader_transitions + i32::from(is_new && !holder.is_empty()),
            holder,
            lease_duration_seconds,
            renew_time: time,
            ..Record::default()
        }
    }

    /// Writes one half. Returns whether there was a record to replace.
    fn write(&mut self, half: usize, record: &Record) -> bool {
        let Some(there) = self.halves[half].lease() else { return false };
        let write_id = there.record.write_id;
        self.over_marks += usize::from(write_id.is_some() && there.record.holder != self.identity);
        self.halves[half].overwrite(Record { write_id, ..record.clone() });
        true
    }
}
