//! Remains: work that outlived its term, and when nothing of it is left.

use std::time::Duration;

use super::state::{Candidate, Remains, Role};
use crate::clock::Moment;
use crate::observation::Observation;

impl Candidate {
    /// Ends the role: the work of every term is gone. The protocol may not have seen the reason.
    pub(crate) fn abdicate(&mut self, now: Moment) {
        if self.deadline().is_some_and(|until| now >= until) {
            self.note_short_term();
        }
        if self.is_leading() || self.remains == Remains::Work {
            self.drop_work(now);
        }
        self.role = Role::Standby;
    }

    /// Records that the work panicked or was dropped. The term may go on, for the sake of the
    /// Lease.
    pub(crate) fn drop_work(&mut self, now: Moment) {
        self.remains = Remains::Requests(now.after(self.config.stop_margin()));
    }

    /// Whether the known record is this elector's own, although it neither leads nor is about to
    /// release it. A failed release left it, or an acquisition that was found too late for a term.
    /// Others would wait for it to expire. (In a coordinated election it is a grant, and given back
    /// as one.)
    pub(crate) fn is_left_behind(&self) -> bool {
        self.role == Role::Standby
            && self.config.release_on_stop()
            && !self.is_granted()
            && matches!(&self.known.observation, Observation::Present { lease, mine: true, .. } if !lease.record.is_free())
    }

    /// Whether the known record is this elector's own release.
    pub(crate) fn has_given_back(&self) -> bool {
        matches!(&self.known.observation, Observation::Present { lease, mine: true, .. } if lease.record.is_free())
    }

    /// When its LeaseCandidate may stand again, if it may not now. The controller grants nothing to
    /// a holder, so a leader's LeaseCandidate may stand.
    pub(crate) fn may_stand_from(&self, now: Moment) -> Option<Moment> {
        Some(self.clear_from()).filter(|from| !self.is_leading() && now < *from)
    }

    /// When nothing that earlier work sent can land any more: one stop margin after the end of work
    /// that outlived its term (A4). Before that this candidate neither releases the lease nor leads
    /// again.
    pub(crate) fn clear_from(&self) -> Moment {
        match self.remains {
            Remains::Nothing => Moment::default(),
            Remains::Work => Moment::from_origin(Duration::MAX),
            Remains::Requests(until) => until,
        }
    }
}
