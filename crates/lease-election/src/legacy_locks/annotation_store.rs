//! AnnotationStore: the record in an annotation of Endpoints or of a ConfigMap, where old clients
//! keep it. The requests are `object`'s, the bytes `annotation`'s.

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

/// The record as an annotation has it.
pub(crate) const ANNOTATION: Form = Form { read: annotation::read, write: annotation::write };

/// A record in the annotation `control-plane.alpha.kubernetes.io/leader`, byte-compatible with
/// client-go's `EndpointsLock` and `ConfigMapLock`.
///
/// For sharing an election with clients that know nothing newer, and for leaving them behind: see
/// [`MultiStore`]. client-go itself dropped these locks in v0.24. Where there is a choice use a
/// Lease ([`KubeLeaseStore`]): a change of it wakes nobody but candidates.
///
/// Needs `get`, `create`, `update` and `watch` on endpoints or configmaps. An object without the
/// annotation is a free lease, and all else in it stays as it is. The record keeps whole seconds
/// only; the fractions, and the mark of the write, stand in annotations beside it.
///
/// # Records of other makes
/// Any change of the annotation's bytes is a sign of life, as in client-go.
///
/// An annotation that Go refuses to read belongs to another holder. It is taken when it has stayed
/// the same for as long as its duration seems to say, and for a lease of ours at least.
/// (client-go's candidates are stuck for ever.) The Python client writes such ones: its duration is
/// a string.
///
/// A record without `leaseDurationSeconds` is waited for as long as a lease of ours, from its last
/// change. fabric8 and Flink write the duration under another name: give candidates beside them a
/// [`lease_duration`](crate::ConfigBuilder::lease_duration) no shorter than theirs.
#[doc(alias = "EndpointsLock")]
#[doc(alias = "ConfigMapLock")]
#[derive(Clone)]
pub struct AnnotationStore {
    object: ObjectStore,
}

impl AnnotationStore {
    /// The annotation on the Endpoints that `config` names, through this client (see
    /// [`MultiStore::client`]); each request has the configured time-out.
    ///
    /// Endpoints of a Service would do, but its controller deletes them with the Service: use a
    /// name without one.
    #[must_use]
    pub fn endpoints(client: Client, config: &Config) -> Self {
        Self { object: ObjectStore::new::<Endpoints>(client, config, ANNOTATION) }
    }

    /// The annotation on the ConfigMap that `config` names, through this client; each request has
    /// the configured time-out.
    #[must_use]
    pub fn config_map(client: Client, config: &Config) -> Self {
        Self { object: ObjectStore::new::<ConfigMap>(client, config, ANNOTATION) }
    }

    /// Records Events, as [`KubeLeaseStore::with_events`] does; their object is the one with the
    /// annotation.
    #[must_use]
    pub fn with_events(mut self, client: Client, component: &str) -> Self {
        self.object.record_events(client, component);
        self
    }
}

impl MultiStore {
    /// The annotation on Endpoints, and the Lease of the same name: client-go's `endpointsleases`.
    /// With a client for this purpose alone ([`MultiStore::client`]) nothing else can starve
    /// it. For Events put the halves together by hand, with [`MultiStore::new`].
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

    /// A client as [`KubeLeaseStore::connect`] makes one, for
    /// [`endpoints_leases`](Self::endpoints_leases) and
    /// [`config_maps_leases`](Self::config_maps_leases): for the election alone, without a hidden
    /// retry.
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
