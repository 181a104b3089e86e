//! Remains: what may be left of the work of a term that was not wound up within it, and from when
//! on nothing is.

use std::time::Duration;

use super::state::{Candidate, Role};
use crate::clock::Moment;
use crate::observation::Observation;

/// What may be left of the work of all terms so far.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Remains {
    /// Each was wound up within its term, or long ago.
    Nothing,
    /// A term ended before its work did, and that may go on.
    Work,
    /// That work is gone; what it sent may land until then.
    Requests(Moment),
}

impl Candidate {
    /// No work is left of any term, however it ended: for a reason, maybe, that the protocol did
    /// not see.
    pub(crate) fn abdicate(&mut self, now: Moment) {
        if self.deadline().is_some_and(|until| now >= until) {
            self.note_short_term();
        }
        if self.is_leading() || self.remains == Remains::Work {
            self.break_off(now);
        }
        self.role = Role::Standby;
    }

    /// The work is gone, and was not wound up: it panicked, or was dropped. The term may go on, for
    /// the sake of the Lease.
    pub(crate) fn break_off(&mut self, now: Moment) {
        self.remains = Remains::Requests(now.after(self.config.stop_margin()));
    }

    /// Whether the record known is this elector's own, although it neither leads nor is about to
    /// give it back: a release that failed left it, or an acquisition that was found too late
    /// for a term. (Where the server's controller elects it is a grant, and given back as one.)
    /// Others would wait until it has run out.
    pub(crate) fn is_left_behind(&self) -> bool {
        self.role == Role::Standby
            && self.config.release_on_stop()
            && !self.is_granted()
            && matches!(&self.known.observation, Observation::Present { lease, mine: true, .. } if !lease.record.is_free())
    }

    /// Whether the record known is this elector's own, and gives the lease back.
    pub(crate) fn has_given_back(&self) -> bool {
        matches!(&self.known.observation, Observation::Present { lease, mine: true, .. } if lease.record.is_free())
    }

    /// From when on its LeaseCandidate may stand again, if it may not now. (Who holds the lease is
    /// granted none.)
    pub(crate) fn may_stand_from(&self, now: Moment) -> Option<Moment> {
        Some(self.clear_from()).filter(|from| !self.is_leading() && now < *from)
    }

    /// From when on nobody's work runs beside what the work of a term that was not wound up within
    /// it has sent: that may land for as long as the stop margin after that work is gone. Until
    /// then the lease is given back to nobody, and this candidate does not lead again.
    pub(crate) fn clear_from(&self) -> Moment {
        match self.remains {
            Remains::Nothing => Moment::default(),
            Remains::Work => Moment::from_origin(Duration::MAX),
            Remains::Requests(until) => until,
        }
    }
}
