//! Succession: whether a grant directly follows the known record, or an unseen leader lies between.

use super::grants::Unproven;
use super::state::Candidate;
use crate::clock::Moment;
use crate::decide::coordinated::is_grant;
use crate::decide::runs_out;
use crate::observation::Observation;
use crate::record::StoredLease;
use crate::version::Version;

impl Candidate {
    /// Records that this version replaces the known one.
    pub(super) fn note_successor(&mut self, now: Moment, lease: &StoredLease) {
        self.give_up_proof();
        if self.is_coordinated() || is_grant(&lease.record) {
            self.note_succession(now, lease);
        }
        self.note_hand(now, &lease.record);
    }

    /// Whether the next event of the watch may follow on a missed one. Resets the flag.
    pub(super) fn take_leap(&mut self) -> bool {
        std::mem::take(&mut self.grants.leaps)
    }

    /// Records that another record replaces the known one. Its leader may act until that record
    /// expires, unless it released the lease itself. A grant to the same identity may mean another
    /// process of that name.
    fn note_succession(&mut self, now: Moment, lease: &StoredLease) {
        let may_act_until = match &self.known.observation {
            // Another process may have made the Lease, led, and lost it to a deletion. This Lease
            // is then a further one.
            Observation::Absent { free_at }
                if is_grant(&lease.record)
                    && self.config.wait_after_deletion()
                    && (self.known.another_made_it
                        || now.since(self.known.absent_at) > self.config.lease_duration()) =>
            {
                Some(self.unseen_may_act_until(now).max(*free_at))
            }
            Observation::Absent { free_at } => Some(*free_at),
            // The known Lease is gone, and no event said so. Its holder may have renewed unseen
            // before that, or another process may have held it.
            Observation::Present { lease: known, mine, jitter, .. }
                if known.version.uid != lease.version.uid
                    && self.config.wait_after_deletion()
                    && !(*mine && self.is_undisputed(now, &known.record)) =>
            {
                let own = self.config.lease_duration();
                let patience = known.record.patience(own, self.config.foreign_lease_cap());
                Some(now.after(patience.max(own)).after(*jitter))
            }
            Observation::Present { lease: known, mine: false, .. }
                if !known.record.is_free()
                    && !lease.record.is_free()
                    && (known.record.holder != lease.record.holder
                        || is_grant(&lease.record) && !is_grant(&known.record)) =>
            {
                runs_out(&self.known.observation, &self.config)
            }
            _ => None,
        };
        if let Some(until) = may_act_until {
            self.grants.claim_not_before = self.grants.claim_not_before.max(until);
        }
        if is_grant(&lease.record) {
            self.note_leap(now, lease);
            self.note_servers_time(now, &lease.record);
        }
    }

    /// Records that a watch opened. `leaps`: its first event is the present state, whatever came
    /// before. Otherwise the watch reports all changes since a known version.
    pub(crate) fn opened(&mut self, leaps: bool) {
        self.grants.leaps = leaps;
    }

    /// The version to watch from. While a grant is unproven, it is the version before the grant.
    pub(crate) fn watch_from(&self) -> Option<&Version> {
        match (&self.grants.unproven, &self.known.observation) {
            (Some(unproven), Observation::Present { .. }) => Some(&unproven.before.version),
            _ => self.known.observation.version(),
        }
    }

    /// A leader from before the known grant may act until this moment.
    pub(super) fn claim_from(&self) -> Moment {
        self.grants.unproven.as_ref().map_or(self.grants.claim_not_before, |unproven| {
            unproven.until.max(self.grants.claim_not_before)
        })
    }

    /// Records that this grant replaces the known state. Only the watch can prove that nothing lies
    /// in between: a read shows only the last of all changes since.
    pub(super) fn note_leap(&mut self, now: Moment, grant: &StoredLease) {
        let until = self.unseen_may_act_until(now);
        match &self.known.observation {
            Observation::Present { lease: known, .. } => {
                let patience = known
                    .record
                    .patience(self.config.lease_duration(), self.config.foreign_lease_cap());
                let until = until.max(now.after(patience).after(self.config.takeover_jitter()));
                self.grants.unproven = Some(Unproven { before: known.clone(), until });
            }
            Observation::Unknown if grant.record.holder == self.config.identity() => {
                self.grants.claim_not_before = self.grants.claim_not_before.max(until);
            }
            _ => {}
        }
    }

    /// Stops proving what preceded the grant: another record replaced it, or the watch reported one
    /// in between.
    pub(super) fn give_up_proof(&mut self) {
        self.grants.claim_not_before = self.claim_from();
        self.grants.unproven = None;
    }

    /// Handles an event of the watch, in its order. `leapt`: earlier changes may be missing.
    pub(super) fn told(&mut self, lease: &StoredLease, leapt: bool) {
        let (Some(unproven), Observation::Present { lease: grant, .. }) =
            (&self.grants.unproven, &self.known.observation)
        else {
            return;
        };
        let is = |known: &StoredLease| {
            known.version.uid == lease.version.uid
                && known.record.differs_in_notes_alone(&lease.record)
        };
        if is(grant) && is_grant(&grant.record) && !leapt {
            self.grants.unproven = None;
        } else if !is(&unproven.before) {
            self.give_up_proof();
        }
    }
}
