//! Release: how a lease is given back, and how one is looked for that may have been got unnoticed.
//! When that may be is the candidate's to say.

use std::fmt;
use std::sync::Arc;

use super::turn::{Reply, absorb, reply, send_read, send_write, turn};
use super::{Driver, Release};
use crate::candidate::{News, Purpose};
use crate::clock::Moment;
use crate::error::StoreError;
use crate::planted::planted;

/// How often a stopped candidate writes in the place of an acquisition that may still be applied,
/// at the most.
const FORESTALLS: u32 = 3;

/// Why a lease was not given back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NotReleased {
    /// The term was over before.
    Lost,
    /// In time.
    NoAnswer,
    /// No attempt was due in time, because the server failed or asked to be left alone: waiting
    /// that out would only delay the end of the run.
    Silenced,
}

impl fmt::Display for NotReleased {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lost => "the term was over before",
            Self::NoAnswer => "no certain answer in time",
            Self::Silenced => {
                "the next attempt would have come too late: the server failed or asked to be left alone"
            }
        })
    }
}

impl Driver {
    /// Stopped with a grant of the server's controller unclaimed: it is given back, so that nobody
    /// waits for nobody.
    pub(super) async fn decline_grant(&mut self) {
        if self.shared.config.release_on_stop()
            && self.request.is_none()
            && self.candidate.may_decline(self.shared.clock.now())
        {
            self.release(self.two_requests_from_clear(), None).await;
        }
    }

    /// Stopped before it led: an acquisition that may have been applied is looked for and given
    /// back, and one that may still be applied is forestalled, and so is what an earlier term
    /// left behind, so that nobody waits a whole lease for nobody.
    pub(super) async fn give_up(&mut self) {
        if planted("stop-strands") {
            return;
        }
        let writes = self.request.as_ref().is_some_and(|request| request.writes);
        let owes = self.candidate.may_have_acquired() || self.candidate.is_left_behind();
        if !writes && !owes && self.shared.standing.is_none() {
            // Nobody needs the answer to a read any more: there is no grant that it might tell of.
            self.request = None;
            return;
        }
        let clock = Arc::clone(&self.shared.clock);
        let end = clock.now().after(self.shared.config.request_timeout().saturating_mul(2));
        let mut timeout = clock.sleep_until(end);
        let mut not_before = clock.now();
        let mut forestalls = FORESTALLS;
        while self.request.is_some()
            || self.candidate.may_have_acquired()
            || self.candidate.is_left_behind()
        {
            if self.request.is_none() {
                let due = not_before.max(self.candidate.silent_until());
                if due >= end {
                    // Waiting that out would only delay the end of the run.
                    return;
                }
                if clock.now() < due {
                    clock.sleep_until(due).await;
                }
                let now = clock.now();
                let read = self.candidate.begin_read(now);
                self.request = Some(send_read(&self.shared, read));
            }
            let reply = tokio::select! {
                biased;
                reply = reply(&mut self.request) => reply,
                () = &mut timeout => return,
            };
            let was_read = matches!(reply, Reply::Read(_, Ok(_)));
            let failed = match &reply {
                Reply::Read(_, answer) => answer.is_err(),
                // Whatever became of the acquisition, a read tells; and it does after a conflict.
                Reply::Written(write, answer) => {
                    let is_last = write.purpose == Purpose::Release;
                    is_last && answer.as_ref().is_err_and(|error| *error != StoreError::Conflict)
                }
            };
            if let News::Acquired(_) = absorb(&self.shared, &mut self.candidate, reply) {
                let until = self.candidate.deadline().unwrap_or_else(|| clock.now());
                self.decline(until.min(end)).await;
                return;
            }
            if was_read {
                let now = clock.now();
                if forestalls == 0 || !self.candidate.may_forestall(now) {
                    return;
                }
                forestalls -= 1;
                let write = self.candidate.begin_write(now, clock.wall(), Purpose::Release);
                self.request = Some(send_write(&self.shared, &self.candidate, write, now));
            }
            if failed {
                // A server that refuses at once must not be asked in a hot loop.
                not_before = clock.now().after(self.shared.config.pace());
            }
        }
    }

    /// Gives back a lease under which no work was begun.
    pub(super) async fn decline(&mut self, until: Moment) {
        if self.shared.config.release_on_stop() {
            self.release(until, None).await;
        } else {
            self.candidate.leave();
        }
        self.candidate.abdicate(self.shared.clock.now());
    }

    /// When two requests may have been answered, or not, after nothing is left of work that was not
    /// wound up.
    fn two_requests_from_clear(&self) -> Moment {
        let from = self.shared.clock.now().max(self.candidate.clear_from());
        from.after(self.shared.config.request_timeout().saturating_mul(2))
    }

    /// Keeps the lease, renewed, for as long as anything that work which was not wound up has sent
    /// may land.
    pub(super) async fn outlast_work(&mut self) {
        let clock = Arc::clone(&self.shared.clock);
        let from = self.candidate.clear_from();
        let mut landed = clock.sleep_until(from);
        while self.candidate.is_leading() && clock.now() < from {
            tokio::select! {
                biased;
                () = &mut landed => {}
                news = turn(&self.shared, &mut self.candidate, &mut self.feed, &mut self.inquiry, &mut self.request, None) => {
                    if let News::Renewed(_) = news {
                        self.shared.counters.count(|stats| &mut stats.renewals);
                    }
                }
            }
        }
    }

    /// Gives the lease back, within what is left of the hold and not longer than two requests may
    /// take.
    pub(super) async fn release(&mut self, until: Moment, successor: Option<String>) {
        self.candidate.name_successor(successor);
        let shared = Arc::clone(&self.shared);
        let lease = shared.config.name();
        match self.try_release(until).await {
            Ok(()) => {
                self.account.release(Release::GivenBack);
                shared.counters.count(|stats| &mut stats.releases);
                tracing::info!(lease, "lease given back");
            }
            Err(why) => {
                self.account.release(Release::Failed);
                shared.counters.count(|stats| &mut stats.failed_releases);
                tracing::warn!(lease, %why, "the lease could not be given back, it runs out");
            }
        }
    }

    async fn try_release(&mut self, until: Moment) -> Result<(), NotReleased> {
        let clock = Arc::clone(&self.shared.clock);
        self.withdraw(until).await;
        let end = until.min(self.two_requests_from_clear());
        let mut timeout = clock.sleep_until(end);
        // An answer under way is waited for first: the release is conditional on the version it
        // brings.
        while self.request.is_some() {
            tokio::select! {
                biased;
                () = &mut timeout => {
                    self.candidate.leave();
                    return Err(NotReleased::NoAnswer);
                }
                reply = reply(&mut self.request) => {
                    let _ = absorb(&self.shared, &mut self.candidate, reply);
                }
            }
        }
        if !self.candidate.is_leading() && !self.candidate.is_granted() {
            return Err(NotReleased::Lost);
        }
        self.candidate.leave();
        let left = turn(
            &self.shared,
            &mut self.candidate,
            &mut self.feed,
            &mut self.inquiry,
            &mut self.request,
            Some(end),
        );
        tokio::select! {
            biased;
            () = &mut timeout => Err(NotReleased::NoAnswer),
            news = left => match news {
                News::Released => Ok(()),
                News::Nothing => Err(NotReleased::Silenced),
                _ => Err(NotReleased::Lost),
            },
        }
    }

    /// In a coordinated election one that goes for good takes its candidate back before the lease:
    /// the controller would grant it the lease once more.
    async fn withdraw(&mut self, until: Moment) {
        let Some(standing) = &self.shared.standing else { return };
        let others = if self.stop.is_asked() {
            0
        } else if self.stop.is_abandoned() {
            standing.campaigns()
        } else {
            standing.campaigns().saturating_sub(1)
        };
        if others > 0 {
            return;
        }
        let (clock, timeout) = (&self.shared.clock, self.shared.config.request_timeout());
        let budget = until.before(timeout).min(clock.now().after(timeout));
        tokio::select! {
            biased;
            () = standing.withdraw() => {}
            () = clock.sleep_until(budget) => {}
        }
    }
}
