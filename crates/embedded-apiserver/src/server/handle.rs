//! The handle of a server.

use std::sync::Arc;

use api_front::{Faults, RequestLog};

use crate::access::Access;
use crate::admission::Admission;
use crate::api::kind::{InvalidKind, Kind};
use crate::controllers;
use crate::server::core::Core;
use crate::server::shared::Shared;

/// A Kubernetes API server in this process. A cheap handle: clones share the server.
#[derive(Debug, Clone)]
#[doc(alias = "envtest")]
#[doc(alias = "fake client")]
pub struct EmbeddedApiServer(Arc<Shared>);

impl EmbeddedApiServer {
    pub(crate) fn of(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }

    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.0
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.0.core
    }

    /// Serves a custom kind by the names and the scope of its Rust type, without a status
    /// subresource.
    ///
    /// For a status subresource use `register_kind(Kind::of::<K>().status(true))`, or
    /// [`register_definition`](Self::register_definition) with the type's definition.
    ///
    /// # Errors
    ///
    /// [`InvalidKind`] if its names are invalid.
    #[cfg(feature = "client")]
    pub fn register<K>(&self) -> Result<(), InvalidKind>
    where
        K: kube::Resource<DynamicType = ()>,
        K::Scope: 'static,
    {
        self.register_kind(Kind::of::<K>())
    }

    /// Serves a kind without schema, defaults or validation. The group may be any, also for a
    /// Kubernetes kind that is not built in here. Registering it again replaces the kind and keeps
    /// its objects.
    ///
    /// # Errors
    ///
    /// [`InvalidKind`] if its names are invalid, or those of a built-in kind.
    pub fn register_kind(&self, kind: Kind) -> Result<(), InvalidKind> {
        self.core().api().registry.write().register(kind)
    }

    /// Creates or replaces a CustomResourceDefinition (`MyKind::crd()` with kube's derive). Serves
    /// its kinds with their schemas, as if a client had written it.
    ///
    /// # Errors
    ///
    /// [`InvalidKind`] with the error of the API: wrong names, a schema that is not structural, a
    /// feature that this server does not implement.
    pub fn register_definition(
        &self,
        definition: &k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    ) -> Result<(), InvalidKind> {
        controllers::definitions::register(self.core().api(), definition)
    }

    /// The log of all requests, with counters.
    #[must_use]
    pub fn requests(&self) -> RequestLog {
        self.core().front.requests()
    }

    /// The current faults.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.core().front.faults()
    }

    /// The server's clock.
    #[must_use]
    pub fn clock(&self) -> api_front::Clock {
        self.core().api().clock.handle()
    }

    /// The used grants and the refusals, for tests of a controller's manifest.
    #[must_use]
    pub fn access(&self) -> Access {
        Access::new(Arc::clone(&self.core().api().access))
    }

    /// The admission hooks.
    #[must_use]
    pub fn admission(&self) -> Admission {
        Admission::new(Arc::clone(&self.core().api().admission))
    }

    /// A kubeconfig in YAML for kube, client-go and kubectl: the server at `url`, the `user`, and
    /// its token if the builder has one. Keep the file private: it contains the token.
    #[must_use]
    pub fn kubeconfig(&self, url: &str, user: &str) -> String {
        self.core().front.kubeconfig(url, user)
    }

    /// Drops the history. Older watches and pages of lists get 410 Expired. Watches that have read
    /// everything continue.
    #[doc(alias = "etcd compaction")]
    pub fn compact(&self) {
        self.core().api().store.compact();
    }

    /// The newest revision: the resourceVersion of a list now.
    #[must_use]
    #[doc(alias = "resourceVersion")]
    pub fn revision(&self) -> u64 {
        self.core().api().store.revision()
    }
}
