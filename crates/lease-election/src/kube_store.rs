//! KubeLeaseStore: the Lease of a Kubernetes API server.

use std::fmt;

use async_trait::async_trait;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Client;

use crate::announcement::Announcement;
use crate::config::Config;
use crate::error::StoreError;
use crate::record::{Record, StoredLease};
use crate::store::{LeaseEvents, LeaseStore};
use crate::version::Version;

mod adornment;
mod events;
pub(crate) mod fields;
pub(crate) mod mark;
pub(crate) mod object;
mod requests;
mod spec;

use object::{Form, ObjectStore};
#[cfg(feature = "coordinated")]
pub(crate) use requests::{Call, Requests, from_kube};

/// How a Lease keeps a record.
pub(crate) const SPEC: Form = Form { read: spec::read, write: spec::write };

/// A `coordination.k8s.io/v1` Lease, byte-compatible with client-go's `LeaseLock`: candidates of
/// both exclude each other.
///
/// A Lease whose fields have other types than the API's counts as held. A candidate takes it once
/// it has stayed unchanged for at least a lease of the candidate.
///
/// Needs `get`, `create`, `update` and `watch` on leases. `create` cannot be limited to a name; the
/// others can. Without `watch` the elector polls.
///
/// # The client
/// Use [`connect`](Self::connect), which makes a client for this purpose alone. On a shared client
/// the work's requests and rate limits starve the elector, and kube's own retries make a conflict
/// out of a success. The elector survives both, but reacts later.
#[doc(alias = "LeaseLock")]
#[derive(Clone)]
pub struct KubeLeaseStore {
    object: ObjectStore,
}

impl KubeLeaseStore {
    /// Uses the Lease that `config` names through this client. Each request has the configured
    /// time-out.
    #[must_use]
    pub fn new(client: Client, config: &Config) -> Self {
        Self { object: ObjectStore::new::<Lease>(client, config, SPEC) }
    }

    /// Uses the Lease that `config` names through a client of its own, which never retries.
    ///
    /// # Errors
    /// As `kube::Client::try_from`: certificates that cannot be read, a TLS feature that is
    /// missing.
    pub fn connect(cluster: kube::Config, config: &Config) -> Result<Self, kube::Error> {
        Ok(Self::new(client_of_its_own(cluster, config)?, config))
    }

    /// Records an Event on the Lease when a term begins and when its work has ended, with
    /// client-go's reason and texts: `<identity> became leader`, `<identity> stopped leading`.
    /// `component` is the Event's source. Needs `create` on events.
    ///
    /// The store sends each Event once, in the background, and gives up after the request time-out:
    /// no renewal waits for it. With another client than the store's they do not even share
    /// connections. A process that exits right after [`run`](crate::LeaderElector::run) may lose
    /// its last Event.
    #[doc(alias = "EventRecorder")]
    #[must_use]
    pub fn with_events(mut self, client: Client, component: &str) -> Self {
        self.object.record_events(client, component);
        self
    }

    /// Sets these labels when the elector makes the Lease, and again with each of its writes, so
    /// that they follow the holder. Other labels stay. With a label that the server refuses this
    /// elector cannot lead, and [`Status::blocked`](crate::Status::blocked) says why.
    #[doc(alias = "Labels")]
    #[must_use]
    pub fn with_labels<K: Into<String>, V: Into<String>>(
        mut self,
        labels: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let labels = labels.into_iter().map(|(key, value)| (key.into(), value.into()));
        self.object.adorn(|adornment| adornment.labels.extend(labels));
        self
    }

    /// Sets these annotations, as [`with_labels`](Self::with_labels) sets labels. This crate's own
    /// annotations stay its own.
    #[must_use]
    pub fn with_annotations<K: Into<String>, V: Into<String>>(
        mut self,
        annotations: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let annotations = annotations.into_iter().map(|(key, value)| (key.into(), value.into()));
        self.object.adorn(|adornment| adornment.annotations.extend(annotations));
        self
    }

    /// Sets this owner when the elector makes the Lease: the garbage collector deletes the Lease
    /// with its last owner. Owners of an existing Lease stay.
    ///
    /// Name an object that outlives all candidates, a Deployment, and never a Pod. Deleting a Lease
    /// ends the term of its leader (A7 of docs/safety.md).
    #[must_use]
    pub fn with_owner(mut self, owner: OwnerReference) -> Self {
        self.object.adorn(|adornment| adornment.owners.push(owner));
        self
    }
}

pub(crate) fn client_of_its_own(
    mut cluster: kube::Config,
    config: &Config,
) -> Result<Client, kube::Error> {
    cluster.default_retry = false;
    cluster.connect_timeout = Some(config.request_timeout());
    Client::try_from(cluster)
}

#[async_trait]
impl LeaseStore for KubeLeaseStore {
    async fn get(&self) -> Result<Option<StoredLease>, StoreError> {
        self.object.get().await
    }
    async fn create(&self, record: &Record) -> Result<StoredLease, StoreError> {
        self.object.create(record).await
    }
    async fn update(&self, version: &Version, record: &Record) -> Result<StoredLease, StoreError> {
        self.object.update(version, record).await
    }
    async fn watch(&self, from: Option<&Version>) -> Result<LeaseEvents, StoreError> {
        self.object.watch(from).await
    }
    fn announce(&self, announcement: &Announcement) {
        self.object.announce(announcement);
    }
}

impl fmt::Debug for KubeLeaseStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KubeLeaseStore")
            .field("namespace", &self.object.namespace())
            .field("name", &self.object.name())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
