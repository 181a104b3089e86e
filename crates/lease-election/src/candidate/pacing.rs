//! Pacing: when the next request is due, after failures and when the server asks for a pause.

use std::time::Duration;

use super::state::{Candidate, Role};
use crate::clock::Moment;
use crate::draws::fraction;
use crate::error::StoreError;

impl Candidate {
    /// When to try again after `failures` in a row. A leader keeps its pace; all others start with
    /// a short wait and double it. No candidate tries sooner than the server asked for.
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
            Role::Leading(hold) => {
                // The last attempt before the end of the term ignores what the server asked for.
                let last = hold.until.before(self.config.request_timeout());
                sent.after(pace).max(now.after(asked).min(last))
            }
            Role::Leaving | Role::Standby => {
                // One fault must not cost a hand-over half a second. A standby waits from an eighth
                // of the pace to four times the pace. A release has the time of two requests: it
                // waits from at most 100 ms to eight times that.
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
