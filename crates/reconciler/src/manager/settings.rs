//! `Settings`: what a builder says of a manager.

use std::time::Duration;

/// The settings of a manager.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) synced_within: Option<Duration>,
    pub(crate) grace: Duration,
    pub(crate) loss_grace: Duration,
    #[cfg(feature = "election")]
    pub(crate) elector: Option<lease_election::LeaderElector>,
    #[cfg(feature = "admin")]
    pub(crate) admin: Option<crate::admin::AdminServer>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            synced_within: None,
            grace: Duration::from_secs(10),
            loss_grace: Duration::from_millis(100),
            #[cfg(feature = "election")]
            elector: None,
            #[cfg(feature = "admin")]
            admin: None,
        }
    }
}
