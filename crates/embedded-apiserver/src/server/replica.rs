//! The handle of a replica: a second API server in front of the same store, whose watch cache lags
//! behind.
//!
//! Modelled after k8s.io/apiserver/pkg/storage/cacher: there, too, every API server has a cache of
//! its own that follows etcd by watching it, and only some reads come from it.

use std::sync::Arc;
use std::time::Duration;

use api_front::{Faults, RequestLog};

use crate::replica::lag::Lag;
use crate::server::core::Core;
use crate::server::handle::EmbeddedApiServer;
use crate::server::replica_state::ReplicaState;
use crate::server::shared::Shared;

/// A second API server on the same objects, as in a cluster with several of them, whose watch cache
/// may lag behind: from [`EmbeddedApiServer::replica`]. A cheap handle: clones share one replica.
///
/// What comes from the cache, and may be old: watches; lists and gets with a `resourceVersion`
/// (`"0"`: whatever the cache has; a number: at least that one, for which it waits up to three
/// seconds and then answers 504). What does not: Events, which no API server caches; lists and gets
/// without a `resourceVersion`, pages, lists of an exact version, and all writes, which see and
/// change the newest state, on any API server. A watch that asks for initial events without a
/// version waits until the cache has caught up with the moment it was asked.
///
/// Without a lag the cache follows at once, but not within the same step: as everywhere, a client
/// that writes here and reads with `resourceVersion=0` there may see the past.
///
/// It has a request log and faults of its own; users and their tokens are those of the server. A
/// kind that becomes served is served by both at once.
#[derive(Debug, Clone)]
#[doc(alias = "watch cache")]
#[doc(alias = "stale read")]
pub struct Replica(Arc<ReplicaState>);

impl EmbeddedApiServer {
    /// A second API server in front of the same objects. It begins with all there is now, and
    /// follows without lag until it is told to [stay behind](Replica::behind).
    ///
    /// Outside of a tokio runtime it begins to follow with its first request: writes from before
    /// count as made then.
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

    /// From now on the cache learns of each write so long after it was made. `Duration::ZERO`: at
    /// once; `Duration::MAX`: never. May be changed at any time; what the cache knows already
    /// it does not forget.
    ///
    /// Of more writes at once than the server's [history](crate::Builder::history) has the cache
    /// does not learn one by one: it goes on to what came later, at most twice as long after it
    /// was made, and its watches begin anew with 410.
    pub fn behind(&self, lag: Duration) -> Self {
        self.0.set_lag(Lag::Time(lag));
        self.clone()
    }

    /// From now on the cache learns of each write only when so many more have been made. May be
    /// changed at any time; what the cache knows already it does not forget.
    pub fn behind_revisions(&self, lag: u64) -> Self {
        self.0.set_lag(Lag::Revisions(lag));
        self.clone()
    }

    /// The newest revision that the cache knows.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.0.cache().api().store.revision()
    }

    /// A client of this replica in this process; its default namespace is `default`.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime: kube's client starts a task.
    #[cfg(feature = "client")]
    #[must_use]
    pub fn client(&self) -> kube::Client {
        kube::Client::new(self.service(), "default")
    }

    /// A client whose requests are made in the name of `user`.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime: kube's client starts a task.
    #[cfg(feature = "client")]
    #[must_use]
    pub fn client_as(&self, user: impl Into<crate::User>) -> kube::Client {
        kube::Client::new(self.service().as_user(user), "default")
    }

    /// Every request that came to this replica, with counts.
    #[must_use]
    pub fn requests(&self) -> RequestLog {
        self.0.cache().front.requests()
    }

    /// The faults in force at this replica, to look at and to change.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.0.cache().front.faults()
    }
}
