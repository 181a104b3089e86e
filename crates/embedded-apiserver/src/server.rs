//! The server's handle, and what it owns.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use serde_json::json;

use crate::access::{Access, Authorizer};
use crate::admission::{Admission, Hooks};
use crate::builder::Builder;
use crate::clock::{Clock, ServerClock};
use crate::fault::Faults;
use crate::kind::{InvalidKind, Kind};
use crate::openapi::document::Documents;
use crate::pipeline::{Pipeline, Settings};
use crate::registry::Registry;
use crate::request_log::RequestLog;
use crate::service::ApiService;
use crate::store::Store;
use crate::store::state::Window;

/// Switches that hold for the life of a server.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// How much of the past each table keeps.
    pub(crate) history: Window,
    pub(crate) bookmark_interval: Duration,
    pub(crate) check_namespaces: bool,
    /// Claims and volumes get their protection finalizers at creation (the admission plugin
    /// StorageObjectInUseProtection).
    pub(crate) protect_volumes: bool,
    /// Roles and bindings decide who may do what.
    pub(crate) rbac: bool,
}

/// The state of a server, shared by its handles, clients, connections and actors.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) options: Options,
    /// Log, tokens and faults: what a request passes before the API.
    pub(crate) pipeline: Pipeline,
    pub(crate) clock: Clock,
    /// Shared with replicas.
    pub(crate) registry: Arc<RwLock<Registry>>,
    pub(crate) openapi: Documents,
    pub(crate) store: Store,
    pub(crate) access: Authorizer,
    pub(crate) admission: Hooks,
}

impl Core {
    pub(crate) fn new(
        options: Options,
        pipeline: Pipeline,
        clock: Clock,
        rng: fastrand::Rng,
    ) -> Self {
        let store = Store::new(options.history, rng);
        let access = Authorizer::new(options.rbac);
        let registry = Arc::new(RwLock::new(Registry::with_builtin_kinds()));
        let (openapi, admission) = (Documents::default(), Hooks::default());
        Self { options, pipeline, clock, registry, openapi, store, access, admission }
    }

    /// A core that serves the same kinds to the same users, with a store, a log and faults of its
    /// own.
    pub(crate) fn beside(&self) -> Self {
        let settings = Settings {
            tokens: self.pipeline.tokens.clone(),
            introspection: self.pipeline.introspection,
            allow_non_loopback: self.pipeline.allow_non_loopback,
            ..Settings::default()
        };
        let pipeline = settings.build(self.clock.clone());
        // What is written goes to the other store: nothing here asks for a random number.
        let mut beside = Self::new(
            self.options.clone(),
            pipeline,
            self.clock.clone(),
            fastrand::Rng::with_seed(0),
        );
        beside.registry = Arc::clone(&self.registry);
        beside
    }

    /// The namespaces that exist on every cluster, and the ones asked for. A name that is no name
    /// is left out here and reported by the first request that uses it.
    pub(crate) fn create_namespaces(&self, more: Vec<String>) {
        let Some(kind) = self.registry.read().find("", "v1", "namespaces") else { return };
        let always =
            ["default", "kube-node-lease", "kube-public", "kube-system"].map(str::to_owned);
        for name in always.into_iter().chain(more) {
            let object = json!({ "metadata": { "name": name } });
            if let Err(refused) = crate::rest::create_object(self, &kind, None, object) {
                tracing::debug!(namespace = %name, ?refused, "a namespace was not created at start");
            }
        }
    }
}

/// A Kubernetes API server in this process. A cheap handle: clones share one server.
#[derive(Debug, Clone)]
#[doc(alias = "envtest")]
#[doc(alias = "fake client")]
pub struct EmbeddedApiServer(Arc<Shared>);

/// What lives as long as somebody outside holds the server or a client of it.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Before `core`: they stop first.
    #[cfg(feature = "actors")]
    actors: crate::actors::Actors,
    pub(crate) core: Arc<Core>,
}

impl Shared {
    /// Called before a request from outside is served, inside a tokio context.
    pub(crate) fn start_actors(&self) {
        #[cfg(feature = "actors")]
        self.actors.start(&self.core);
    }
}

impl Default for EmbeddedApiServer {
    fn default() -> Self {
        Self::new()
    }
}

impl EmbeddedApiServer {
    /// A server with the defaults of [`Builder`].
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Sets up a server.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn from_core(
        core: Arc<Core>,
        #[cfg(feature = "actors")] wanted: crate::actors::Wanted,
    ) -> Self {
        core.pipeline.faults.attach(&[&core]);
        Self(Arc::new(Shared {
            #[cfg(feature = "actors")]
            actors: crate::actors::Actors::new(wanted),
            core,
        }))
    }

    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.0
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.0.core
    }

    /// The server as a tower service of HTTP requests: paths and queries as kube-apiserver's.
    #[must_use]
    pub fn service(&self) -> ApiService {
        ApiService::new(Arc::clone(&self.0))
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
        self.core().registry.write().register(kind)
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
        crate::definition::register(self.core(), definition)
    }

    /// Every request that came, with counts.
    #[must_use]
    pub fn requests(&self) -> RequestLog {
        self.core().pipeline.log.clone()
    }

    /// The faults in force, to look at and to change.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.core().pipeline.faults.clone()
    }

    /// The server's clock, to look at and to move.
    #[must_use]
    pub fn clock(&self) -> ServerClock {
        ServerClock::new(self.core().clock.clone())
    }

    /// What the roles were used for, and what was refused: for tests of a controller's manifest.
    #[must_use]
    pub fn access(&self) -> Access {
        Access::new(Arc::clone(self.core()))
    }

    /// The admission hooks in force, to look at and to change.
    #[must_use]
    pub fn admission(&self) -> Admission {
        Admission::new(Arc::clone(self.core()))
    }

    /// A kubeconfig (YAML) with which kube, client-go and kubectl reach the server at `url` as
    /// `user`, with the user's token if the builder was given one. It holds the token: write it
    /// where only its reader can read it.
    #[must_use]
    pub fn kubeconfig(&self, url: &str, user: &str) -> String {
        crate::kubeconfig::kubeconfig(url, user, self.core().pipeline.tokens.token_of(user), None)
    }

    /// Forgets the history up to now: a watch that resumes from before, and a page of an older
    /// list, get 410 Expired. Watches that have seen everything go on.
    #[doc(alias = "etcd compaction")]
    pub fn compact(&self) {
        self.core().store.compact();
    }

    /// The newest revision: the resource version of a list made now.
    #[must_use]
    #[doc(alias = "resourceVersion")]
    pub fn revision(&self) -> u64 {
        self.core().store.revision()
    }
}
