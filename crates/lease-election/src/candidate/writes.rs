//! Writes: the writes that may still turn out to be applied, and the time in the next one.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::state::{Candidate, Role};
use super::{Purpose, Write};
use crate::clock::Moment;
use crate::observation::Observation;
use crate::record::{Record, to_micros};

/// The candidate remembers this many writes. If an older one lands, it counts as another process's
/// and is waited for.
pub(super) const MAX_PENDING: usize = 64;

/// How far written times may run ahead of the wall clock.
const FARTHEST_AHEAD: SignedDuration = SignedDuration::from_hours(24);

/// The wait from one release outside a term to the next.
const DECLINES: Duration = Duration::from_secs(1);

impl Candidate {
    /// Prepares a write. From here on its outcome is unknown.
    pub(crate) fn begin_write(&mut self, now: Moment, wall: Timestamp, purpose: Purpose) -> Write {
        self.writes.serial = self.writes.serial.saturating_add(1);
        let wall = self.next_time(now, wall);
        if purpose == Purpose::Release {
            // From here on the release may be applied, whatever the answer, and another process may
            // hold the lease.
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
                // A release outside a term names no successor: the named one may be gone.
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

    /// Remembers a write whose outcome is unknown.
    pub(super) fn remember(&mut self, write: &Write) {
        if self.writes.pending.len() >= MAX_PENDING {
            // A refused write is the least likely to land.
            let least = self.writes.pending.iter().position(|write| write.refused).unwrap_or(0);
            self.writes.pending.remove(least);
        }
        self.writes.pending.push(write.clone());
    }

    /// Records that the server did not apply the write. A copy of it in the network may still land:
    /// the candidate takes no step because of that, but recognizes the copy.
    pub(super) fn note_refusal(&mut self, write: &Write) {
        for pending in
            self.writes.pending.iter_mut().filter(|pending| pending.serial == write.serial)
        {
            pending.refused = true;
        }
    }

    /// Whether a create is too old to count as its sender's own: more than a lease has passed since
    /// it was sent, or since the Lease was last known absent. Meanwhile another process may have
    /// made the Lease, led, and lost it to a deletion. A paused process or a suspended machine
    /// counts no request time-out.
    pub(super) fn is_outlived(&self, now: Moment, write: &Write) -> bool {
        let known =
            if self.is_missing() { write.sent.min(self.known.absent_at) } else { write.sent };
        write.base.is_none()
            && self.config.wait_after_deletion()
            && now.since(known) > self.config.lease_duration()
    }

    /// The time to write: the wall clock's, but in a later whole second than the last write that
    /// counts. client-go sees a change only in whole seconds: a leader that renews more often, or
    /// whose wall clock is set back, would look dead to it. Of several writes on one version one is
    /// applied: the failed ones must not advance the time, or it runs ahead. Under a grant the time
    /// is no earlier than the server's clock, or the controller finds the lease expired.
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
            // A wall clock that was once further ahead must not bind all later writes.
            Some(last) if last.as_second() >= wall.as_second() && !ahead(last) => {
                last.checked_add(SignedDuration::from_secs(1)).unwrap_or(Timestamp::MAX)
            }
            _ => wall,
        }
    }
}
