//! Missing: a Lease that was not there. That is believed for a while only: another may have made
//! it, and led, and it was deleted again, all of it unseen.

use super::state::Candidate;
use crate::clock::Moment;
use crate::observation::Observation;

impl Candidate {
    /// Whether there is no Lease, as far as is known.
    pub(super) fn is_missing(&self) -> bool {
        matches!(self.observation, Observation::Absent { .. })
    }

    /// From when on another answer is asked for before anything is concluded from the absence of
    /// the Lease, if it is absent. Nothing but an answer tells that it still is, and before half a
    /// lease is over another is asked for, also by who stood still for so long.
    pub(super) fn missing_until(&self) -> Option<Moment> {
        self.is_missing().then(|| self.absent_at.after(self.config.lease_duration() / 2))
    }

    /// Whether the Lease was missing a whole lease before this answer, and nobody has said so
    /// since: it tells what is there now, and not what was meanwhile.
    pub(super) fn was_absent_too_long_ago(&self, now: Moment) -> bool {
        self.is_missing() && now.since(self.absent_at) > self.config.lease_duration()
    }

    /// What was missing too long ago may have been made by another, who led, and deleted again.
    /// What we sent before begins no term beside theirs.
    pub(super) fn doubt_absence(&mut self) {
        self.another_made_it = true;
        self.pending.retain(|write| write.base.is_some());
        self.own = None;
    }
}
