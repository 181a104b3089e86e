//! Action: what a candidate does now: by its role, its take-over rule, and the waits that are only
//! polite.

use super::state::{Candidate, Role};
use super::{Action, Purpose};
use crate::clock::Moment;
use crate::decide::Step;
use crate::draws::fraction;
use crate::observation::Observation;

impl Candidate {
    /// What to do now. `watching`: changes are being told.
    pub(crate) fn action(&self, now: Moment, watching: bool) -> Action {
        if self.pacing.must_read || self.known.observation == Observation::Unknown {
            return at(self.pacing.read_not_before, now, Action::Read);
        }
        let write_not_before = self.pacing.write_not_before;
        match &self.role {
            Role::Leading(tenure) => {
                let due = tenure.sent.after(self.config.retry_period()).max(write_not_before);
                at(due, now, Action::Write(Purpose::Renew))
            }
            Role::Leaving => {
                let due = write_not_before.max(self.clear_from());
                at(due, now, Action::Write(Purpose::Release))
            }
            Role::Standby => self.stand_by(now, watching),
        }
    }

    fn stand_by(&self, now: Moment, watching: bool) -> Action {
        // 1. What is missing is asked for again before anything is concluded from its absence.
        let stale = self.missing_until();
        if stale.is_some_and(|stale| now >= stale) {
            return at(self.pacing.read_not_before, now, Action::Read);
        }
        // 2. The take-over rule says what is written, and from when on.
        let Some((free, purpose)) = self.next_write(now) else {
            return at(self.pacing.read_not_before, now, Action::Read);
        };
        // 3. It is written when nothing is left of the work of a term, and the waits after failures
        // and out of politeness are over.
        let polite = if purpose == Purpose::Acquire { self.late_until() } else { free };
        let due = free.max(self.clear_from()).max(self.pacing.write_not_before).max(polite);
        let may_write = !self.barred || purpose == Purpose::Release;
        if now >= due && may_write {
            return Action::Write(purpose);
        }
        // 4. Until then the Lease is read now and then, the more often where nothing is told.
        let period = self.config.retry_period();
        let patience = if watching {
            period.saturating_mul(3)
        } else {
            period.saturating_add(fraction(period / 2, self.random))
        };
        let routine = self.pacing.last_heard.after(patience);
        let read =
            stale.map_or(routine, |stale| routine.min(stale)).max(self.pacing.read_not_before);
        if now >= read {
            Action::Read
        } else {
            Action::Wait(if may_write { due.min(read) } else { read })
        }
    }

    /// What is to be written, and from when on; `None` if the Lease is to be read first.
    fn next_write(&self, now: Moment) -> Option<(Moment, Purpose)> {
        let declines = self.declines(now);
        Some(match self.step(now) {
            Step::Read => return None,
            Step::GiveBack => (now, Purpose::Release),
            Step::Create => (now, Purpose::Acquire),
            // It is not to lead: what it was granted before that was heard is somebody else's.
            Step::TakeOver if declines => (self.pacing.decline_not_before, Purpose::Release),
            Step::WaitUntil(moment) if declines => (moment, Purpose::Release),
            Step::TakeOver => (now, Purpose::Acquire),
            // What is granted is nobody's to take, however vacant it looks.
            Step::WaitUntil(moment) if self.is_coordinated() => (moment, Purpose::Acquire),
            Step::WaitUntil(moment) => {
                // The holder is gone; of one who led before the Lease was granted to it nothing is
                // known by that.
                let vacant = self.vacant_from().map(|vacant| vacant.max(self.claim_from()));
                (vacant.map_or(moment, |vacant| vacant.min(moment)), Purpose::Acquire)
            }
        })
    }
}

fn at(due: Moment, now: Moment, action: Action) -> Action {
    if now >= due { action } else { Action::Wait(due) }
}
