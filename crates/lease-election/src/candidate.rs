//! Candidate: the protocol of one elector as a state machine. Plain data in, plain data out: no
//! clock, no I/O, no waiting. The driver does what it says.

use std::time::Duration;

use jiff::Timestamp;

use crate::clock::Moment;
use crate::decide::Step;
use crate::decide::coordinated::is_grant;
use crate::draws::fraction;
use crate::error::StoreError;
use crate::loss::Loss;
use crate::observation::Observation;
use crate::planted::planted;
use crate::record::{Record, StoredLease};
use crate::store::LeaseEvent;
use crate::version::compare_resource_versions;

mod deeds;
mod elected;
mod forestall;
mod grants;
mod knowledge;
mod known;
mod late;
mod pacing;
mod remains;
mod state;
mod succession;
mod vacancy;
mod writes;
#[cfg(test)]
pub(crate) mod outlook;

pub(crate) use deeds::{Action, Manner, News, Purpose, Read, Tenure, Write};
pub(crate) use state::Candidate;
use state::Role;

/// From one grant that is given back to the next.
const DECLINES: Duration = Duration::from_secs(1);

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

    /// What to do now. `watching`: changes are being told.
    pub(crate) fn action(&self, now: Moment, watching: bool) -> Action {
        if self.pacing.must_read || self.known.observation == Observation::Unknown {
            return at(self.pacing.read_not_before, now, Action::Read);
        }
        match &self.role {
            Role::Leading(tenure) => {
                let due =
                    tenure.sent.after(self.config.retry_period()).max(self.pacing.write_not_before);
                at(due, now, Action::Write(Purpose::Renew))
            }
            Role::Leaving => at(
                self.pacing.write_not_before.max(self.clear_from()),
                now,
                Action::Write(Purpose::Release),
            ),
            Role::Standby => {
                let stale = self.missing_until();
                if stale.is_some_and(|stale| now >= stale) {
                    return at(self.pacing.read_not_before, now, Action::Read);
                }
                let (free, purpose) = match self.step(now) {
                    Step::Read => return at(self.pacing.read_not_before, now, Action::Read),
                    Step::Create => (now, Purpose::Acquire),
                    Step::GiveBack => (now, Purpose::Release),
                    // It is not to lead: what the controller granted before it heard so is somebody
                    // else's.
                    Step::TakeOver if self.declines(now) => {
                        (self.grants.decline_not_before, Purpose::Release)
                    }
                    Step::WaitUntil(moment) if self.declines(now) => (moment, Purpose::Release),
                    Step::TakeOver => (now, Purpose::Acquire),
                    // What is granted is nobody's to take, however vacant it looks.
                    Step::WaitUntil(moment) if self.grants.manner != Manner::Free => {
                        (moment, Purpose::Acquire)
                    }
                    Step::WaitUntil(moment) => {
                        // The holder is gone; of one who led before the Lease was granted to it
                        // nothing is known by that.
                        let vacant = self.vacant_from().map(|vacant| vacant.max(self.claim_from()));
                        let from = vacant.map_or(moment, |vacant| vacant.min(moment));
                        (from, Purpose::Acquire)
                    }
                };
                let polite =
                    if purpose == Purpose::Acquire { self.late_until() } else { Moment::default() };
                let acquire =
                    free.max(self.clear_from()).max(self.pacing.write_not_before).max(polite);
                if now >= acquire && (!self.barred || purpose == Purpose::Release) {
                    return Action::Write(purpose);
                }
                let interval = self.config.retry_period();
                let patience = if watching {
                    interval.saturating_mul(3)
                } else {
                    interval.saturating_add(fraction(interval / 2, self.random))
                };
                let routine = self.pacing.last_heard.after(patience);
                let read = stale
                    .map_or(routine, |stale| routine.min(stale))
                    .max(self.pacing.read_not_before);
                let next = if self.barred && purpose == Purpose::Acquire {
                    read
                } else {
                    acquire.min(read)
                };
                if now >= read { Action::Read } else { Action::Wait(next) }
            }
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

    /// Prepares a write; from here on its fate is unknown.
    pub(crate) fn begin_write(&mut self, now: Moment, wall: Timestamp, purpose: Purpose) -> Write {
        self.writes.serial = self.writes.serial.saturating_add(1);
        let wall = self.next_time(now, wall);
        if purpose == Purpose::Release && self.role == Role::Standby {
            self.grants.decline_not_before = now.after(DECLINES);
        }
        if purpose == Purpose::Release {
            // Whatever is answered, it may have been given back from here on, and be another's.
            self.writes.undisputed_until = Moment::default();
        }
        let held = match &self.known.observation {
            Observation::Present { lease, .. } => Some(lease),
            _ => None,
        };
        let coordinated = self.grants.manner != Manner::Free;
        let mut record = match (purpose, held) {
            // What the controller wrote stays: only it counts the changes of a holder that it
            // chooses.
            (Purpose::Acquire, Some(lease))
                if coordinated
                    && lease.record.holder == self.config.identity()
                    && is_grant(&lease.record) =>
            {
                Record {
                    lease_duration_seconds: self.config.lease_seconds(),
                    acquire_time: Some(wall),
                    renew_time: Some(wall),
                    ..lease.record.clone()
                }
            }
            (Purpose::Renew, Some(lease)) => {
                Record { renew_time: Some(wall), ..lease.record.clone() }
            }
            (Purpose::Release, Some(lease)) => {
                // What is given back after its term names nobody: who was named then may be gone.
                let successor = if self.role == Role::Standby { "" } else { &self.successor };
                Record { successor: successor.to_owned(), ..lease.record.released(wall) }
            }
            (_, held) => Record {
                holder: self.config.identity().to_owned(),
                lease_duration_seconds: self.config.lease_seconds(),
                acquire_time: Some(wall),
                renew_time: Some(wall),
                leader_transitions: held
                    .map_or(0, |lease| lease.record.transitions().saturating_add(1)),
                strategy: String::new(),
                preferred_holder: String::new(),
                write_id: None,
                successor: String::new(),
            },
        };
        if let (true, Purpose::Release, Some(lease)) = (coordinated, purpose, held)
            && !lease.record.strategy.is_empty()
        {
            // Who elects without a controller sees by it that there may be one; and who is next is
            // for that one to say.
            record.strategy.clone_from(&lease.record.strategy);
            record.successor.clear();
        }
        let record = record.marked(&self.writes.writer, self.writes.serial, self.marks());
        let base = held.map(|lease| lease.version.clone());
        let write =
            Write { serial: self.writes.serial, purpose, base, record, sent: now, refused: false };
        self.remember(&write);
        write
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
        let leapt = event != LeaseEvent::Alive && std::mem::take(&mut self.grants.leaps);
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

fn at(due: Moment, now: Moment, action: Action) -> Action {
    if now >= due { action } else { Action::Wait(due) }
}

#[cfg(test)]
mod tests;
