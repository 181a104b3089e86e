//! `View`: what the admin server sees of a running manager.

use std::fmt;
use std::sync::Arc;

#[cfg(feature = "election")]
use super::leftover::Leftover;
use crate::controller::Managed;
use crate::requests::Requests;
use crate::{Cache, CacheStatus, Kind};

/// The view of a cache for metrics and health checks.
pub(crate) trait WatchView: Send + Sync {
    fn name(&self) -> &str;
    fn status(&self) -> CacheStatus;
}

impl<K: Kind> WatchView for Cache<K> {
    fn name(&self) -> &str {
        Self::name(self)
    }

    fn status(&self) -> CacheStatus {
        Self::status(self)
    }
}

/// The admin server's view of a running manager.
#[derive(Clone)]
pub(crate) struct View {
    pub(crate) controllers: Arc<[Arc<dyn Managed>]>,
    pub(crate) watches: Arc<[Arc<dyn WatchView>]>,
    pub(crate) requests: Requests,
    #[cfg(feature = "election")]
    pub(crate) elector: Option<lease_election::LeaderElector>,
    #[cfg(feature = "election")]
    pub(crate) leftover: Leftover,
}

/// Shows every field, so that each is used without the admin server too.
impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("View");
        for controller in &*self.controllers {
            let counts = (controller.counts(), controller.parked(), controller.missing());
            let (workers, reconciles) = (controller.workers(), controller.metrics().reconciles());
            shown.field(controller.name(), &(workers, reconciles, counts));
        }
        for watch in &*self.watches {
            shown.field(watch.name(), &watch.status());
        }
        shown.field("requests", &self.requests);
        #[cfg(feature = "election")]
        shown.field("elector", &self.elector).field("leftover", &self.leftover);
        shown.finish_non_exhaustive()
    }
}
