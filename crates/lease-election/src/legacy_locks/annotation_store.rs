//! AnnotationStore: the record in an annotation of Endpoints or a ConfigMap, for old clients.

use std::fmt;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{ConfigMap, Endpoints};
use kube::Client;

use super::annotation;
use super::multi_store::MultiStore;
use crate::announcement::Announcement;
use crate::config::Config;
use crate::error::StoreError;
use crate::kube_store::object::{Form, ObjectStore};
use crate::kube_store::{KubeLeaseStore, client_of_its_own};
use crate::record::{Record, StoredLease};
use crate::store::{LeaseEvents, LeaseStore};
use crate::version::Version;

/// The form of the record in an annotation.
pub(crate) const ANNOTATION: Form = Form { read: annotation::read, write: annotation::write };

/// A record in the annotation `control-plane.alpha.kubernetes.io/leader`, byte-compatible with
/// client-go's `EndpointsLock` and `ConfigMapLock`.
///
/// For an election shared with clients that know nothing newer, and for the migration away from it:
/// see [`MultiStore`]. client-go itself dropped these locks in v0.24. Otherwise use a Lease
/// ([`KubeLeaseStore`]): its changes wake only candidates.
///
/// Needs `get`, `create`, `update` and `watch` on endpoints or configmaps. An object without the
/// annotation is a free lease, and the rest of the object stays as it is. The record keeps whole
/// seconds; annotations beside it keep the fractions and the mark of the write.
///
/// # Records of other makes
/// Any change of the annotation's bytes is a sign of life, as in client-go.
///
/// An annotation that Go refuses to read counts as another holder's. It is taken once it was
/// unchanged for its apparent duration, and at least for an own lease. (client-go's candidates are
/// stuck for ever.) The Python client writes such records: its duration is a string.
///
/// A record without `leaseDurationSeconds` is waited for as long as an own lease, from its last
/// change. fabric8 and Flink write the duration under another name: beside them, use a
/// [`lease_duration`](crate::ConfigBuilder::lease_duration) no shorter than theirs.
#[doc(alias = "EndpointsLock")]
#[doc(alias = "ConfigMapLock")]
#[derive(Clone)]
pub struct AnnotationStore {
    object: ObjectStore,
}

impl AnnotationStore {
    /// The annotation on the Endpoints that `config` names, through this client (see
    /// [`MultiStore::client`]). Each request has the configured time-out.
    ///
    /// Use a name without a Service, whose controller deletes its Endpoints with it.
    #[must_use]
    pub fn endpoints(client: Client, config: &Config) -> Self {
        Self { object: ObjectStore::new::<Endpoints>(client, config, ANNOTATION) }
    }

    /// The annotation on the ConfigMap that `config` names, through this client. Each request has
    /// the configured time-out.
    #[must_use]
    pub fn config_map(client: Client, config: &Config) -> Self {
        Self { object: ObjectStore::new::<ConfigMap>(client, config, ANNOTATION) }
    }

    /// Records Events on the annotated object, as [`KubeLeaseStore::with_events`] does on the
    /// Lease.
    #[must_use]
    pub fn with_events(mut self, client: Client, component: &str) -> Self {
        self.object.record_events(client, component);
        self
    }
}

impl MultiStore {
    /// The annotation on Endpoints, and the Lease of the same name: client-go's `endpointsleases`.
    /// With a client of its own ([`MultiStore::client`]) no other request can starve it. For
    /// Events, join the halves with [`MultiStore::new`].
    #[doc(alias = "endpointsleases")]
    #[must_use]
    pub fn endpoints_leases(client: Client, config: &Config) -> Self {
        let lease = KubeLeaseStore::new(client.clone(), config);
        Self::new(AnnotationStore::endpoints(client, config), lease, config)
    }

    /// The annotation on a ConfigMap, and the Lease of the same name: client-go's
    /// `configmapsleases`.
    #[doc(alias = "configmapsleases")]
    #[must_use]
    pub fn config_maps_leases(client: Client, config: &Config) -> Self {
        let lease = KubeLeaseStore::new(client.clone(), config);
        Self::new(AnnotationStore::config_map(client, config), lease, config)
    }

    /// A client for the election alone and without hidden retries, as [`KubeLeaseStore::connect`]
    /// makes it, for [`endpoints_leases`](Self::endpoints_leases) and
    /// [`config_maps_leases`](Self::config_maps_leases).
    ///
    /// # Errors
    /// As `kube::Client::try_from`: certificates that cannot be read, a TLS feature that is
    /// missing.
    pub fn client(cluster: kube::Config, config: &Config) -> Result<Client, kube::Error> {
        client_of_its_own(cluster, config)
    }
}

#[async_trait]
impl LeaseStore for AnnotationStore {
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

impl fmt::Debug for AnnotationStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnnotationStore")
            .field("kind", &self.object.kind())
            .field("namespace", &self.object.namespace())
            .field("name", &self.object.name())
            .finish_non_exhaustive()
    }
}
