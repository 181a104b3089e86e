//! Which kinds are served, for actors that deal with all of them, and when that changes. What
//! kube-controller-manager asks discovery for every half minute is known here at once.

use crate::rest::ApiState;
use crate::strategy::builtin::event;
use crate::strategy::resource::ServedResource;
use api_front::Follower;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::discovery::ApiResource;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A kind as a client of the API names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) api: ApiResource,
    pub(crate) namespaced: bool,
}

impl Resource {
    fn of(kind: &ServedResource) -> Self {
        let api = ApiResource {
            group: kind.group().to_owned(),
            version: kind.version().to_owned(),
            api_version: kind.api_version(),
            kind: kind.kind().to_owned(),
            plural: kind.plural().to_owned(),
        };
        Self { api, namespaced: kind.is_namespaced() }
    }

    /// `pods.`, `deployments.apps`: how namespaces say what is left in them.
    pub(crate) fn dotted(&self) -> String {
        format!("{}.{}", self.api.plural, self.api.group)
    }
}

/// The kinds that are served.
#[derive(Debug)]
pub(crate) struct Kinds {
    api: Arc<ApiState>,
    changed: Follower<u64>,
}

impl Kinds {
    pub(crate) fn of(api: &Arc<ApiState>) -> Self {
        let changed = api.registry.read().follow();
        Self { api: Arc::clone(api), changed }
    }

    /// The server's wall clock, to the microsecond.
    pub(crate) fn exactly_now(&self) -> Timestamp {
        self.api.clock.now()
    }

    /// One version of each table of objects, by the table's name. Events, which two groups share,
    /// are told by `events`.
    pub(crate) fn tables(&mut self, events: bool) -> BTreeMap<Arc<str>, Arc<Resource>> {
        self.changed.see();
        let registry = self.api.registry.read();
        let mut tables: BTreeMap<Arc<str>, Arc<Resource>> = BTreeMap::new();
        let wanted = |kind: &&Arc<ServedResource>| events || *kind.storage != *event::STORAGE;
        for kind in registry.kinds().filter(wanted) {
            tables.entry(Arc::clone(&kind.storage)).or_insert_with(|| Arc::new(Resource::of(kind)));
        }
        tables
    }

    /// The server's time, as objects have it.
    pub(crate) fn now(&self) -> Time {
        let now = self.api.clock.now();
        Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
    }

    /// The kind that an owner reference means.
    pub(crate) fn find(&self, api_version: &str, kind: &str) -> Option<Resource> {
        let registry = self.api.registry.read();
        let found = registry
            .kinds()
            .find(|known| known.kind() == kind && known.api_version() == api_version);
        found.map(|kind| Resource::of(kind))
    }

    /// Waits until other kinds are served than when [`tables`](Self::tables) was asked last.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub(crate) async fn changed(&mut self) {
        if self.changed.changed().await.is_err() {
            // The registry lives as long as the server, and this holds the server.
            std::future::pending::<()>().await;
        }
    }
}
