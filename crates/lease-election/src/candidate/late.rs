//! Late: acquisitions that bring no term, or one that cannot be renewed, because what this
//! candidate writes is applied too late. One is repeated at once. Who is late again lets the others
//! go first: each of its writes, whenever it lands, begins their wait anew, and they would wait for
//! ever.

use super::state::{Candidate, Role};
use crate::clock::Moment;
use crate::config::MAX_RANK;

/// The acquisitions in a row that came too late.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Late {
    in_a_row: u32,
    not_before: Option<Moment>,
    /// Since when the lease had been anybody's before the first of them after the last term.
    vacant_since: Option<Moment>,
}

impl Candidate {
    /// An acquisition is found to have been applied when its hold had run out; the lease had been
    /// anybody's since then.
    pub(super) fn note_late(&mut self, now: Moment, vacant_since: Moment) {
        self.late.vacant_since.get_or_insert(vacant_since);
        self.late.in_a_row = self.late.in_a_row.saturating_add(1);
        // Who is granted the lease keeps nobody waiting. Where nobody elects there are no grants.
        if self.late.in_a_row > 1 && !self.is_elected() {
            self.let_others_go_first(now);
        }
    }

    /// The others' wait, of the last rank's too, from when also those who poll have seen what this
    /// one has, and time for one of them to write.
    fn let_others_go_first(&mut self, now: Moment) {
        let config = &self.config;
        let last_turn = config.takeover_jitter() * (u32::from(MAX_RANK) + 1);
        let seen = now.after(config.retry_period() + config.pace());
        let others = seen.after(config.lease_duration()).after(last_turn);
        self.late.not_before = Some(others.after(config.request_timeout()));
    }

    /// A renewal of a term that is over has landed.
    pub(super) fn note_late_renewal(&mut self, now: Moment) {
        if self.late.not_before.is_some() {
            self.let_others_go_first(now);
        }
    }

    /// A term begins, in time for its first renewal or not: the lease is nobody's no more.
    pub(super) fn note_term(&mut self) {
        self.late.vacant_since = None;
    }

    /// A term has run out. Who could not renew it once was as good as late.
    pub(super) fn note_short_term(&mut self) {
        if let Role::Leading(tenure) = &self.role
            && !tenure.renewed
        {
            let over = tenure.until;
            self.note_late(over, over);
        }
    }

    /// It renews, or another was at the Lease.
    pub(super) fn is_late_no_more(&mut self) {
        self.late = Late::default();
    }

    /// What it wrote is given back, or gone: nobody waits for that any more.
    pub(super) fn is_late_in_nobodys_way(&mut self) {
        (self.late.in_a_row, self.late.not_before) = (0, None);
    }

    /// Since when the lease had been anybody's before it was late for the first time.
    pub(super) fn was_vacant_since(&self) -> Option<Moment> {
        self.late.vacant_since
    }

    /// From when on it may acquire again, out of politeness.
    pub(super) fn late_until(&self) -> Moment {
        self.late.not_before.unwrap_or_default()
    }
}
