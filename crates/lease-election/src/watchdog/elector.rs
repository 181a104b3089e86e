//! Elector: how an elector gets a watchdog.

use crate::elector::LeaderElector;
use crate::watchdog::{Watch, Watchdog, WatchdogError};

impl LeaderElector {
    /// Adds a [`Watchdog`] to this elector and all its clones, from the next term on. Its thread
    /// starts now and ends with them, and acts when work outlives its term, even if the runtime is
    /// blocked.
    ///
    /// # Errors
    /// [`WatchdogError`] if the watchdog's grace is longer than the stop margin, if the elector has
    /// one already, or if the system gives no timer or thread.
    pub fn with_watchdog(self, watchdog: Watchdog) -> Result<Self, WatchdogError> {
        let shared = self.shared();
        if shared.term_watch.get().is_some() {
            return Err(WatchdogError::Present);
        }
        let watch = Watch::start(watchdog, &shared.config, &shared.clock)?;
        shared.term_watch.set(watch).map_err(|_| WatchdogError::Present)?;
        Ok(self)
    }
}
