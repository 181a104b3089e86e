//! A candidate by client-go's rules whose lock is an annotation: it acts until its renew deadline, takes what it saw unchanged for a lease, and replaces the record
//! alone. The mark of our write stays beside it. It makes nothing that was deleted, and writes once in a second at the most: what A6 and A7 exclude.

use std::time::Duration;

use lease_election::{Clock as _, MemoryLeaseStore, Record, TokioClock};
use tokio::time::Instant;

const IDENTITY: &str = "go";
const RETRY: Duration = Duration::from_secs(1);

pub(crate) struct AnnotationLock {
    store: MemoryLeaseStore,
    clock: TokioClock,
    lease: Duration,
    /// The record as it was last seen to change (without marks, which it does not read), and when.
    observed: Option<(Record, Instant)>,
    tried: Option<Instant>,
    /// When the last write that was answered was sent, while it leads.
    renewed: Option<Instant>,
    /// Its process stands still, or is cut off.
    silent_until: Option<Instant>,
    pub(crate) terms: usize,
    /// How often it replaced a record of ours.
    pub(crate) over_marks: usize,
}

impl AnnotationLock {
    pub(crate) fn new(store: MemoryLeaseStore, clock: TokioClock, lease: Duration) -> Self {
        Self {
            store,
            clock,
            lease,
            observed: None,
            tried: None,
            renewed: None,
            silent_until: None,
            terms: 0,
            over_marks: 0,
        }
    }

    /// Whether it may act: four fifths of a lease from its last renewal on, as with 15 s and a deadline of 10 s after a retry period of 2 s.
    pub(crate) fn leads(&self) -> bool {
        self.renewed.is_some_and(|renewed| renewed.elapsed() < self.lease * 4 / 5)
    }

    pub(crate) fn be_silent_for(&mut self, time: Duration) {
        self.silent_until = Some(Instant::now() + time);
    }

    /// Gives back what it holds, as `ReleaseOnCancel` does.
    pub(crate) fn release(&mut self) {
        if self.leads() && self.store.lease().is_some_and(|there| there.record.holder == IDENTITY) {
            self.write(String::new(), 1);
        }
        self.renewed = None;
    }

    /// What it does at this moment.
    pub(crate) fn step(&mut self) {
        let now = Instant::now();
        if self.silent_until.is_some_and(|until| now < until) {
            return;
        }
        if !self.leads() {
            self.renewed = None;
        }
        if self.tried.is_some_and(|tried| now < tried + RETRY) {
            return;
        }
        self.tried = Some(now);
        // It would make at once what was deleted (V10), which is not what is tried here.
        let Some(there) = self.store.lease() else { return };
        let bare = Record { write_id: None, successor: String::new(), ..whole_seconds(there.record) };
        let is_own = bare.holder == IDENTITY;
        if self.observed.as_ref().is_none_or(|(known, _)| *known != bare) {
            self.observed = Some((bare.clone(), now));
        }
        let unchanged = self.observed.as_ref().map_or(Duration::ZERO, |(_, since)| now - *since);
        if is_own || bare.is_free() || unchanged >= self.lease {
            self.write(IDENTITY.to_owned(), i32::try_from(self.lease.as_secs()).expect("a few seconds"));
            self.terms += usize::from(self.renewed.is_none());
            self.renewed = Some(now);
        }
    }

    fn write(&mut self, holder: String, lease_duration_seconds: i32) {
        let Some(there) = self.store.lease() else { return };
        let time = jiff::Timestamp::from_second(self.clock.wall().as_second()).ok();
        let is_new = holder != there.record.holder;
        let record = Record {
            acquire_time: if is_new { time } else { there.record.acquire_time },
            leader_transitions: there.record.leader_transitions + i32::from(is_new && !holder.is_empty()),
            holder,
            lease_duration_seconds,
            renew_time: time,
            write_id: there.record.write_id,
            ..Record::default()
        };
        let bare = Record { write_id: None, ..record.clone() };
        self.over_marks += usize::from(record.write_id.is_some() && there.record.holder != IDENTITY);
        self.store.overwrite(record);
        self.observed = Some((bare, Instant::now()));
    }
}

/// Such a lock has no room for more.
fn whole_seconds(record: Record) -> Record {
    let cut = |time: Option<jiff::Timestamp>| {
        time.and_then(|time| jiff::Timestamp::from_second(time.as_second()).ok())
    };
    Record { acquire_time: cut(record.acquire_time), renew_time: cut(record.renew_time), ..record }
}
