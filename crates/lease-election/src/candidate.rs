//! Candidate: the protocol of one elector as a state machine. Plain data in, plain data out: no
//! clock, no I/O, no waiting. The driver does what it says.

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
#[path = "candidate/ungranted.rs"]
mod grants;
#[cfg(test)]
pub(crate) mod outlook;

#[cfg(feature = "coordinated")]
pub(crate) use deeds::Manner;
pub(crate) use deeds::{Action, News, Purpose, Read, Tenure, Write};
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

    /// When the term ends by itself.
    pub(crate) fn deadline(&self) -> Option<Moment> {
        match &self.role {
            Role::Leading(tenure) => Some(tenure.until),
            _ => None,
        }
    }

    /// Ends a term whose hold has run out. Every other input does this first.
    pub(crate) fn tick(&mut self, now: Moment) -> News {
        match &self.role {
            Role::Leading(tenure) if now >= tenure.until => self.lose(Loss::Expired),
            _ => News::Nothing,
        }
    }

    pub(crate) fn begin_read(&mut self, now: Moment) -> Read {
        Read { changes: self.known.changes, sent: now, routine: !self.pacing.must_read }
    }

    /// The answer to a read.
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
                        // Something newer was told meanwhile: which of the two is later, only
                        // another read can say.
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

    /// The answer to a write.
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
                // Made, and older than what is gone: the server went back, or the answer is old. A
                // read tells.
                self.pacing.must_read |=
                    matches!(self.known.observation, Observation::Absent { .. });
                if altered {
                    // The next attempt will fare no better, and must not follow at once if the
                    // lease is free now.
                    self.pacing.write_not_before =
                        write.sent.after(self.config.pace().saturating_mul(4));
                }
                news
            }
            Err(error) => {
                if planted("failure-extends")
                    && let Role::Leading(tenure) = &mut self.role
                {
                    tenure.until = now.after(self.config.hold());
                }
                match &error {
                    // Not applied, unless it was sent twice on its way.
                    StoreError::Rejected { .. } | StoreError::TooManyRequests { .. } => {
                        self.note_refusal(write);
                    }
                    StoreError::NotFound => {
                        self.writes.pending.retain(|pending| pending.serial != write.serial);
                        // What was known when it was sent is gone; of what is known now only a read
                        // can say.
                        self.pacing.must_read |=
                            self.known.observation.version() != write.base.as_ref();
                    }
                    // Somebody else wrote, or this very write was applied and sent twice on its
                    // way: what stands there now tells.
                    StoreError::Conflict => {
                        self.pacing.must_read = true;
                        if write.base.is_none() {
                            self.known.another_made_it = true;
                            // Who made it may lead. An earlier one of ours that arrives when it is
                            // gone, or arrives once more, begins no term beside theirs.
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
                    // May be applied, now or later. A leader simply renews again, on the same
                    // version: only one of the two can succeed.
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

    /// An event of the watch.
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

    /// A campaign begins, maybe long after the last.
    pub(crate) fn resume(&mut self, now: Moment) {
        self.abdicate(now);
        if matches!(self.known.observation, Observation::Absent { .. }) {
            self.pacing.must_read = true;
            self.pacing.read_not_before = self.pacing.silent_until;
        }
    }

    /// Whether this is what is known, under whatever version: a label changed.
    fn is_known(&self, record: &Record) -> bool {
        matches!(&self.known.observation, Observation::Present { lease, .. } if lease.record == *record)
    }

    #[cfg(feature = "coordinated")]
    /// Whether it neither leads nor has a lease to give back.
    pub(crate) fn is_standing_by(&self) -> bool {
        self.role == Role::Standby
    }

    /// The watch broke: what happened meanwhile must be read.
    pub(crate) fn distrust(&mut self) {
        if !self.is_leading() {
            self.pacing.must_read = true;
        }
    }

    /// Whether it is to leave the lease to others for now, and only look on. As a pause of the
    /// process would, but that it hears all news.
    pub(crate) fn bar(&mut self, barred: bool) {
        self.barred = barred;
    }

    /// Whom the next release is to name, if anybody.
    pub(crate) fn name_successor(&mut self, successor: Option<String>) {
        self.successor = successor.unwrap_or_default();
    }

    /// The term is over for all but the Lease, which is renewed no more: it is to be given back, or
    /// to run out.
    pub(crate) fn leave(&mut self) {
        self.role = Role::Leaving;
        self.pacing.failed_writes = 0;
        self.pacing.write_not_before = self.pacing.silent_until;
        self.pacing.read_not_before = self.pacing.silent_until;
    }
}

#[cfg(test)]
mod tests;
