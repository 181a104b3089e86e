//! Times: when the next attempt is due, and the time that a record states.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::state::{Candidate, Role};
use crate::clock::Moment;
use crate::draws::{draw, fraction};
use crate::error::StoreError;
use crate::record::to_micros;

/// How far the times that are written may run ahead of the wall clock.
const FARTHEST_AHEAD: SignedDuration = SignedDuration::from_hours(24);

impl Candidate {
    /// When to try again after so many failures in a row: a leader at its pace, all others soon and
    /// then ever more slowly, and all no sooner than the server asked for.
    pub(super) fn next_attempt(
        &mut self,
        now: Moment,
        sent: Moment,
        error: &StoreError,
        failures: u32,
    ) -> Moment {
        let pace = self.config.pace();
        let asked = error.retry_after().unwrap_or_default();
        if !asked.is_zero() {
            self.silent_until =
                self.silent_until.max(now.after(asked.min(self.config.lease_duration())));
        }
        match &self.role {
            Role::Leading(tenure) => {
                // One last attempt before the end, whatever was asked for.
                let last = tenure.until.before(self.config.request_timeout());
                sent.after(pace).max(now.after(asked).min(last))
            }
            Role::Leaving | Role::Standby => {
                // One fault must not cost a hand-over half a second: from an eighth of the pace to
                // four times the pace; of a release, which has the time of two
                // requests, from a tenth of a second at most to eight times that.
                let (least, most) = match self.role {
                    Role::Leaving => ((pace / 8).min(Duration::from_millis(100)), 3),
                    _ => (pace / 8, 5),
                };
                let doubled = least.saturating_mul(1 << failures.saturating_sub(1).min(most));
                let draw = self.draw();
                let wait = doubled.saturating_add(fraction(doubled / 4, draw));
                sent.after(wait).max(self.silent_until)
            }
        }
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
        match self.last_time {
            // A clock that was out by more than that for a moment is not followed for ever.
            Some(last) if last.as_second() >= wall.as_second() && !ahead(last) => {
                last.checked_add(SignedDuration::from_secs(1)).unwrap_or(Timestamp::MAX)
            }
            _ => wall,
        }
    }

    pub(super) fn draw(&mut self) -> u64 {
        draw(&mut self.random)
    }
}
