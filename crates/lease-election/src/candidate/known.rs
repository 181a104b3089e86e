//! Known: a candidate's knowledge of the Lease, and how long it believes that the Lease is absent.
//! Unseen, another process may make the Lease, lead, and lose it to a deletion.

use super::state::Candidate;
use crate::clock::Moment;
use crate::decide::runs_out;
use crate::draws::fraction;
use crate::observation::Observation;
use crate::record::StoredLease;

impl Candidate {
    /// Whether the Lease is absent, as far as this candidate knows.
    pub(super) fn is_missing(&self) -> bool {
        matches!(self.known.observation, Observation::Absent { .. })
    }

    /// When a candidate must read an absent Lease again, before it acts on the absence. Only an
    /// answer confirms an absence, so the limit is half a lease, also after a pause of the process.
    pub(super) fn missing_until(&self) -> Option<Moment> {
        self.is_missing().then(|| self.known.absent_at.after(self.config.lease_duration() / 2))
    }

    /// Whether this answer comes more than a lease after the last answer that confirmed an absence.
    /// It shows the present state, and not what happened in between.
    pub(super) fn was_absent_too_long_ago(&self, now: Moment) -> bool {
        self.is_missing() && now.since(self.known.absent_at) > self.config.lease_duration()
    }

    /// Another process may have made the Lease, led, and lost it to a deletion. What this candidate
    /// sent before begins no term beside it.
    pub(super) fn doubt_absence(&mut self) {
        self.known.another_made_it = true;
        self.writes.pending.retain(|write| write.base.is_some());
        self.writes.own = None;
    }

    /// From when on a Lease may be made after the known one was deleted. `told`: the watch told its
    /// last state.
    pub(super) fn free_after_deletion(&self, now: Moment, told: bool) -> Moment {
        match &self.known.observation {
            Observation::Present { lease, mine, jitter, .. }
                if self.config.wait_after_deletion() =>
            {
                if told && (*mine || lease.record.is_free())
                    || *mine && self.is_undisputed(now, &lease.record)
                {
                    now
                } else if told {
                    runs_out(&self.known.observation, &self.config).unwrap_or(now)
                } else {
                    // Before the deletion the holder may have renewed unseen, or another process
                    // may have taken the lease: at the latest now.
                    let own = self.config.lease_duration();
                    let patience = lease.record.patience(own, self.config.foreign_lease_cap());
                    now.after(patience.max(own)).after(*jitter)
                }
            }
            _ => now,
        }
    }

    /// Records the last state of a Lease that is already known to be gone. The wait continues, and
    /// a record of another process that was not seen before may extend it.
    pub(super) fn note_gone(&mut self, now: Moment, free_at: Moment, last: StoredLease) {
        let known = self.known.gone.as_ref().map(|known| &known.record);
        let unseen = known != Some(&last.record)
            && !self.is_own(now, &last)
            && !last.record.is_free()
            && !self
                .writes
                .pending
                .iter()
                .any(|write| write.record == last.record && !self.is_outlived(now, write));
        if unseen {
            self.writes.pending.clear();
            self.writes.own = None;
        }
        if unseen && self.config.wait_after_deletion() {
            let patience =
                last.record.patience(self.config.lease_duration(), self.config.foreign_lease_cap());
            let draw = self.draw();
            let jitter = self.config.turn(|jitter| fraction(jitter, draw));
            self.known.observation =
                Observation::Absent { free_at: free_at.max(now.after(patience).after(jitter)) };
        }
        self.known.gone = Some(last);
    }

    /// The maker of an unseen Lease may act until this moment. Its duration was not seen either, so
    /// one lease of this candidate counts.
    pub(super) fn unseen_may_act_until(&self, now: Moment) -> Moment {
        now.after(self.config.lease_duration()).after(self.config.takeover_jitter())
    }
}
