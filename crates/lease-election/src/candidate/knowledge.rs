//! Knowledge: what a candidate concludes from a version of the Lease; terms begin and end here.

use std::cmp::Ordering;

use jiff::Timestamp;

use super::state::{Candidate, Remains, Role};
use super::{Hold, News, Purpose, Write};
use crate::clock::Moment;
use crate::draws::fraction;
use crate::loss::Loss;
use crate::observation::Observation;
use crate::planted::planted;
use crate::record::{Record, StoredLease};
use crate::version::{FenceToken, compare_resource_versions};

/// A version of the Lease, judged by a candidate.
enum Verdict {
    /// The known version.
    Same,
    /// Older than the known version.
    Older,
    /// A write of this candidate, whose outcome was unknown until now.
    Ours(Box<Write>),
    /// The known record, on an object whose labels or annotations changed.
    Touched,
    /// The known record, with a new note of the API server's controller.
    Noted,
    /// Another record under the known version: the store was rolled back and reissues versions.
    Reissued,
    /// Any other record: as a rule, another process wrote it.
    Foreign,
}

impl Candidate {
    /// Handles a version of the Lease. `undisturbed`: the version answers a read during which the
    /// candidate learned nothing else. Only then does an older version mean that the store was
    /// rolled back.
    pub(super) fn see(&mut self, now: Moment, lease: StoredLease, undisturbed: bool) -> News {
        match self.judge(now, &lease) {
            Verdict::Same => News::Nothing,
            Verdict::Older if !undisturbed => News::Nothing,
            Verdict::Older => {
                // The store was rolled back, and this is the Lease now. A create of this candidate
                // that made it counts as its own. A record that it held before counts only while no
                // other process can have taken the lease.
                if let (Role::Standby, Some(write)) = (&self.role, self.made(now, &lease)) {
                    return self.applied(now, lease, &write);
                }
                let mine = self.writes.own.as_ref() == Some(&lease.record)
                    && self.is_undisputed(now, &lease.record);
                if !mine {
                    self.writes.own = None;
                }
                self.replace(now, lease, mine);
                self.lose_if_leading(Loss::Rewound)
            }
            Verdict::Touched => {
                // A store that keeps a Lease in two objects may have applied a part of an
                // unanswered write. The next write must name a later second.
                let sent =
                    self.writes.pending.iter().filter_map(|write| write.record.renew_time).max();
                self.writes.last_time = self.writes.last_time.max(sent);
                if let Observation::Present { lease: known, .. } = &mut self.known.observation {
                    known.version = lease.version;
                    self.known.reissued = false;
                    self.known.changes = self.known.changes.wrapping_add(1);
                }
                News::Nothing
            }
            Verdict::Noted => self.noted(now, lease),
            Verdict::Ours(write) => self.applied(now, lease, &write),
            Verdict::Reissued => {
                // What the candidate knew of the other record does not apply to this one.
                self.writes.pending.clear();
                self.vacancy = None;
                self.writes.own = None;
                let loss = self.classify(&lease);
                self.replace(now, lease, false);
                self.known.reissued = true;
                self.lose_if_leading(loss)
            }
            Verdict::Foreign => {
                let loss = self.classify(&lease);
                let mine = self.is_own(now, &lease);
                if !mine {
                    // Another process wrote since: a later copy of this candidate's old record is
                    // not its own.
                    self.writes.own = None;
                }
                let marked = |write: &&Write| write.record.write_id == lease.record.write_id;
                if let Some(write) = self.writes.pending.iter().find(marked) {
                    // The write was applied, and another process changed it since. The next write
                    // must still name a later second.
                    self.writes.last_time = self.writes.last_time.max(write.record.renew_time);
                }
                self.replace(now, lease, mine);
                if planted("foreign-news-ignored") && !matches!(self.role, Role::Leaving) {
                    return News::Nothing;
                }
                self.lose_if_leading(loss)
            }
        }
    }

    /// This candidate's create that made this Lease, if its outcome was unknown.
    fn made(&self, now: Moment, lease: &StoredLease) -> Option<Write> {
        let made_it = |write: &&Write| {
            write.base.is_none() && write.record == lease.record && !self.is_outlived(now, write)
        };
        self.writes.pending.iter().find(made_it).cloned()
    }

    /// Whether this is the record of this candidate's last write, and no other process can have led
    /// since. Under another uid a create landed a second time, after its first Lease was deleted.
    /// Another process may have made a Lease in between, which was deleted too.
    pub(super) fn is_own(&self, now: Moment, lease: &StoredLease) -> bool {
        let is_same = self.last_known().is_some_and(|known| known.version.uid == lease.version.uid);
        self.writes.own.as_ref() == Some(&lease.record)
            && (is_same
                || self.is_undisputed(now, &lease.record)
                || !self.config.wait_after_deletion())
    }

    /// Whether an answer about the known version may concern another record.
    pub(crate) fn is_reissued(&self) -> bool {
        self.known.reissued
    }

    /// The last known state of the Lease, present or deleted.
    pub(super) fn last_known(&self) -> Option<&StoredLease> {
        match &self.known.observation {
            Observation::Present { lease, .. } => Some(lease),
            _ => self.known.gone.as_ref(),
        }
    }

    fn judge(&self, now: Moment, lease: &StoredLease) -> Verdict {
        if let Some(known) = self.last_known() {
            let present = matches!(self.known.observation, Observation::Present { .. });
            if known.version == lease.version {
                // Only a store that was rolled back shows a deleted version again.
                return match (present, known.record == lease.record) {
                    (false, _) => Verdict::Older,
                    (true, true) => Verdict::Same,
                    (true, false) => Verdict::Reissued,
                };
            }
            let order = compare_resource_versions(
                &lease.version.resource_version,
                &known.version.resource_version,
            );
            if order == Some(Ordering::Less) {
                return Verdict::Older;
            }
            if present && known.record == lease.record && known.version.uid == lease.version.uid {
                return Verdict::Touched;
            }
            if present
                && self.differs_in_notes(&known.record, &lease.record)
                && known.version.uid == lease.version.uid
            {
                return Verdict::Noted;
            }
        }
        let is_it = |write: &&Write| {
            write.record == lease.record || self.differs_in_notes(&write.record, &lease.record)
        };
        match self.writes.pending.iter().find(is_it) {
            // A renewal or release makes no new object: under another uid, its Lease is gone.
            Some(write)
                if write.base.as_ref().is_none_or(|base| base.uid == lease.version.uid)
                    && !self.is_outlived(now, write) =>
            {
                Verdict::Ours(Box::new(write.clone()))
            }
            _ => Verdict::Foreign,
        }
    }

    /// The start of a write's hold, the instant before the write was sent: docs/safety.md, step 1.
    fn anchor(&self, now: Moment, write: &Write) -> Moment {
        if planted("anchor-at-reply") { now } else { write.sent }
    }

    /// Records that a write of this candidate was applied.
    fn applied(&mut self, now: Moment, lease: StoredLease, write: &Write) -> News {
        let until = self.anchor(now, write).after(self.config.hold());
        let version = lease.version.clone();
        let transitions = lease.record.leader_transitions;
        self.writes.own = Some(lease.record.clone());
        if !planted("seconds-repeat") {
            self.writes.last_time = write.record.renew_time;
        }
        self.writes.undisputed_until = until;
        self.pacing.must_read = false;
        self.pacing.write_not_before = Moment::default();
        let vacant_since = self.vacant_since(now);
        if write.purpose == Purpose::Release {
            self.forget_late_writes();
        }
        // The role says whether work runs under the record. The observation counts after the term.
        self.replace(now, lease, true);
        match (&mut self.role, write.purpose) {
            (Role::Standby, Purpose::Acquire) if now < until => {
                let hold = Hold {
                    fence: FenceToken {
                        uid: version.uid,
                        resource_version: version.resource_version,
                        transitions,
                    },
                    acquire_time: write.record.acquire_time.unwrap_or(Timestamp::UNIX_EPOCH),
                    vacant_for: now.since(vacant_since),
                    sent: write.sent,
                    until,
                    renewed: false,
                };
                self.role = Role::Leading(hold.clone());
                self.note_term();
                News::Acquired(hold)
            }
            (Role::Standby, Purpose::Acquire) => {
                self.note_late(now, vacant_since);
                News::Nothing
            }
            (Role::Standby, Purpose::Renew) => {
                self.note_late_renewal(now);
                News::Nothing
            }
            (Role::Leading(hold), Purpose::Renew) => {
                hold.sent = hold.sent.max(write.sent);
                hold.until = hold.until.max(until);
                hold.renewed = true;
                let until = hold.until;
                self.forget_late();
                News::Renewed(until)
            }
            (Role::Leaving, Purpose::Release) => {
                self.role = Role::Standby;
                News::Released
            }
            _ => News::Nothing,
        }
    }

    /// Since when the lease was vacant (released, expired, deleted) or granted to this candidate,
    /// as far as it saw.
    fn vacant_since(&self, now: Moment) -> Moment {
        let config = &self.config;
        let since = match &self.known.observation {
            Observation::Unknown => now,
            Observation::Absent { free_at } => *free_at,
            Observation::Present { lease, since, .. }
                if lease.record.is_free() || self.is_granted() =>
            {
                *since
            }
            Observation::Present { lease, since, .. } => {
                let patience =
                    lease.record.patience(config.lease_duration(), config.foreign_lease_cap());
                let ran_out = since.after(patience);
                self.vacant_from().map_or(ran_out, |vacant| vacant.min(ran_out))
            }
        };
        self.was_vacant_since().map_or(since, |vacant| vacant.min(since)).min(now)
    }

    /// Records that the Lease is absent. `last`: its last state, if the watch told it.
    pub(super) fn see_absent(&mut self, now: Moment, last: Option<StoredLease>) -> News {
        if let Observation::Absent { free_at } = self.known.observation {
            if let Some(last) = last {
                self.note_gone(now, free_at, last);
                return News::Nothing;
            }
            if std::mem::take(&mut self.known.another_made_it) && self.config.wait_after_deletion()
            {
                // Another process made the Lease, unseen, and may lead. What this candidate sent
                // before begins no term beside it.
                self.known.observation =
                    Observation::Absent { free_at: free_at.max(self.unseen_may_act_until(now)) };
                self.writes.pending.clear();
            }
            return News::Nothing;
        }
        let (told, gone) = (last.is_some(), last.clone());
        if let Some(last) = last
            && matches!(self.judge(now, &last), Verdict::Foreign | Verdict::Reissued)
        {
            let mine = self.is_own(now, &last);
            if !mine {
                self.writes.own = None;
            }
            self.replace(now, last, mine);
        }
        self.known.gone = gone.or_else(|| self.last_known().cloned());
        let free_at = self.free_after_deletion(now, told);
        self.forget_late_writes();
        self.known.observation = Observation::Absent { free_at };
        self.known.absent_at = now;
        self.note_end(now);
        self.pacing.write_not_before = Moment::default();
        self.known.changes = self.known.changes.wrapping_add(1);
        self.writes.pending.retain(|write| write.base.is_none());
        self.lose_if_leading(Loss::Deleted)
    }

    /// Whether no other process can have taken the lease since `own` acquired or renewed it.
    pub(super) fn is_undisputed(&self, now: Moment, own: &Record) -> bool {
        // A released lease is free at once, however much of the hold is left.
        !own.is_free() && now < self.writes.undisputed_until
    }

    /// Replaces the observation, and drops the writes that can no longer be applied.
    fn replace(&mut self, now: Moment, lease: StoredLease, mine: bool) {
        let draw = self.draw();
        self.note_successor(now, &lease);
        self.known.gone = None;
        self.known.reissued = false;
        self.known.another_made_it = false;
        self.writes.pending.retain(|write| write.base.as_ref() == Some(&lease.version));
        if !mine {
            // Another process wrote: an attempt that waited for its turn is due at once.
            self.pacing.write_not_before = Moment::default();
            self.forget_late();
        }
        self.known.observation = Observation::Present {
            lease,
            since: now,
            mine,
            jitter: self.config.turn(|jitter| fraction(jitter, draw)),
        };
        self.known.changes = self.known.changes.wrapping_add(1);
    }

    fn classify(&self, lease: &StoredLease) -> Loss {
        let replaced =
            self.known.observation.version().is_some_and(|known| known.uid != lease.version.uid);
        if replaced {
            Loss::Replaced
        } else if lease.record.is_free() {
            Loss::Released
        } else if lease.record.holder == self.config.identity() {
            Loss::ForeignWrite
        } else {
            Loss::TakenOver { by: lease.record.holder.clone() }
        }
    }

    /// A term that expired before an input stays over, whatever the input brought.
    pub(super) fn settle(&mut self, expired: News, news: News) -> News {
        if expired == News::Nothing {
            return news;
        }
        self.role = Role::Standby;
        expired
    }

    fn lose_if_leading(&mut self, loss: Loss) -> News {
        match self.role {
            Role::Standby => News::Nothing,
            Role::Leading(_) | Role::Leaving => self.lose(loss),
        }
    }

    pub(super) fn lose(&mut self, loss: Loss) -> News {
        if loss == Loss::Expired {
            self.note_short_term();
        }
        if self.is_leading() {
            self.remains = Remains::Work;
        }
        self.role = Role::Standby;
        News::Ended(loss)
    }
}
