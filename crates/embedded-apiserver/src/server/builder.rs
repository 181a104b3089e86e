//! How a server is set up: seed, clock, history window, bookmarks, namespaces.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use api_front::{FaultPlan, FrontBuilder, User};

use crate::api::clock::Clock;
#[cfg(feature = "actors")]
use crate::controllers::actors::Wanted;
use crate::rest::Options;
use crate::server::core::Core;
use crate::server::default_roles::create_default_roles;
use crate::server::handle::EmbeddedApiServer;
use crate::server::shared::Shared;
use crate::store::state::Window;

/// Sets up an [`EmbeddedApiServer`]; from [`EmbeddedApiServer::builder`].
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct Builder {
    seed: Option<u64>,
    start_time: Option<SystemTime>,
    history: Window,
    bookmark_interval: Duration,
    namespaces: Vec<String>,
    check_namespaces: bool,
    front: FrontBuilder,
    #[cfg(feature = "actors")]
    actors: Wanted,
    rbac: bool,
    protect_volumes: bool,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            seed: None,
            start_time: None,
            history: Window { changes: 16_384, bytes: 64 * 1024 * 1024 },
            bookmark_interval: Duration::from_secs(60),
            namespaces: Vec::new(),
            check_namespaces: true,
            front: FrontBuilder::default(),
            #[cfg(feature = "actors")]
            actors: Wanted::default(),
            rbac: false,
            protect_volumes: false,
        }
    }
}

impl Builder {
    /// Seeds uids and the suffixes of `generateName`. Without a seed, both differ from run to run.
    ///
    /// Together with [`start_time`](Self::start_time) and tokio's paused clock, two runs that send
    /// the same requests in the same order get the same bytes.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The wall time of the server at its start; from there it follows tokio's clock. Default: now.
    ///
    /// Times outside of the years 1970 to 9999 are clamped to them.
    pub fn start_time(mut self, time: SystemTime) -> Self {
        self.start_time = Some(time);
        self
    }

    /// How many changes of each kind are kept for watches that resume and for pages of an older
    /// list (default 16384). A watch from before the window gets 410 Expired and must list
    /// again.
    ///
    /// 0 counts as 1: then a watch can only follow live, and falls behind at the first delay.
    #[doc(alias = "etcd compaction")]
    #[doc(alias = "watch cache size")]
    pub const fn history(mut self, changes: usize) -> Self {
        self.history.changes = if changes == 0 { 1 } else { changes };
        self
    }

    /// How many bytes of JSON the history of each kind may hold beyond the objects themselves:
    /// versions that were replaced or deleted (default 64 MiB). What is older is forgotten,
    /// however few changes it is.
    ///
    /// 0: what was replaced is forgotten at once, and a watch that missed a replacement or a
    /// deletion has to list again.
    pub const fn history_bytes(mut self, bytes: usize) -> Self {
        self.history.bytes = bytes;
        self
    }

    /// How often a watch that asked for bookmarks gets one (default 60 s, as kube-apiserver). Zero:
    /// only the one that ends the initial events.
    pub const fn bookmark_interval(mut self, interval: Duration) -> Self {
        self.bookmark_interval = interval;
        self
    }

    /// A namespace that exists from the start, beside `default`, `kube-system`, `kube-public` and
    /// `kube-node-lease`.
    pub fn namespace(mut self, name: impl Into<String>) -> Self {
        self.namespaces.push(name.into());
        self
    }

    /// Whether creating an object in a namespace that does not exist is refused with 404, as the
    /// real server does (default `true`). `false` saves tests that care about something else
    /// the creation of namespaces.
    pub const fn check_namespaces(mut self, check: bool) -> Self {
        self.check_namespaces = check;
        self
    }

    /// A bearer token and the user it stands for (a `&str` will do). With the first token, requests
    /// over a socket that carry none, or a wrong one, are answered 401; with
    /// [`rbac`](Self::rbac), one that carries none is made by `system:anonymous`. Clients in
    /// this process need none.
    pub fn token(mut self, user: impl Into<User>, token: impl Into<String>) -> Self {
        self.front = self.front.token(user, token);
        self
    }

    /// Whether roles and bindings decide what a user may do (default `false`: everybody may do
    /// everything).
    ///
    /// The rules are those of the server's own Roles, ClusterRoles and their bindings, as they
    /// stand when a request comes, with Kubernetes' answers to what is refused. The cluster
    /// roles and bindings that every cluster has for users exist from the start:
    /// `cluster-admin`, `admin`, `edit`, `view`, `system:discovery`, `system:basic-user`
    /// and `system:public-info-viewer`. [`EmbeddedApiServer::access`] says what was used and what
    /// was refused.
    #[doc(alias = "authorization-mode")]
    pub const fn rbac(mut self, rbac: bool) -> Self {
        self.rbac = rbac;
        self
    }

    /// The faults in force from the start (default: none). [`EmbeddedApiServer::faults`] changes
    /// them later.
    ///
    /// # Panics
    ///
    /// A rule names a resource that no API server has, and would never fire: see
    /// [`FaultPlan::check`].
    #[track_caller]
    pub fn faults(mut self, plan: FaultPlan) -> Self {
        self.front = self.front.faults(plan);
        self
    }

    /// How many entries the request log keeps (default 65536, at least 1). Its counters never drop.
    pub fn request_log_capacity(mut self, entries: usize) -> Self {
        self.front = self.front.request_log_capacity(entries);
        self
    }

    /// Whether other processes may read the request log and change the faults under `/embedded/`
    /// (default `false`): `GET /embedded/healthz`, `GET /embedded/requests`, `GET` and `PUT
    /// /embedded/faults`.
    pub fn introspection(mut self, introspection: bool) -> Self {
        self.front = self.front.introspection(introspection);
        self
    }

    /// Whether a listener may be given an address that other machines can reach (default `false`).
    /// Without [`rbac`](Self::rbac) whoever reaches it may do everything, and without TLS
    /// whoever listens on the way knows the tokens.
    pub fn allow_non_loopback(mut self, allow: bool) -> Self {
        self.front = self.front.allow_non_loopback(allow);
        self
    }

    /// Whether claims and volumes get their protection finalizers at creation (default `false`), as
    /// by the admission plugin of that name. A controller must take them away again.
    #[doc(alias = "StorageObjectInUseProtection")]
    pub const fn protect_volumes(mut self, protect: bool) -> Self {
        self.protect_volumes = protect;
        self
    }

    /// Whether the server collects garbage (default `false`, as on a bare API server): what has no
    /// owner left is deleted, a foreground deletion waits for the dependents that block it, an
    /// orphaning one takes the owner out of them.
    #[cfg(feature = "actors")]
    #[doc(alias = "garbage-collector-controller")]
    #[doc(alias = "ownerReferences")]
    pub const fn garbage_collector(mut self, collector: bool) -> Self {
        self.actors.garbage_collector = collector;
        self
    }

    /// Whether the server empties namespaces that are being deleted, and lets them go (default
    /// `false`, as on a bare API server, where they stay `Terminating` until somebody calls
    /// `finalize`).
    #[cfg(feature = "actors")]
    #[doc(alias = "namespace-controller")]
    pub const fn namespace_lifecycle(mut self, lifecycle: bool) -> Self {
        self.actors.namespace_lifecycle = lifecycle;
        self
    }

    /// Builds the server. Nothing runs until a request comes.
    #[must_use]
    pub fn build(self) -> EmbeddedApiServer {
        let clock = self.start_time.map_or_else(Clock::starting_now, Clock::starting_at);
        let rng = self.seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        let options = Options {
            history: self.history,
            bookmark_interval: self.bookmark_interval,
            check_namespaces: self.check_namespaces,
            protect_volumes: self.protect_volumes,
            rbac: self.rbac,
        };
        let front = self.front.admit_anonymous(self.rbac).clock(clock.handle()).build();
        let core = Core::new(options, front, clock, rng);
        core.create_namespaces(self.namespaces);
        if self.rbac {
            create_default_roles(core.api());
        }
        let core = Arc::new(core);
        EmbeddedApiServer::of(Shared::new(
            core,
            #[cfg(feature = "actors")]
            self.actors,
        ))
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
}
