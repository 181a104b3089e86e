//! Known: what is known of the Lease, and for how long its absence is believed: another may have
//! made it, and led, and it was deleted again, all of it unseen.

use super::state::Candidate;
use crate::clock::Moment;
use crate::observation::Observation;
use crate::record::StoredLease;

/// What is known of the Lease.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Known {
    pub(super) observation: Observation,
    /// How often the observation changed.
    pub(super) changes: u64,
    /// The version known is that of another record as well, which was known before.
    pub(super) reissued: bool,
    /// The last state known of the Lease that is gone: what is older is no news.
    pub(super) gone: Option<StoredLease>,
    /// Another may have made the Lease since it was seen to be absent: one was in the way, or
    /// nothing was heard for long.
    pub(super) another_made_it: bool,
    /// When there was no Lease for sure: by an answer that was asked for then, or by the news that
    /// it is gone.
    pub(super) absent_at: Moment,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            observation: Observation::Unknown,
            changes: 0,
            reissued: false,
            gone: None,
            another_made_it: false,
            absent_at: Moment::default(),
        }
    }
}

impl Candidate {
    /// Whether there is no Lease, as far as is known.
    pub(super) fn is_missing(&self) -> bool {
        matches!(self.known.observation, Observation::Absent { .. })
    }

    /// From when on another answer is asked for before anything is concluded from the absence of
    /// the Lease, if it is absent. Nothing but an answer tells that it still is, and before half a
    /// lease is over another is asked for, also by who stood still for so long.
    pub(super) fn missing_until(&self) -> Option<Moment> {
        self.is_missing().then(|| self.known.absent_at.after(self.config.lease_duration() / 2))
    }

    /// Whether the Lease was missing a whole lease before this answer, and nobody has said so
    /// since: it tells what is there now, and not what was meanwhile.
    pub(super) fn was_absent_too_long_ago(&self, now: Moment) -> bool {
        self.is_missing() && now.since(self.known.absent_at) > self.config.lease_duration()
    }

    /// What was missing too long ago may have been made by another, who led, and deleted again.
    /// What we sent before begins no term beside theirs.
    pub(super) fn doubt_absence(&mut self) {
        self.known.another_made_it = true;
        self.writes.pending.retain(|write| write.base.is_some());
        self.writes.own = None;
    }
}
