//! The handle of a server.

use std::sync::Arc;

use api_front::{Faults, RequestLog};

use crate::access::Access;
use crate::admission::Admission;
use crate::api::kind::{InvalidKind, Kind};
use crate::controllers;
use crate::server::core::Core;
use crate::server::shared::Shared;

/// A Kubernetes API server in this process. A cheap handle: clones share one server.
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
    /// For one with a status subresource: `register_kind(Kind::of::<K>().status(true))`, or
    /// [`register_definition`](Self::register_definition) with the type's own definition, which
    /// says it.
    ///
    /// # Errors
    ///
    /// [`InvalidKind`] if its names cannot be served.
    #[cfg(feature = "client")]
    pub fn register<K>(&self) -> Result<(), InvalidKind>
    where
        K: kube::Resource<DynamicType = ()>,
        K::Scope: 'static,
    {
        self.register_kind(Kind::of::<K>())
    }

    /// Serves a kind from now on, without schema, defaults or rules of its own. Any group will do:
    /// one of Kubernetes' own kinds that is not built in here, too. Registering it again
    /// replaces what was known; its objects stay.
    ///
    /// # Errors
    ///
    /// [`InvalidKind`] if its names cannot be served, or would shadow a kind that is built in.
    pub fn register_kind(&self, kind: Kind) -> Result<(), InvalidKind> {
        self.core().api().registry.write().register(kind)
    }

    /// Creates a custom resource definition (`MyKind::crd()` with kube's derive), or replaces the
    /// one of its name: its kinds are served from then on, by its schemas, as if a client had
    /// written it.
    ///
    /// # Errors
    ///
    /// [`InvalidKind`] with what the API says of a definition that it refuses: wrong names, a
    /// schema that is not structural, something that this server does not implement.
    pub fn register_definition(
        &self,
        definition: &k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    ) -> Result<(), InvalidKind> {
        controllers::definitions::register(self.core().api(), definition)
    }

    /// Every request that came, with counts.
    #[must_use]
    pub fn requests(&self) -> RequestLog {
        self.core().front.requests()
    }

    /// The faults in force, to look at and to change.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.core().front.faults()
    }

    /// The server's clock, to look at and to move.
    #[must_use]
    pub fn clock(&self) -> api_front::Clock {
        self.core().api().clock.handle()
    }

    /// What the roles were used for, and what was refused: for tests of a controller's manifest.
    #[must_use]
    pub fn access(&self) -> Access {
        Access::new(Arc::clone(&self.core().api().access))
    }

    /// The admission hooks in force, to look at and to change.
    #[must_use]
    pub fn admission(&self) -> Admission {
        Admission::new(Arc::clone(&self.core().api().admission))
    }

    /// A kubeconfig (YAML) with which kube, client-go and kubectl reach the server at `url` as
    /// `user`, with the user's token if the builder was given one. It holds the token: write it
    /// where only its reader can read it.
    #[must_use]
    pub fn kubeconfig(&self, url: &str, user: &str) -> String {
        self.core().front.kubeconfig(url, user)
    }

    /// Forgets the history up to now: a watch that resumes from before, and a page of an older
    /// list, get 410 Expired. Watches that have seen everything go on.
    #[doc(alias = "etcd compaction")]
    pub fn compact(&self) {
        self.core().api().store.compact();
    }

    /// The newest revision: the resource version of a list made now.
    #[must_use]
    #[doc(alias = "resourceVersion")]
    pub fn revision(&self) -> u64 {
        self.core().api().store.revision()
    }
}
