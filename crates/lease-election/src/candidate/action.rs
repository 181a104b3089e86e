//! Action: what a candidate does next, by its role, its take-over rule and its polite waits.

use super::state::{Candidate, Role};
use super::{Action, Purpose};
use crate::clock::Moment;
use crate::decide::Step;
use crate::draws::fraction;
use crate::observation::Observation;

impl Candidate {
    /// The next action. `watching`: the watch is open and reports changes.
    pub(crate) fn action(&self, now: Moment, watching: bool) -> Action {
        if self.pacing.must_read || self.known.observation == Observation::Unknown {
            return at(self.pacing.read_not_before, now, Action::Read);
        }
        let write_not_before = self.pacing.write_not_before;
        match &self.role {
            Role::Leading(hold) => {
                let due = hold.sent.after(self.config.retry_period()).max(write_not_before);
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
        // 1. After half a lease of absence the candidate reads again, before it acts on the
        //    absence.
        let stale = self.missing_until();
        if stale.is_some_and(|stale| now >= stale) {
            return at(self.pacing.read_not_before, now, Action::Read);
        }
        // 2. The take-over rule says which write is due, and when.
        let Some((free, purpose)) = self.next_write(now) else {
            return at(self.pacing.read_not_before, now, Action::Read);
        };
        // 3. The write waits until no work of an earlier term remains, and for the waits after
        //    failures and out of politeness.
        let polite = if purpose == Purpose::Acquire { self.late_until() } else { free };
        let due = free.max(self.clear_from()).max(self.pacing.write_not_before).max(polite);
        let may_write = !self.barred || purpose == Purpose::Release;
        if now >= due && may_write {
            return Action::Write(purpose);
        }
        // 4. Until then the candidate reads periodically, more often if no watch reports changes.
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

    /// The next write and its earliest moment; `None` if the candidate must read first.
    fn next_write(&self, now: Moment) -> Option<(Moment, Purpose)> {
        let declines = self.declines(now);
        Some(match self.step(now) {
            Step::Read => return None,
            Step::GiveBack => (now, Purpose::Release),
            Step::Create => (now, Purpose::Acquire),
            // A barred candidate does not acquire. It releases its grant, or what it may have
            // acquired.
            Step::TakeOver if declines => (self.pacing.decline_not_before, Purpose::Release),
            Step::WaitUntil(moment) if declines => (moment, Purpose::Release),
            Step::TakeOver => (now, Purpose::Acquire),
            // No candidate takes a grant early, whatever the evidence says about its holder.
            Step::WaitUntil(moment) if self.is_coordinated() => (moment, Purpose::Acquire),
            Step::WaitUntil(moment) => {
                // The evidence concerns the holder only: a leader before the grant may still act.
                let vacant = self.vacant_from().map(|vacant| vacant.max(self.claim_from()));
                (vacant.map_or(moment, |vacant| vacant.min(moment)), Purpose::Acquire)
            }
        })
    }
}

fn at(due: Moment, now: Moment, action: Action) -> Action {
    if now >= due { action } else { Action::Wait(due) }
}
