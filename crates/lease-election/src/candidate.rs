//! Candidate: the protocol of one elector as a state machine without clock, I/O or waiting.
//! The driver feeds it inputs and does what it asks for.

use crate::clock::Moment;
use crate::error::StoreError;
use crate::loss::Loss;
use crate::observation::Observation;
use crate::planted::planted;
use crate::record::{Record, StoredLease};
use crate::store::LeaseEvent;
use crate::version::compare_resource_versions;

mod action;
mod deeds;
mod forestall;
mod knowledge;
mod known;
mod late;
mod pacing;
mod remains;
mod state;
mod vacancy;
mod writes;
#[cfg(feature = "coordinated")]
mod elected;
#[cfg(feature = "coordinated")]
mod grants;
#[cfg(feature = "coordinated")]
mod succession;
#[cfg(not(feature = "coordinated"))]
mod ungranted;
#[cfg(test)]
pub(crate) mod outlook;

#[cfg(feature = "coordinated")]
pub(crate) use deeds::Manner;
pub(crate) use deeds::{Action, Hold, News, Purpose, Read, Write};
pub(crate) use state::Candidate;
use state::Role;

impl Candidate {
    pub(crate) fn writer(&self) -> &str {
        &self.writes.writer
    }

    pub(crate) fn observation(&self) -> &Observation {
        &self.known.observation
    }

    pub(crate) fn is_leading(&self) -> bool {
        matches!(self.role, Role::Leading(_))
    }

    /// When the hold of the term expires, if this candidate leads.
    pub(crate) fn deadline(&self) -> Option<Moment> {
        match &self.role {
            Role::Leading(hold) => Some(hold.until),
            _ => None,
        }
    }

    /// Ends a term whose hold has expired. Every other input does this first.
    pub(crate) fn tick(&mut self, now: Moment) -> News {
        match &self.role {
            Role::Leading(hold) if now >= hold.until => self.lose(Loss::Expired),
            _ => News::Nothing,
        }
    }

    pub(crate) fn begin_read(&mut self, now: Moment) -> Read {
        Read { changes: self.known.changes, sent: now, routine: !self.pacing.must_read }
    }

    /// Handles the answer to a read.
    pub(crate) fn read(
        &mut self,
        now: Moment,
        read: Read,
        answer: Result<Option<StoredLease>, StoreError>,
    ) -> News {
        let expired = self.tick(now);
        let undisturbed = read.changes == self.known.changes;
        let news = match answer {
            Ok(found) => {
                if self.was_absent_too_long_ago(now) {
                    self.doubt_absence();
                }
                self.pacing.failed_reads = 0;
                self.pacing.must_read = false;
                self.pacing.silent_until = Moment::default();
                self.pacing.last_heard = now;
                self.pacing.read_not_before = read.sent;
                if found.as_ref().is_some_and(|lease| !self.is_known(&lease.record)) {
                    self.pacing.failed_writes = 0;
                }
                match found {
                    Some(lease) => self.see(now, lease, undisturbed),
                    None if undisturbed => {
                        let news = self.see_absent(now, None);
                        self.known.absent_at = read.sent;
                        news
                    }
                    None => {
                        // The candidate learned something newer meanwhile: only another read can
                        // order the two.
                        self.pacing.must_read = true;
                        self.pacing.read_not_before = read.sent.after(self.config.pace());
                        News::Nothing
                    }
                }
            }
            Err(error) => {
                self.pacing.failed_reads = self.pacing.failed_reads.saturating_add(1);
                self.pacing.read_not_before =
                    self.next_attempt(now, read.sent, &error, self.pacing.failed_reads);
                News::Nothing
            }
        };
        self.settle(expired, news)
    }

    /// Handles the answer to a write.
    pub(crate) fn wrote(
        &mut self,
        now: Moment,
        write: &Write,
        answer: Result<StoredLease, StoreError>,
    ) -> News {
        let expired = self.tick(now);
        let news = match answer {
            Ok(lease) => {
                self.pacing.last_heard = now;
                self.pacing.silent_until = Moment::default();
                let altered = write.record != lease.record;
                let news = self.see(now, lease, false);
                self.pacing.failed_writes = 0;
                // The Lease is still absent: the write is older than the deleted Lease. Either the
                // store was rolled back, or the answer is stale. A read decides.
                self.pacing.must_read |=
                    matches!(self.known.observation, Observation::Absent { .. });
                if altered {
                    // The server would alter the next record too. Without this wait the candidate
                    // would write a free Lease again at once.
                    self.pacing.write_not_before =
                        write.sent.after(self.config.pace().saturating_mul(4));
                }
                news
            }
            Err(error) => {
                if planted("failure-extends")
                    && let Role::Leading(hold) = &mut self.role
                {
                    hold.until = now.after(self.config.hold());
                }
                match &error {
                    // The server did not apply it, unless the network delivers it a second time.
                    StoreError::Rejected { .. } | StoreError::TooManyRequests { .. } => {
                        self.note_refusal(write);
                    }
                    StoreError::NotFound => {
                        self.writes.pending.retain(|pending| pending.serial != write.serial);
                        // The Lease that the write was meant for is gone. If the candidate knows
                        // another version by now, only a read can confirm that one.
                        self.pacing.must_read |=
                            self.known.observation.version() != write.base.as_ref();
                    }
                    // Another process wrote, or the network delivered this write twice: a read
                    // decides.
                    StoreError::Conflict => {
                        self.pacing.must_read = true;
                        if write.base.is_none() {
                            self.known.another_made_it = true;
                            // The process that made the Lease may lead. An earlier create of this
                            // candidate that lands after a deletion, or lands twice, must begin no
                            // term beside it.
                            self.writes.pending.retain(|pending| pending.serial == write.serial);
                            if !self
                                .writes
                                .own
                                .as_ref()
                                .is_some_and(|own| self.is_undisputed(now, own))
                            {
                                self.writes.own = None;
                            }
                        }
                    }
                    // The write may be applied, now or later. A leader renews again on the same
                    // version: at most one of the two writes succeeds.
                    _ => self.pacing.must_read |= !self.is_leading(),
                }
                self.pacing.failed_writes = self.pacing.failed_writes.saturating_add(1);
                self.pacing.write_not_before =
                    self.next_attempt(now, write.sent, &error, self.pacing.failed_writes);
                if !matches!(error, StoreError::Conflict) {
                    self.pacing.read_not_before =
                        self.pacing.read_not_before.max(self.pacing.write_not_before);
                }
                if error == StoreError::NotFound
                    && self.known.observation.version() == write.base.as_ref()
                {
                    self.see_absent(now, None)
                } else {
                    News::Nothing
                }
            }
        };
        self.settle(expired, news)
    }

    /// Handles an event of the watch.
    pub(crate) fn heard(&mut self, now: Moment, event: LeaseEvent) -> News {
        let expired = self.tick(now);
        self.pacing.last_heard = now;
        let leapt = event != LeaseEvent::Alive && self.take_leap();
        let news = match event {
            LeaseEvent::Changed(lease) => {
                if !self.is_known(&lease.record) {
                    self.pacing.failed_writes = 0;
                }
                let news = self.see(now, lease.clone(), false);
                self.told(&lease, leapt);
                news
            }
            LeaseEvent::Alive => News::Nothing,
            LeaseEvent::Deleted(None) => {
                self.pacing.must_read = true;
                News::Nothing
            }
            LeaseEvent::Deleted(Some(last)) => {
                let known = self.last_known().map(|known| &known.version);
                let order = known.and_then(|known| {
                    compare_resource_versions(
                        &last.version.resource_version,
                        &known.resource_version,
                    )
                });
                match order {
                    Some(std::cmp::Ordering::Less) => News::Nothing,
                    None if known.is_some_and(|known| known.uid != last.version.uid) => {
                        self.pacing.must_read = true;
                        News::Nothing
                    }
                    _ => self.see_absent(now, Some(last)),
                }
            }
        };
        self.settle(expired, news)
    }

    /// Begins a campaign, perhaps long after the last one.
    pub(crate) fn resume(&mut self, now: Moment) {
        self.abdicate(now);
        if matches!(self.known.observation, Observation::Absent { .. }) {
            self.pacing.must_read = true;
            self.pacing.read_not_before = self.pacing.silent_until;
        }
    }

    /// Whether this is the known record, under any version: a change of labels makes a new version.
    fn is_known(&self, record: &Record) -> bool {
        matches!(&self.known.observation, Observation::Present { lease, .. } if lease.record == *record)
    }

    #[cfg(feature = "coordinated")]
    /// Whether the candidate neither leads nor has a lease to release.
    pub(crate) fn is_standing_by(&self) -> bool {
        self.role == Role::Standby
    }

    /// The watch broke: a standby must read what it missed.
    pub(crate) fn distrust(&mut self) {
        if !self.is_leading() {
            self.pacing.must_read = true;
        }
    }

    /// Bars the candidate from acquiring, or admits it again. To the protocol a bar is a pause of
    /// the process, except that the candidate handles all news.
    pub(crate) fn bar(&mut self, barred: bool) {
        self.barred = barred;
    }

    /// Sets the successor that the next release names, if any.
    pub(crate) fn name_successor(&mut self, successor: Option<String>) {
        self.successor = successor.unwrap_or_default();
    }

    /// Ends the term but not the Lease: renewals stop, and the lease is released or expires.
    pub(crate) fn leave(&mut self) {
        self.role = Role::Leaving;
        self.pacing.failed_writes = 0;
        self.pacing.write_not_before = self.pacing.silent_until;
        self.pacing.read_not_before = self.pacing.silent_until;
    }
}

#[cfg(test)]
mod tests;
