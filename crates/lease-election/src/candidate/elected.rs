//! What a candidate knows beside the Lease where the server's controller elects, or may: whether
//! that is so, and what it asks for.

use jiff::{SignedDuration, Timestamp};

use super::state::{Candidate, Role};
use super::{Manner, News};
use crate::clock::Moment;
use crate::decide::coordinated::{
    Claim, SILENCE, SILENCE_UNTOUCHED, decide_after_grants, decide_alone, decide_coordinated,
    is_grant, is_untouched, prefers_another,
};
use crate::decide::{Step, runs_out};
use crate::observation::Observation;
use crate::record::{Marks, Record, StoredLease, to_micros};

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

    /// Whether a grant is given back because this elector is not to lead: not while its
    /// LeaseCandidate stands, because the controller would grant it again. `None` where nobody
    /// grants.
    pub(super) fn declines_grant(&self) -> Option<bool> {
        match self.grants.manner {
            Manner::Free => None,
            Manner::Elected { stands: true, .. } => Some(false),
            Manner::Elected { .. } | Manner::Alone => Some(self.is_granted()),
        }
    }

    /// Whether others may see a controller, or this elector does: then what was granted is nobody's
    /// to take.
    pub(super) fn is_coordinated(&self) -> bool {
        self.grants.manner != Manner::Free
    }

    /// Whether the lease is got by grants alone.
    pub(super) fn is_elected(&self) -> bool {
        matches!(self.grants.manner, Manner::Elected { .. }) && !self.grants.unelected
    }

    /// Whether these are one record with other notes of the controller.
    pub(super) fn differs_in_notes(&self, one: &Record, other: &Record) -> bool {
        self.is_coordinated() && one.differs_in_notes_alone(other)
    }

    /// Whether the controller wrote this, and nobody has renewed it.
    pub(super) fn is_grant(record: &Record) -> bool {
        is_grant(record)
    }

    /// The record that claims what was granted. What the controller wrote stays: only it counts the
    /// changes of a holder that it chooses.
    pub(super) fn claim(&self, held: &Record, wall: Timestamp) -> Option<Record> {
        let is_ours = self.is_coordinated() && held.holder == self.config.identity();
        (is_ours && is_grant(held)).then(|| Record {
            lease_duration_seconds: self.config.lease_seconds(),
            acquire_time: Some(wall),
            renew_time: Some(wall),
            ..held.clone()
        })
    }

    /// Keeps the controller's note on a record that gives the lease back: who elects without a
    /// controller sees by it that there may be one; and who is next is for that one to say.
    pub(super) fn keep_notes(&self, held: &Record, released: Record) -> Record {
        if !self.is_coordinated() || held.strategy.is_empty() {
            return released;
        }
        Record { strategy: held.strategy.clone(), successor: String::new(), ..released }
    }

    /// There is no Lease from now on.
    pub(super) fn note_end(&mut self, now: Moment) {
        self.grants.went = now;
    }

    /// The server's controller wrote which strategy counts, or whom it prefers, beside a record
    /// that stays in force.
    pub(super) fn noted(&mut self, now: Moment, lease: StoredLease) -> News {
        self.note_hand(now, &lease.record);
        if let Observation::Present { lease: known, mine, .. } = &mut self.known.observation {
            if *mine {
                self.writes.own = Some(lease.record.clone());
            }
            *known = lease;
            self.known.changes = self.known.changes.wrapping_add(1);
        }
        if self.is_leading() && self.is_unpreferred() { News::Unpreferred } else { News::Nothing }
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
