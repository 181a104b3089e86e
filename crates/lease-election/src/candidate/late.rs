//! Late: how a candidate whose acquisitions are applied too late lets the others go first.
//! A late acquisition brings no term, or one without a renewal. The candidate repeats the first at
//! once. From the second on it yields: each late write restarts the others' wait, without end.

use super::state::{Candidate, Late, Role};
use crate::clock::Moment;
use crate::config::MAX_RANK;

impl Candidate {
    /// Records that an acquisition was applied, but its hold has expired. `vacant_since`: since
    /// when the lease was vacant before it.
    pub(super) fn note_late(&mut self, now: Moment, vacant_since: Moment) {
        self.late.vacant_since.get_or_insert(vacant_since);
        self.late.in_a_row = self.late.in_a_row.saturating_add(1);
        // A grant makes no other candidate wait. Where no controller elects, no grants exist.
        if self.late.in_a_row > 1 && !self.is_elected() {
            self.let_others_go_first(now);
        }
    }

    /// Yields for the longest wait of the others. It begins when a polling candidate has seen this
    /// write, and covers a lease, the last rank's turn and one request.
    fn let_others_go_first(&mut self, now: Moment) {
        let config = &self.config;
        let last_turn = config.takeover_jitter() * (u32::from(MAX_RANK) + 1);
        let seen = now.after(config.retry_period() + config.pace());
        let others = seen.after(config.lease_duration()).after(last_turn);
        self.late.not_before = Some(others.after(config.request_timeout()));
    }

    /// Records that a renewal landed after its term: it restarts the others' wait.
    pub(super) fn note_late_renewal(&mut self, now: Moment) {
        if self.late.not_before.is_some() {
            self.let_others_go_first(now);
        }
    }

    /// Records that a term begins, whether or not it can renew: the lease is no longer vacant.
    pub(super) fn note_term(&mut self) {
        self.late.vacant_since = None;
    }

    /// Records that a term expired. A term without a renewal counts as late.
    pub(super) fn note_short_term(&mut self) {
        if let Role::Leading(hold) = &self.role
            && !hold.renewed
        {
            let over = hold.until;
            self.note_late(over, over);
        }
    }

    /// Stops yielding: a renewal succeeded, or another process wrote the Lease.
    pub(super) fn forget_late(&mut self) {
        self.late = Late::default();
    }

    /// Stops yielding, but keeps `vacant_since`: this candidate's record was released or is gone,
    /// and no other candidate waits for it.
    pub(super) fn forget_late_writes(&mut self) {
        (self.late.in_a_row, self.late.not_before) = (0, None);
    }

    /// Since when the lease was vacant before the first late acquisition.
    pub(super) fn was_vacant_since(&self) -> Option<Moment> {
        self.late.vacant_since
    }

    /// When this candidate may acquire again, out of politeness.
    pub(super) fn late_until(&self) -> Moment {
        self.late.not_before.unwrap_or_default()
    }
}
