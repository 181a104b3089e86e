//! `ManagerBuilder`: makes a manager of its settings.

use std::time::Duration;

use super::settings::Settings;
use crate::{Manager, ManagerError};

/// Makes a [`Manager`].
#[derive(Debug)]
#[must_use = "a builder does nothing until build is called"]
pub struct ManagerBuilder {
    settings: Settings,
}

impl Manager {
    /// Returns a builder with the defaults: no limit for the caches, 10 s of grace, no election.
    #[doc(alias = "NewManager")]
    pub fn builder() -> ManagerBuilder {
        ManagerBuilder { settings: Settings::default() }
    }

    /// As [`ManagerBuilder::connect`] with the defaults: one call for a program in a cluster.
    ///
    /// # Errors
    ///
    /// As [`ManagerBuilder::connect`].
    #[cfg(feature = "election")]
    pub async fn connect(name: &str) -> Result<(Self, kube::Client), ManagerError> {
        Self::builder().connect(name).await
    }
}

impl ManagerBuilder {
    /// Ends the manager with [`ManagerError::CacheSync`] if a cache is not complete in this time.
    /// By default the controllers that need it wait for it, and the others run.
    #[doc(alias = "CacheSyncTimeout")]
    pub fn require_synced_within(mut self, longest: Duration) -> Self {
        self.settings.synced_within = Some(longest);
        self
    }

    /// Sets how long runs may continue after a stop request before they are dropped. Default 10 s.
    #[doc(alias = "GracefulShutdownTimeout")]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.settings.grace = grace;
        self
    }

    /// Sets how long runs may continue after the lease is lost before they are dropped. This is
    /// time to notice the loss, not to finish. Default 100 ms, at most half of the election's stop
    /// margin.
    #[cfg(feature = "election")]
    pub fn loss_grace(mut self, grace: Duration) -> Self {
        self.settings.loss_grace = grace;
        self
    }

    /// Runs the workers only while this elector leads. The manager runs the elector, and stops it
    /// at its own stop.
    #[cfg(feature = "election")]
    #[doc(alias = "LeaderElection")]
    pub fn election(mut self, elector: lease_election::LeaderElector) -> Self {
        self.settings.elector = Some(elector);
        self
    }

    /// Serves metrics and health.
    #[cfg(feature = "admin")]
    #[doc(alias = "HealthProbeBindAddress")]
    pub fn admin(mut self, server: crate::admin::AdminServer) -> Self {
        self.settings.admin = Some(server);
        self
    }

    /// Connects to the cluster of this pod, or else to that of the kubeconfig, and builds the
    /// manager. Its workers run only while it holds the Lease of this name, which is in the pod's
    /// namespace, or in that of the kubeconfig's context. Returns the client for caches and
    /// requests. An [`election`](Self::election) that is set already stays.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Connect`] if there is no cluster to be found, if its certificates or
    /// credentials cannot be read, or if the name cannot name a Lease. As
    /// [`build`](Self::build) otherwise.
    #[cfg(feature = "election")]
    pub async fn connect(self, name: &str) -> Result<(Manager, kube::Client), ManagerError> {
        let cluster = kube::Config::infer().await.map_err(connect)?;
        let lease = lease_election::Config::builder(&cluster.default_namespace, name);
        self.connect_to(cluster, Some(lease.build().map_err(connect)?))
    }

    #[cfg(feature = "cli")]
    pub(crate) fn has_admin(&self) -> bool {
        self.settings.admin.is_some()
    }

    /// Connects to this cluster, with an election by this Lease unless the builder has one.
    #[cfg(feature = "election")]
    pub(crate) fn connect_to(
        mut self,
        cluster: kube::Config,
        lease: Option<lease_election::Config>,
    ) -> Result<(Manager, kube::Client), ManagerError> {
        if let Some(lease) = lease.filter(|_| self.settings.elector.is_none()) {
            // With connections of its own: work must not keep the elector waiting.
            let store = lease_election::KubeLeaseStore::connect(cluster.clone(), &lease)
                .map_err(connect)?;
            self.settings.elector = Some(lease_election::LeaderElector::new(store, lease));
        }
        let manager = self.build()?;
        let client = manager.client(cluster).map_err(connect)?;
        Ok((manager, client))
    }

    /// Builds the manager.
    ///
    /// # Errors
    ///
    /// [`ManagerError::GraceTooLong`] if the grace is not shorter than the election's drain
    /// time-out. The election could then drop work before the manager does, and would not release
    /// the lease.
    pub fn build(self) -> Result<Manager, ManagerError> {
        #[cfg_attr(
            not(feature = "election"),
            expect(unused_mut, reason = "changed only by an election")
        )]
        let mut settings = self.settings;
        #[cfg(feature = "election")]
        if let Some(elector) = &settings.elector {
            let drain_timeout = elector.config().drain_timeout();
            if settings.grace >= drain_timeout {
                return Err(ManagerError::GraceTooLong { grace: settings.grace, drain_timeout });
            }
            settings.loss_grace = settings.loss_grace.min(elector.config().stop_margin() / 2);
        }
        Ok(Manager::new(settings))
    }
}

#[cfg(feature = "election")]
fn connect(error: impl Into<crate::BoxError>) -> ManagerError {
    ManagerError::Connect(error.into())
}
