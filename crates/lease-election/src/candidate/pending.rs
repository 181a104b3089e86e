//! Pending: the writes that may turn out to have been applied: how many are remembered, and for how
//! long a create is one's own.

use super::Write;
use super::state::Candidate;
use crate::clock::Moment;

/// So many are remembered; an older one that is applied after all is then taken for a stranger's,
/// and waited for.
pub(super) const MAX_PENDING: usize = 64;

impl Candidate {
    /// It is sent; from here on its fate is unknown.
    pub(super) fn remember(&mut self, write: &Write) {
        if self.pending.len() >= MAX_PENDING {
            // Of what was refused the least is to be expected.
            let least = self.pending.iter().position(|write| write.refused).unwrap_or(0);
            self.pending.remove(least);
        }
        self.pending.push(write.clone());
    }

    /// The server says that it did not apply it. What something on its way sent twice may be
    /// applied all the same: nothing is done because of that, and it is known when it is seen.
    pub(super) fn note_refusal(&mut self, write: &Write) {
        for pending in self.pending.iter_mut().filter(|pending| pending.serial == write.serial) {
            pending.refused = true;
        }
    }

    /// Whether it is so long ago that the Lease was known to be missing, or a create was sent, that
    /// another may have made it before ours landed, and led, and it was deleted again: a
    /// process that stood still, or a machine that slept, counts no request time-out. What the
    /// create made is another's then.
    pub(super) fn is_outlived(&self, now: Moment, write: &Write) -> bool {
        let known = if self.is_missing() { write.sent.min(self.absent_at) } else { write.sent };
        write.base.is_none()
            && self.config.wait_after_deletion()
            && now.since(known) > self.config.lease_duration()
    }
}
