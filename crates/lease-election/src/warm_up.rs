//! Warm-up: a standby that is not ready to lead yet. The guard alone; what it does to a campaign is
//! the driver's.

use std::time::Duration;

use tokio::sync::watch;

use crate::clock::Moment;
use crate::elector::LeaderElector;

impl LeaderElector {
    /// Asks for time to get ready (caches that are filled, connections that are opened) beside
    /// another leader: while the guard lives, and for `patience` at most, this elector
    /// campaigns for no lease. It follows who leads, and others that are warm take the lease
    /// meanwhile. Where nobody is, the first to be warm leads, or the first to be out of
    /// patience: a cold leader is better than none for ever. (In a coordinated election that nobody
    /// elects in, half a minute later.)
    ///
    /// `patience` counts from this call. Several guards are waited for together, each for its own
    /// time. Unlike [`maintenance`](Self::maintenance) it ends no term; one of which the
    /// acquisition was sent already may begin.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use lease_election::{Config, LeaderElector, MemoryLeaseStore};
    /// # async fn fill_caches() {}
    /// # async fn lead(elector: LeaderElector) {
    /// let warm_up = elector.warm_up(Duration::from_secs(60));
    /// tokio::spawn(async move {
    ///     fill_caches().await;
    ///     drop(warm_up); // Also if it panics.
    /// });
    /// elector.run_forever(|leadership| async move { /* … */ }).await;
    /// # }
    /// ```
    #[doc(alias = "Warmup")]
    #[doc(alias = "EnableWarmup")]
    pub fn warm_up(&self, patience: Duration) -> WarmUp {
        let shared = self.shared();
        let until = shared.clock.now().after(patience);
        let mut id = 0;
        shared.warm_ups.send_modify(|held| id = held.add(until));
        WarmUp { id, warm_ups: shared.warm_ups.clone() }
    }
}

/// Keeps a [`LeaderElector`] from campaigning until it is dropped: see
/// [`warm_up`](LeaderElector::warm_up).
#[must_use = "dropped at once it keeps nobody from leading"]
#[derive(Debug)]
pub struct WarmUp {
    id: u64,
    warm_ups: watch::Sender<WarmUps>,
}

impl Drop for WarmUp {
    fn drop(&mut self) {
        self.warm_ups.send_modify(|held| held.living.retain(|(id, _)| *id != self.id));
    }
}

/// The guards that live, and for how long each is waited for.
#[derive(Debug, Default)]
pub(crate) struct WarmUps {
    given: u64,
    living: Vec<(u64, Moment)>,
}

impl WarmUps {
    fn add(&mut self, until: Moment) -> u64 {
        self.given += 1;
        self.living.push((self.given, until));
        self.given
    }

    /// Until then the elector is not ready, if it is not at `now`.
    pub(crate) fn cold_until(&self, now: Moment) -> Option<Moment> {
        self.living.iter().map(|(_, until)| *until).max().filter(|until| now < *until)
    }
}
