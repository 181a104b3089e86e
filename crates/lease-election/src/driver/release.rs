//! Release: how the driver releases a lease, and finds an acquisition that was applied unnoticed.
//! The candidate says when a lease may be released.

use std::fmt;
use std::sync::Arc;

use super::turn::{Reply, absorb, reply, send_read, send_write, turn};
use super::{Driver, Release};
use crate::candidate::{News, Purpose};
use crate::clock::Moment;
use crate::error::StoreError;
use crate::planted::planted;

/// How often, at most, a stopped candidate forestalls an acquisition that may still be applied.
const FORESTALLS: u32 = 3;

/// Why a lease was not released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NotReleased {
    /// The term had ended before.
    Lost,
    /// No certain answer came in time.
    NoAnswer,
    /// No attempt was due in time, because the server failed or asked for a pause.
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
    /// After a stop, releases a grant of the server's controller that was not claimed: other
    /// candidates would wait for it in vain.
    pub(super) async fn decline_grant(&mut self) {
        if self.shared.config.release_on_stop()
            && self.request.is_none()
            && self.candidate.may_decline(self.shared.clock.now())
        {
            self.release(self.two_requests_from_clear(), None).await;
        }
    }

    /// Cleans up after a stop that came before the term, so that no candidate waits a whole lease
    /// in vain. An acquisition that may have been applied is looked for and released. A free record
    /// takes the place of an acquisition that may still be applied, and of a lease that an earlier
    /// term left behind.
    pub(super) async fn give_up(&mut self) {
        if planted("stop-strands") {
            return;
        }
        let writes = self.request.as_ref().is_some_and(|request| request.writes);
        let owes = self.candidate.may_have_acquired() || self.candidate.is_left_behind();
        if !writes && !owes && self.shared.standing.is_none() {
            // Outside coordinated election no grant can come with the answer to a read.
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
                    // Waiting longer would only delay the end of the run.
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
                // After an acquisition, and after a conflict, a read follows at once: it shows what
                // was applied.
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

    /// Releases a lease under which no work began.
    pub(super) async fn decline(&mut self, until: Moment) {
        if self.shared.config.release_on_stop() {
            self.release(until, None).await;
        } else {
            self.candidate.leave();
        }
        self.candidate.abdicate(self.shared.clock.now());
    }

    /// When two requests are answered or have timed out, counted from `clear_from` if that is later
    /// than now.
    fn two_requests_from_clear(&self) -> Moment {
        let from = self.shared.clock.now().max(self.candidate.clear_from());
        from.after(self.shared.config.request_timeout().saturating_mul(2))
    }

    /// Renews the lease for as long as requests of work that was not wound up may land (A4).
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

    /// Releases the lease, within the rest of the hold and at most two request time-outs.
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
        // Waits for the request in flight first: the release is conditional on the version that it
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

    /// Withdraws the LeaseCandidate before the release, unless another campaign needs it: otherwise
    /// the controller grants the lease to it again.
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
