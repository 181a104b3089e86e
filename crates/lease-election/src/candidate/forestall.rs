//! Forestall: how a candidate that must not lead cancels an acquisition of unknown outcome.

use super::state::{Candidate, Role};
use super::{Purpose, Write};
use crate::clock::Moment;
use crate::decide::Step;
use crate::observation::Observation;

impl Write {
    /// Whether this is an acquisition that may still be applied. A refused one does not count.
    pub(super) fn is_awaited(&self) -> bool {
        self.purpose == Purpose::Acquire && !self.refused
    }
}

impl Candidate {
    /// Whether a barred elector releases its grant, or what it may have acquired.
    pub(super) fn declines(&self, now: Moment) -> bool {
        let has_what_it_may_give = || {
            self.declines_grant().unwrap_or_else(|| {
                self.is_left_behind() || !self.has_given_back() && self.may_forestall(now)
            })
        };
        self.barred && self.config.release_on_stop() && has_what_it_may_give()
    }

    /// Whether an acquisition of unknown outcome may have been applied.
    pub(crate) fn may_have_acquired(&self) -> bool {
        self.writes.pending.iter().any(Write::is_awaited)
    }

    /// Whether a candidate that is stopped, or under maintenance, should write a free record. It
    /// may in three cases:
    /// - An unanswered acquisition has the known version as its condition. The free record has the
    ///   same right and the same condition, so at most one of the two is applied.
    /// - Its acquisition was applied too late for a term.
    /// - The take-over rule permits a write now, and an acquisition is unanswered: the Lease looks
    ///   as before it, under another version.
    ///
    /// Where the Lease is absent, no version conditions the write, and a free Lease might appear
    /// beside a new leader. A grant is given back by another rule.
    pub(crate) fn may_forestall(&self, now: Moment) -> bool {
        let is_known = self.known.observation != Observation::Unknown && !self.pacing.must_read;
        if !is_known
            || !self.config.release_on_stop()
            || self.role != Role::Standby
            || self.is_granted()
        {
            return false;
        }
        let Observation::Present { lease, .. } = &self.known.observation else { return false };
        let is_awaited =
            |write: &Write| write.is_awaited() && write.base.as_ref() == Some(&lease.version);
        let is_late = self.is_left_behind() && now >= self.clear_from();
        let may_take = self.step(now) == Step::TakeOver && now >= self.clear_from();
        is_late
            || self.writes.pending.iter().any(is_awaited)
            || may_take && self.may_have_acquired()
    }

    /// The server asked for no requests until this moment.
    pub(crate) fn silent_until(&self) -> Moment {
        self.pacing.silent_until
    }
}
