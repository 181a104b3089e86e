//! Known: a candidate's knowledge of the Lease, and how long it believes that the Lease is absent.
//! Unseen, another process may make the Lease, lead, and lose it to a deletion.

use super::state::Candidate;
use crate::clock::Moment;
use crate::observation::Observation;
use crate::record::StoredLease;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Known {
    pub(super) observation: Observation,
    /// How often the observation changed.
    pub(super) changes: u64,
    /// The store issued the known version twice: for this record, and for one known before.
    pub(super) reissued: bool,
    /// The last known state of a deleted Lease: an older state is no news.
    pub(super) gone: Option<StoredLease>,
    /// Another process may have made the Lease since it was seen absent: a create conflicted, or
    /// the candidate heard nothing for too long.
    pub(super) another_made_it: bool,
    /// When the Lease was last certainly absent: the sending of the read that said so, or the news
    /// of the deletion.
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
}
