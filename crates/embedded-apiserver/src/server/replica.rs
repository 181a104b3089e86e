//! A replica: a second API server in front of the same store, with a lagging watch cache.
//!
//! Modelled after k8s.io/apiserver/pkg/storage/cacher: each API server has its own cache, which
//! watches etcd and serves some of the reads.

use std::sync::Arc;
use std::time::Duration;

use api_front::{Faults, RequestLog};

use crate::replica::lag::Lag;
use crate::server::core::Core;
use crate::server::handle::EmbeddedApiServer;
use crate::server::replica_state::ReplicaState;
use crate::server::shared::Shared;

/// A second API server with the same objects and a lagging watch cache. From
/// [`EmbeddedApiServer::replica`]. A cheap handle: clones share the replica.
///
/// | request | reads |
/// | --- | --- |
/// | watch | the cache |
/// | list or get with `resourceVersion=0` | the cache |
/// | list or get at a version | the cache, from that version on; 504 after three seconds |
/// | watch with initial events and no version | the cache, after it has caught up |
/// | list or get without `resourceVersion`, pages, exact versions | the store |
/// | Events, and all writes | the store |
///
/// Without a lag the cache follows at once, but not in the same step. As on any API server, a read
/// with `resourceVersion=0` may miss a write to another server.
///
/// It has its own request log and faults. Users, tokens and kinds are those of the server.
#[derive(Debug, Clone)]
#[doc(alias = "watch cache")]
#[doc(alias = "stale read")]
pub struct Replica(Arc<ReplicaState>);

impl EmbeddedApiServer {
    /// Adds a second API server in front of the same objects. It has all current objects, and
    /// follows without lag until [`behind`](Replica::behind) sets one.
    ///
    /// Outside of a tokio runtime it begins to follow with its first request. Earlier writes count
    /// as made then.
    #[must_use]
    pub fn replica(&self) -> Replica {
        Replica::of(self.shared())
    }
}

impl Replica {
    pub(crate) const fn state(&self) -> &Arc<ReplicaState> {
        &self.0
    }

    fn of(server: &Arc<Shared>) -> Self {
        let cache = Arc::new(Core::beside(&server.core));
        let (revision, everything) =
            server.core.api().store.write(|state| (state.revision(), state.everything()));
        cache.api().store.write(|state| state.replace_with(everything, revision));
        let state = ReplicaState::new(cache, Arc::clone(server));
        state.start();
        Self(Arc::new(state))
    }

    /// Delays each write to the cache by this time. `Duration::ZERO`: no delay. `Duration::MAX`:
    /// never. The cache keeps the writes that it knows.
    ///
    /// The cache cannot hold more pending writes than the server's
    /// [history](crate::Builder::history). Then it skips to a later state, after at most twice the
    /// lag, and its watches get 410.
    pub fn behind(&self, lag: Duration) -> Self {
        self.0.set_lag(Lag::Time(lag));
        self.clone()
    }

    /// Delays each write to the cache until this number of later writes. The cache keeps the writes
    /// that it knows.
    pub fn behind_revisions(&self, lag: u64) -> Self {
        self.0.set_lag(Lag::Revisions(lag));
        self.clone()
    }

    /// The newest revision of the cache.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.0.cache().api().store.revision()
    }

    /// A client of this replica in this process. Its default namespace is `default`.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime: kube's client starts a task.
    #[cfg(feature = "client")]
    #[must_use]
    pub fn client(&self) -> kube::Client {
        kube::Client::new(self.service(), "default")
    }

    /// A client as `user`.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime: kube's client starts a task.
    #[cfg(feature = "client")]
    #[must_use]
    pub fn client_as(&self, user: impl Into<crate::User>) -> kube::Client {
        kube::Client::new(self.service().as_user(user), "default")
    }

    /// The log of all requests to this replica, with counters.
    #[must_use]
    pub fn requests(&self) -> RequestLog {
        self.0.cache().front.requests()
    }

    /// The current faults of this replica.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.0.cache().front.faults()
    }
}
