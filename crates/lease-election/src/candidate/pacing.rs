//! Pacing: when the next request is due, after failures, and where the server asks to be left alone.

use std::time::Duration;

use super::state::{Candidate, Role};
use crate::clock::Moment;
use crate::draws::fraction;
use crate::error::StoreError;

/// When requests are due.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Pacing {
    pub(super) must_read: bool,
    pub(super) read_not_before: Moment,
    pub(super) write_not_before: Moment,
    /// Until then the server asked to be left alone, and has answered nothing since.
    pub(super) silent_until: Moment,
    /// After a lease was declined.
    pub(super) decline_not_before: Moment,
    pub(super) last_heard: Moment,
    /// Failed reads in a row.
    pub(super) failed_reads: u32,
    /// Since a write was last seen to succeed, one's own or another's.
    pub(super) failed_writes: u32,
}

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
            self.pacing.silent_until =
                self.pacing.silent_until.max(now.after(asked.min(self.config.lease_duration())));
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
                sent.after(wait).max(self.pacing.silent_until)
            }
        }
    }
}
