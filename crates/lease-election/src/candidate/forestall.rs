//! Forestall: what a candidate that is not to lead any more may do about an acquisition of which it
//! does not know what became.

use super::state::{Candidate, Role};
use super::{Purpose, Write};
use crate::clock::Moment;
use crate::decide::Step;
use crate::observation::Observation;

impl Write {
    /// Whether it is an acquisition that may be applied yet. One that was refused is not waited
    /// for.
    pub(super) fn is_awaited(&self) -> bool {
        self.purpose == Purpose::Acquire && !self.refused
    }
}

impl Candidate {
    /// Whether what this elector has, or may have of an acquisition, is given back because it is
    /// not to lead.
    pub(super) fn declines(&self, now: Moment) -> bool {
        let has_what_it_may_give = || {
            self.declines_grant().unwrap_or_else(|| {
                self.is_left_behind() || !self.has_given_back() && self.may_forestall(now)
            })
        };
        self.barred && self.config.release_on_stop() && has_what_it_may_give()
    }

    /// Whether an acquisition may have been applied that is not known yet.
    pub(crate) fn may_have_acquired(&self) -> bool {
        self.writes.pending.iter().any(Write::is_awaited)
    }

    /// Whether a candidate that is stopped, or under maintenance, should write a free record: in
    /// the place of what the acquisition found that may still be applied, by the same right and
    /// on condition of the same version, so that only one of the two ever is; or over that
    /// acquisition, applied too late for a term; or over what looks as it did before that, and
    /// has another version. Where there was no Lease there is no version, and a free one might be
    /// made beside who leads by then. A grant is given back in another way.
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
        // By the right to take it now.
        let may_take = self.step(now) == Step::TakeOver && now >= self.clear_from();
        is_late
            || self.writes.pending.iter().any(is_awaited)
            || may_take && self.may_have_acquired()
    }

    /// Until then the server asked to be left alone.
    pub(crate) fn silent_until(&self) -> Moment {
        self.pacing.silent_until
    }
}
