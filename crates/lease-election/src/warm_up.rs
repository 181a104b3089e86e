//! Warm-up: a standby that is not ready to lead yet. The guard alone; what it does to a campaign is
//! the driver's.

use tokio::sync::watch;

use crate::clock::Moment;

/// Keeps a [`LeaderElector`](crate::LeaderElector) from campaigning until it is dropped: see
/// [`warm_up`](crate::LeaderElector::warm_up).
#[must_use = "dropped at once it keeps nobody from leading"]
#[derive(Debug)]
pub struct WarmUp {
    id: u64,
    warm_ups: watch::Sender<WarmUps>,
}

impl WarmUp {
    /// Keeps it until then at most.
    pub(crate) fn begin(warm_ups: &watch::Sender<WarmUps>, until: Moment) -> Self {
        let mut id = 0;
        warm_ups.send_modify(|held| id = held.add(until));
        Self { id, warm_ups: warm_ups.clone() }
    }
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
