//! The builder of a server.

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
    /// Seeds uids and the suffixes of `generateName`. Without a seed they are random.
    ///
    /// With [`start_time`](Self::start_time) and tokio's paused clock, the same requests in the
    /// same order get the same bytes.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The wall time at the start. From there it follows tokio's clock. Default: now.
    ///
    /// Times outside of the years 1970 to 9999 are clamped.
    pub fn start_time(mut self, time: SystemTime) -> Self {
        self.start_time = Some(time);
        self
    }

    /// The changes of each kind that are kept for resumed watches and old pages of lists (default
    /// 16384). An older watch gets 410 Expired and must list again.
    ///
    /// 0 counts as 1: then a watch can only follow live, and falls behind at the first delay.
    #[doc(alias = "etcd compaction")]
    #[doc(alias = "watch cache size")]
    pub const fn history(mut self, changes: usize) -> Self {
        self.history.changes = if changes == 0 { 1 } else { changes };
        self
    }

    /// The bytes of replaced and deleted versions that the history of each kind may hold (default
    /// 64 MiB). Older ones are dropped, however few they are.
    ///
    /// With 0, replaced versions are dropped at once. A watch that misses a replacement or a delete
    /// must list again.
    pub const fn history_bytes(mut self, bytes: usize) -> Self {
        self.history.bytes = bytes;
        self
    }

    /// The interval of bookmarks (default 60 s, as kube-apiserver). Zero: only the bookmark after
    /// the initial events.
    pub const fn bookmark_interval(mut self, interval: Duration) -> Self {
        self.bookmark_interval = interval;
        self
    }

    /// Adds a namespace, beside `default`, `kube-system`, `kube-public` and `kube-node-lease`.
    pub fn namespace(mut self, name: impl Into<String>) -> Self {
        self.namespaces.push(name.into());
        self
    }

    /// Whether a create in a missing namespace gets 404, as upstream (default `true`). `false`
    /// saves a test the creation of namespaces.
    pub const fn check_namespaces(mut self, check: bool) -> Self {
        self.check_namespaces = check;
        self
    }

    /// Adds a bearer token and its user. A `&str` is a user name.
    ///
    /// From the first token on, a request over a socket without a valid token gets 401. With
    /// [`rbac`](Self::rbac), a request without a token is made by `system:anonymous`. Clients in
    /// this process need no token.
    pub fn token(mut self, user: impl Into<User>, token: impl Into<String>) -> Self {
        self.front = self.front.token(user, token);
        self
    }

    /// Enables RBAC (default `false`: every request is allowed).
    ///
    /// Roles, ClusterRoles and their bindings apply as they are stored when a request comes. Errors
    /// are Kubernetes' own. The default roles for users and their bindings exist from the start:
    /// `cluster-admin`, `admin`, `edit`, `view`, `system:discovery`, `system:basic-user` and
    /// `system:public-info-viewer`. [`EmbeddedApiServer::access`] reports used grants and refusals.
    #[doc(alias = "authorization-mode")]
    pub const fn rbac(mut self, rbac: bool) -> Self {
        self.rbac = rbac;
        self
    }

    /// The initial faults (default: none). [`EmbeddedApiServer::faults`] changes them later.
    ///
    /// # Panics
    ///
    /// If a rule names a resource that no API server has: it would never apply. See
    /// [`FaultPlan::check`].
    #[track_caller]
    pub fn faults(mut self, plan: FaultPlan) -> Self {
        self.front = self.front.faults(plan);
        self
    }

    /// The entries of the request log (default 65536, at least 1). Its counters are never dropped.
    pub fn request_log_capacity(mut self, entries: usize) -> Self {
        self.front = self.front.request_log_capacity(entries);
        self
    }

    /// Whether other processes may read the request log and change the faults (default `false`):
    /// `GET /embedded/healthz`, `GET /embedded/requests`, `GET` and `PUT /embedded/faults`.
    pub fn introspection(mut self, introspection: bool) -> Self {
        self.front = self.front.introspection(introspection);
        self
    }

    /// Whether a listener may have an address that other machines can reach (default `false`).
    ///
    /// Without [`rbac`](Self::rbac) every client may do everything. Without TLS the network can
    /// read the tokens.
    pub fn allow_non_loopback(mut self, allow: bool) -> Self {
        self.front = self.front.allow_non_loopback(allow);
        self
    }

    /// Whether new claims and volumes get protection finalizers (default `false`), as by the
    /// admission plugin StorageObjectInUseProtection. A controller must remove them.
    #[doc(alias = "StorageObjectInUseProtection")]
    pub const fn protect_volumes(mut self, protect: bool) -> Self {
        self.protect_volumes = protect;
        self
    }

    /// Enables the garbage collector (default `false`, as on a bare API server). It deletes objects
    /// whose owners are gone, and completes foreground and orphan deletions.
    #[cfg(feature = "actors")]
    #[doc(alias = "garbage-collector-controller")]
    #[doc(alias = "ownerReferences")]
    pub const fn garbage_collector(mut self, collector: bool) -> Self {
        self.actors.garbage_collector = collector;
        self
    }

    /// Enables the namespace lifecycle (default `false`, as on a bare API server). It empties and
    /// finalizes terminating namespaces. Without it they stay `Terminating` until a client calls
    /// `finalize`.
    #[cfg(feature = "actors")]
    #[doc(alias = "namespace-controller")]
    pub const fn namespace_lifecycle(mut self, lifecycle: bool) -> Self {
        self.actors.namespace_lifecycle = lifecycle;
        self
    }

    /// Builds the server. It starts tasks only when a request comes.
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
