//! Elected: a candidate's rules where the API server's controller elects, or may elect.

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
    /// Sets how this candidate gets the lease. Returns whether it concludes that no controller
    /// elects.
    /// Only silence while its LeaseCandidate stands without a gap counts: in a gap the server,
    /// which runs the controller, is silent too. The conclusion holds until a controller is seen to
    /// elect, whatever happens to the connection or the LeaseCandidate.
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

    /// Whether the controller asks this elector to yield. The caller knows that the elector wrote
    /// the record.
    pub(crate) fn is_unpreferred(&self) -> bool {
        match &self.known.observation {
            Observation::Present { lease, .. } => {
                self.grants.manner != Manner::Free
                    && prefers_another(&lease.record, self.config.identity())
            }
            _ => false,
        }
    }

    /// Whether the record names this elector, although it does not lead.
    pub(crate) fn is_granted(&self) -> bool {
        self.grants.manner != Manner::Free
            && self.role == Role::Standby
            && matches!(&self.known.observation, Observation::Present { lease, mine, .. }
                if lease.record.holder == self.config.identity() && (*mine || is_grant(&lease.record)))
    }

    /// Whether a barred elector gives its grant back. Not while its LeaseCandidate stands: the
    /// controller would grant again. `None` where no controller grants.
    pub(super) fn declines_grant(&self) -> Option<bool> {
        match self.grants.manner {
            Manner::Free => None,
            Manner::Elected { stands: true, .. } => Some(false),
            Manner::Elected { .. } | Manner::Alone => Some(self.is_granted()),
        }
    }

    /// Whether this elector, or another, may see a controller. Then no candidate takes a grant that
    /// names another.
    pub(super) fn is_coordinated(&self) -> bool {
        self.grants.manner != Manner::Free
    }

    /// Whether only a grant brings the lease.
    pub(super) fn is_elected(&self) -> bool {
        matches!(self.grants.manner, Manner::Elected { .. }) && !self.grants.unelected
    }

    /// Whether the two records differ in nothing but the controller's notes.
    pub(super) fn differs_in_notes(&self, one: &Record, other: &Record) -> bool {
        self.is_coordinated() && one.differs_in_notes_alone(other)
    }

    /// The record that claims a grant. It keeps the controller's fields: only the controller counts
    /// the transitions to holders that it chooses.
    pub(super) fn claim(&self, held: &Record, wall: Timestamp) -> Option<Record> {
        let is_ours = self.is_coordinated() && held.holder == self.config.identity();
        (is_ours && is_grant(held)).then(|| Record {
            lease_duration_seconds: self.config.lease_seconds(),
            acquire_time: Some(wall),
            renew_time: Some(wall),
            ..held.clone()
        })
    }

    /// Keeps the controller's strategy on a release: it tells a candidate without a controller that
    /// one may exist. The controller, not this elector, chooses the successor.
    pub(super) fn keep_notes(&self, held: &Record, released: Record) -> Record {
        if !self.is_coordinated() || held.strategy.is_empty() {
            return released;
        }
        Record { strategy: held.strategy.clone(), successor: String::new(), ..released }
    }

    /// Records that the Lease is gone.
    pub(super) fn note_end(&mut self, now: Moment) {
        self.grants.went = now;
    }

    /// Handles a controller's note (strategy or preferred holder) on a record that stays in force.
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

    /// Whether the elector may release a record under which it does not lead. A grant waits while
    /// the leader before it may act: candidates that elect alone take a free Lease at once.
    pub(crate) fn may_decline(&self, now: Moment) -> bool {
        let is_own = matches!(&self.known.observation, Observation::Present { mine: true, .. });
        self.is_granted() && (is_own || now >= self.claim_from())
    }

    /// When this candidate concludes that no controller elects, if it sees no election until then.
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
            // Renewals and new holders do not count as an election: those leaders elected alone.
            // The conclusion matters only once they are gone.
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

    /// The next step, by the take-over rule of the present manner.
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

    /// Learns about a controller from a new record, or from new notes on the known one.
    pub(super) fn note_hand(&mut self, now: Moment, record: &Record) {
        let known = match &self.known.observation {
            Observation::Present { lease, .. } => Some(&lease.record),
            _ => None,
        };
        let is_new = |note: fn(&Record) -> &String| {
            !note(record).is_empty() && known.is_none_or(|known| note(known) != note(record))
        };
        // An elector that elects alone writes no notes, and an elected one keeps only those it
        // found: a new note is a controller's.
        let noted = is_new(|record| &record.strategy) || is_new(|record| &record.preferred_holder);
        if is_untouched(record) && !known.is_some_and(is_untouched) {
            self.grants.untouched_from = now;
        }
        if is_grant(record) || noted && self.grants.manner != Manner::Free {
            self.grants.unelected = false;
            self.grants.stands_from = now;
        }
    }

    /// Whether the record under which this elector leads carries a controller's notes. Then the
    /// controller chooses the next leader.
    pub(crate) fn is_noted(&self) -> bool {
        matches!(&self.known.observation, Observation::Present { lease, .. }
            if lease.record.holder == self.config.identity() && !lease.record.strategy.is_empty())
    }

    /// Remembers the server's clock from a grant to this elector.
    pub(super) fn note_servers_time(&mut self, now: Moment, grant: &Record) {
        if self.grants.manner != Manner::Free && grant.holder == self.config.identity() {
            self.grants.servers = grant.renew_time.map(|time| (time, now));
        }
    }

    /// The server's time now, by which the controller judges whether this lease has expired.
    pub(super) fn servers_time(&self, now: Moment) -> Option<Timestamp> {
        let (time, seen) = self.grants.servers?;
        let elapsed = SignedDuration::try_from(now.since(seen)).ok()?;
        // Rounded up: the server's clock was past the grant's time when the elector saw it.
        let time =
            time.checked_add(elapsed).ok()?.checked_add(SignedDuration::from_secs(1)).ok()?;
        Some(to_micros(time))
    }

    /// The fields for which the marks of this elector's writes vouch.
    pub(crate) fn marks(&self) -> Marks {
        if self.grants.manner == Manner::Free { Marks::All } else { Marks::AllButNotes }
    }
}
