//! Warm-up: the guard of a standby that is not ready to lead.

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
    /// Bars the elector until `until` at most.
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

/// The guards that live, and how long the elector waits for each.
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

    /// When the last guard runs out; `None` if the elector is ready at `now`.
    pub(crate) fn cold_until(&self, now: Moment) -> Option<Moment> {
        self.living.iter().map(|(_, until)| *until).max().filter(|until| now < *until)
    }
}
