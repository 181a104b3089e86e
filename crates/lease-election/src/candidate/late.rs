//! Late: acquisitions that were applied too late for a term. One is repeated at once; who is late again lets the others, whose waits it begins anew each time, go first.

use super::{Candidate, Manner};
use crate::clock::Moment;

/// The acquisitions in a row that came too late.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Late {
    in_a_row: u32,
    not_before: Option<Moment>,
}

impl Candidate {
    /// An acquisition is found to have been applied when its hold had run out.
    pub(super) fn note_late(&mut self, now: Moment) {
        self.late.in_a_row = self.late.in_a_row.saturating_add(1);
        // Who elects among granted ones keeps nobody waiting.
        if self.late.in_a_row > 1 && !matches!(self.manner, Manner::Elected { .. }) {
            let config = &self.config;
            let others = now.after(config.lease_duration()).after(config.takeover_jitter());
            self.late.not_before = Some(others.after(config.renew_interval()));
        }
    }

    /// It leads, or another was at the Lease.
    pub(super) fn is_late_no_more(&mut self) {
        self.late = Late::default();
    }

    /// From when on it may acquire again, out of politeness.
    pub(super) fn late_until(&self) -> Moment {
        self.late.not_before.unwrap_or(super::ORIGIN)
    }
}
