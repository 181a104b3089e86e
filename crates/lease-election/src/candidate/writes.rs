//! Writes: what this candidate sent: the writes that may turn out to have been applied, how many are
//! remembered, for how long a create is one's own, and the time that the next one states.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::state::{Candidate, Role};
use super::{Purpose, Write};
use crate::clock::Moment;
use crate::observation::Observation;
use crate::record::{Record, to_micros};

/// So many are remembered; an older one that is applied after all is then taken for a stranger's,
/// and waited for.
pub(super) const MAX_PENDING: usize = 64;

/// How far the times that are written may run ahead of the wall clock.
const FARTHEST_AHEAD: SignedDuration = SignedDuration::from_hours(24);

/// From one lease that is declined to the next.
const DECLINES: Duration = Duration::from_secs(1);

/// What was written, or may have been.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Writes {
    /// The first part of every write's id: no other elector has it.
    pub(super) writer: String,
    pub(super) serial: u64,
    /// Writes that may or may not have been applied, or were refused, oldest first.
    pub(super) pending: Vec<Write>,
    /// The record of our last write that is known to have been applied, unless another wrote after
    /// it.
    pub(super) own: Option<Record>,
    /// The time in our last write that was applied, or of which a part may have been.
    pub(super) last_time: Option<Timestamp>,
    /// Until then nobody else can have taken the lease that our last write got.
    pub(super) undisputed_until: Moment,
}

impl Writes {
    pub(super) fn new(writer: String) -> Self {
        Self {
            writer,
            serial: 0,
            pending: Vec::new(),
            own: None,
            last_time: None,
            undisputed_until: Moment::default(),
        }
    }
}

impl Candidate {
    /// Prepares a write; from here on its fate is unknown.
    pub(crate) fn begin_write(&mut self, now: Moment, wall: Timestamp, purpose: Purpose) -> Write {
        self.writes.serial = self.writes.serial.saturating_add(1);
        let wall = self.next_time(now, wall);
        if purpose == Purpose::Release {
            // Whatever is answered, it may have been given back from here on, and be another's.
            self.writes.undisputed_until = Moment::default();
            if self.role == Role::Standby {
                self.pacing.decline_not_before = now.after(DECLINES);
            }
        }
        let held = match &self.known.observation {
            Observation::Present { lease, .. } => Some(lease),
            _ => None,
        };
        let serial = self.writes.serial;
        let record = self.record(purpose, held.map(|lease| &lease.record), wall);
        let record = record.marked(&self.writes.writer, serial, self.marks());
        let base = held.map(|lease| lease.version.clone());
        let write = Write { serial, purpose, base, record, sent: now, refused: false };
        self.remember(&write);
        write
    }

    /// The record to write over `held`, without its mark.
    fn record(&self, purpose: Purpose, held: Option<&Record>, wall: Timestamp) -> Record {
        match (purpose, held) {
            (Purpose::Renew, Some(held)) => Record { renew_time: Some(wall), ..held.clone() },
            (Purpose::Release, Some(held)) => {
                // What is given back after its term names nobody: who was named then may be gone.
                let successor = if self.role == Role::Standby { "" } else { &self.successor };
                let released = Record { successor: successor.to_owned(), ..held.released(wall) };
                self.keep_notes(held, released)
            }
            (_, held) => held.and_then(|held| self.claim(held, wall)).unwrap_or_else(|| Record {
                holder: self.config.identity().to_owned(),
                lease_duration_seconds: self.config.lease_seconds(),
                acquire_time: Some(wall),
                renew_time: Some(wall),
                leader_transitions: held.map_or(0, |held| held.transitions().saturating_add(1)),
                ..Record::default()
            }),
        }
    }

    /// It is sent; from here on its fate is unknown.
    pub(super) fn remember(&mut self, write: &Write) {
        if self.writes.pending.len() >= MAX_PENDING {
            // Of what was refused the least is to be expected.
            let least = self.writes.pending.iter().position(|write| write.refused).unwrap_or(0);
            self.writes.pending.remove(least);
        }
        self.writes.pending.push(write.clone());
    }

    /// The server says that it did not apply it. What something on its way sent twice may be
    /// applied all the same: nothing is done because of that, and it is known when it is seen.
    pub(super) fn note_refusal(&mut self, write: &Write) {
        for pending in
            self.writes.pending.iter_mut().filter(|pending| pending.serial == write.serial)
        {
            pending.refused = true;
        }
    }

    /// Whether it is so long ago that the Lease was known to be missing, or a create was sent, that
    /// another may have made it before ours landed, and led, and it was deleted again: a
    /// process that stood still, or a machine that slept, counts no request time-out. What the
    /// create made is another's then.
    pub(super) fn is_outlived(&self, now: Moment, write: &Write) -> bool {
        let known =
            if self.is_missing() { write.sent.min(self.known.absent_at) } else { write.sent };
        write.base.is_none()
            && self.config.wait_after_deletion()
            && now.since(known) > self.config.lease_duration()
    }

    /// The time to write: the wall clock's, and at least a whole second later than in our last
    /// write that counts: of several on one version one is applied, and those that fail must
    /// not move the time on, or it runs ahead. client-go sees a record change by its whole
    /// seconds alone, so that a leader whose wall clock was set back, or that renews more often,
    /// would look dead to a Go candidate. Under a grant also no earlier than it is by the
    /// server's clock, or else the controller finds the lease run out.
    pub(super) fn next_time(&self, now: Moment, wall: Timestamp) -> Timestamp {
        let own = to_micros(wall);
        let farthest = own.checked_add(FARTHEST_AHEAD).unwrap_or(Timestamp::MAX);
        let wall = match self.servers_time(now) {
            Some(servers) if servers <= farthest => own.max(servers),
            _ => own,
        };
        let ahead =
            |last: Timestamp| wall < last.checked_sub(FARTHEST_AHEAD).unwrap_or(Timestamp::MIN);
        match self.writes.last_time {
            // A clock that was out by more than that for a moment is not followed for ever.
            Some(last) if last.as_second() >= wall.as_second() && !ahead(last) => {
                last.checked_add(SignedDuration::from_secs(1)).unwrap_or(Timestamp::MAX)
            }
            _ => wall,
        }
    }
}
