//! What a candidate knows beside the Lease where the server's controller elects, or may: whether
//! that is so, and what it asks for.

use jiff::{SignedDuration, Timestamp};

use super::Manner;
use super::state::{Candidate, Role};
use crate::clock::Moment;
use crate::decide::coordinated::{
    Claim, SILENCE, SILENCE_UNTOUCHED, decide_after_grants, decide_alone, decide_coordinated,
    is_grant, is_untouched, prefers_another,
};
use crate::decide::{Step, runs_out};
use crate::observation::Observation;
use crate::record::{Marks, Record, to_micros};

impl Candidate {
    /// From now on the lease is got in this manner. Whether nobody is taken to elect: that is
    /// concluded while this candidate stands, without a gap, because the controller lives in
    /// the server that does not answer in one; and once concluded it counts until somebody is seen
    /// to elect, whatever becomes of the connection or the LeaseCandidate.
    pub(crate) fn arrange(&mut self, now: Moment, manner: Manner) -> bool {
        let stood = matches!(self.grants.manner, Manner::Elected { stands: true, .. });
        let stands = matches!(manner, Manner::Elected { stands: true, .. });
        self.grants.manner = manner;
        if stands && !stood {
            self.grants.stands_from = now;
        }
        self.grants.unelected |= self.silent_from().is_some_and(|from| now >= from);
        self.grants.unelected
    }

    /// Whether the server's controller asks this elector, which wrote the record, to make way.
    pub(crate) fn is_unpreferred(&self) -> bool {
        match &self.known.observation {
            Observation::Present { lease, .. } => {
                self.grants.manner != Manner::Free
                    && prefers_another(&lease.record, self.config.identity())
            }
            _ => false,
        }
    }

    /// Whether the record names this elector, which does not lead.
    pub(crate) fn is_granted(&self) -> bool {
        self.grants.manner != Manner::Free
            && self.role == Role::Standby
            && matches!(&self.known.observation, Observation::Present { lease, mine, .. }
                if lease.record.holder == self.config.identity() && (*mine || is_grant(&lease.record)))
    }

    /// Whether what this elector has, or may have of an acquisition, is given back because it is
    /// not to lead. A grant not while its LeaseCandidate stands: the controller would grant it
    /// again.
    pub(super) fn declines(&self, now: Moment) -> bool {
        let has_what_it_may_give = match self.grants.manner {
            Manner::Free => {
                self.is_left_behind() || !self.has_given_back() && self.may_forestall(now)
            }
            Manner::Elected { stands: true, .. } => false,
            Manner::Elected { .. } | Manner::Alone => self.is_granted(),
        };
        self.barred && self.config.release_on_stop() && has_what_it_may_give
    }

    /// Whether it may be given back that this elector does not lead under. A grant not while the
    /// one who led before it may act: candidates that elect by themselves would follow at once.
    pub(crate) fn may_decline(&self, now: Moment) -> bool {
        let is_own = matches!(&self.known.observation, Observation::Present { mine: true, .. });
        self.is_granted() && (is_own || now >= self.claim_from())
    }

    /// From when on nobody is taken to elect, if nobody is elected until then.
    fn silent_from(&self) -> Option<Moment> {
        if !matches!(self.grants.manner, Manner::Elected { stands: true, impatient: true }) {
            return None;
        }
        let (unled, silence) = match &self.known.observation {
            Observation::Unknown => return None,
            Observation::Absent { .. } => (self.grants.went, SILENCE),
            Observation::Present { lease, .. } if lease.record.holder == self.config.identity() => {
                return None;
            }
            // However often it is renewed and changes hands: those who lead so were not elected,
            // and it matters only when they go.
            Observation::Present { lease, .. } if is_untouched(&lease.record) => {
                (self.grants.untouched_from, SILENCE_UNTOUCHED)
            }
            Observation::Present { lease, since, .. } if lease.record.is_free() => {
                (*since, SILENCE)
            }
            Observation::Present { .. } => {
                (runs_out(&self.known.observation, &self.config)?, SILENCE)
            }
        };
        Some(unled.max(self.grants.stands_from).after(silence))
    }

    /// The take-over rule that counts now.
    pub(super) fn step(&self, now: Moment) -> Step {
        let claim = Claim {
            not_before: self.claim_from(),
            silent_from: if self.grants.unelected { None } else { self.silent_from() },
        };
        match self.grants.manner {
            Manner::Free => {
                decide_after_grants(&self.known.observation, &self.config, self.claim_from(), now)
            }
            Manner::Elected { .. } if !self.grants.unelected => {
                decide_coordinated(&self.known.observation, &self.config, claim, now)
            }
            Manner::Elected { .. } | Manner::Alone => {
                decide_alone(&self.known.observation, &self.config, claim, now)
            }
        }
    }

    /// What this record, which takes the place of the one known or of its notes, says of a
    /// controller.
    pub(super) fn note_hand(&mut self, now: Moment, record: &Record) {
        let known = match &self.known.observation {
            Observation::Present { lease, .. } => Some(&lease.record),
            _ => None,
        };
        let is_new = |note: fn(&Record) -> &String| {
            !note(record).is_empty() && known.is_none_or(|known| note(known) != note(record))
        };
        // Who elects alone writes no notes, and who was elected only those that he found.
        let noted = is_new(|record| &record.strategy) || is_new(|record| &record.preferred_holder);
        if is_untouched(record) && !known.is_some_and(is_untouched) {
            self.grants.untouched_from = now;
        }
        if is_grant(record) || noted && self.grants.manner != Manner::Free {
            self.grants.unelected = false;
            self.grants.stands_from = now;
        }
    }

    /// Whether a controller has left notes on the record under which this elector leads: who leads
    /// next is its to say then.
    pub(crate) fn is_noted(&self) -> bool {
        matches!(&self.known.observation, Observation::Present { lease, .. }
            if lease.record.holder == self.config.identity() && !lease.record.strategy.is_empty())
    }

    /// A grant to this elector tells what the server's clock says.
    pub(super) fn note_servers_time(&mut self, now: Moment, grant: &Record) {
        if self.grants.manner != Manner::Free && grant.holder == self.config.identity() {
            self.grants.servers = grant.renew_time.map(|time| (time, now));
        }
    }

    /// What the clock says by which the server's controller finds this elector's lease run out.
    pub(super) fn servers_time(&self, now: Moment) -> Option<Timestamp> {
        let (time, seen) = self.grants.servers?;
        let elapsed = SignedDuration::try_from(now.since(seen)).ok()?;
        // Up, because it was later than that when it was seen.
        let time =
            time.checked_add(elapsed).ok()?.checked_add(SignedDuration::from_secs(1)).ok()?;
        Some(to_micros(time))
    }

    /// What the marks of its writes vouch for.
    pub(crate) fn marks(&self) -> Marks {
        if self.grants.manner == Manner::Free { Marks::All } else { Marks::AllButNotes }
    }
}
