//! Campaigns: one campaign after another, with the pauses between them.

use std::fmt;
use std::future::Future;

use crate::clock::Moment;
use crate::driver::{Ended, Release};
use crate::elector::LeaderElector;
use crate::leadership::Leadership;
use crate::pause::Pauses;
use crate::shared::Outcome;
use crate::standing::{Leaving, Stood};

/// Campaigns repeatedly, with a loop of your own around [`run`](Self::run): for steps between two
/// terms that [`run_forever`](LeaderElector::run_forever) does not allow. The pauses are the same.
///
/// After work that returned by itself, also by a [`step_down`](Leadership::step_down), it waits one
/// retry period, so that other candidates have a chance. After a term that was lost within a retry
/// period (something empties or deletes the Lease again and again) it waits as long. That wait
/// doubles each time in a row, up to a whole lease. After any other loss it campaigns again at
/// once.
///
/// In a coordinated election the LeaseCandidate stands only during a run, and not during its pause.
/// Between two runs nothing claims a grant; however long your loop takes, another candidate leads
/// meanwhile.
///
/// ```
/// # use lease_election::{Config, LeaderElector, MemoryLeaseStore, Outcome, Release};
/// # async fn lead(elector: LeaderElector) {
/// let mut campaigns = elector.campaigns();
/// while !elector.is_stopped() {
///     let outcome = campaigns.run(|leadership| async move { leadership.ending().await }).await;
///     println!("{outcome:?}, the lease: {:?}", campaigns.release());
/// }
/// campaigns.end().await;
/// # }
/// ```
#[must_use = "campaigns do nothing until they are run"]
pub struct Campaigns {
    elector: LeaderElector,
    pauses: Pauses,
    not_before: Option<Moment>,
    release: Release,
    /// Lets the LeaseCandidate stand on when the next campaign begins at once.
    stood: Option<Stood>,
    /// The last withdrawal of the LeaseCandidate.
    leaving: Option<Leaving>,
}

impl LeaderElector {
    /// Campaigns that follow one another, in a loop of your own.
    pub fn campaigns(&self) -> Campaigns {
        Campaigns {
            elector: self.clone(),
            pauses: Pauses::default(),
            not_before: None,
            release: Release::default(),
            stood: None,
            leaving: None,
        }
    }
}

impl Campaigns {
    /// Runs one campaign as [`LeaderElector::run`], after the rest of the previous campaign's
    /// pause. The pause counts from the end of that campaign, so your work between two runs is part
    /// of it. A stop during the pause returns [`Outcome::NeverLed`] at once.
    ///
    /// # Panics
    /// As [`LeaderElector::run`]; a run after it pauses as after work that returned.
    ///
    /// # Cancel safety
    /// As [`LeaderElector::run`]; a campaign that was dropped leaves no pause.
    pub async fn run<F, Fut, R>(&mut self, work: F) -> Outcome<R>
    where
        F: FnOnce(Leadership) -> Fut + Send + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: Send + 'static,
    {
        let outcome = self.run_and_go_on(work).await;
        self.stand_no_more();
        outcome.into_outcome()
    }

    /// [`run`](Self::run) for a caller that runs the next campaign at once: if no pause precedes
    /// that, the LeaseCandidate stands on. Returns a panic instead of resuming it.
    pub(crate) async fn run_and_go_on<F, Fut, R>(&mut self, work: F) -> Ended<R>
    where
        F: FnOnce(Leadership) -> Fut + Send + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: Send + 'static,
    {
        self.release = Release::default();
        if let Some(until) = self.not_before
            && self.is_stopped_before(until).await
        {
            return Ended::With(Outcome::NeverLed);
        }
        self.not_before = None;
        // Not kept in `self` meanwhile: dropping this future ends it.
        let stood = self.stood.take().or_else(|| self.elector.stand());
        let (ended, account) = self.elector.campaign(work).await;
        self.stood = stood;
        let (lasted, release) = account.told();
        self.release = release;
        let lost = match &ended {
            Ended::With(Outcome::NeverLed) => None,
            Ended::With(Outcome::Finished(_)) | Ended::Panicked(_) => Some(false),
            Ended::With(_) => Some(true),
        };
        if let Some(lost) = lost {
            let (config, now) = (self.elector.config(), self.elector.shared().clock.now());
            let pause =
                self.pauses.after(lost, lasted, config.retry_period(), config.lease_duration());
            self.not_before = Some(now.after(pause)).filter(|_| !pause.is_zero());
        }
        if self.not_before.is_some() {
            self.stand_no_more();
        }
        ended
    }

    fn stand_no_more(&mut self) {
        if let Some(stood) = self.stood.take() {
            self.leaving = Some(stood.leave());
        }
    }

    /// What became of the lease when the last [`run`](Self::run) ended.
    pub fn release(&self) -> Release {
        self.release
    }

    /// Ends the campaigns: waits until the LeaseCandidate of a coordinated election is withdrawn.
    /// Without one it returns at once.
    ///
    /// # Cancel safety
    /// Once begun it goes on in the background.
    pub async fn end(mut self) {
        self.stand_no_more();
        if let Some(leaving) = self.leaving {
            leaving.done().await;
        }
    }

    /// # Cancel safety
    /// Dropping the future loses nothing.
    async fn is_stopped_before(&self, until: Moment) -> bool {
        let shared = self.elector.shared();
        let mut stop = shared.stop.subscribe();
        tokio::select! {
            biased;
            _ = stop.wait_for(|stopped| *stopped) => true,
            () = shared.clock.sleep_until(until) => false,
        }
    }
}

impl fmt::Debug for Campaigns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Campaigns")
            .field("elector", &self.elector)
            .field("pauses", &self.pauses)
            .field("release", &self.release)
            .finish_non_exhaustive()
    }
}
