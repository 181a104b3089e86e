//! `Cache`: the objects of one kind, kept current by a watch and read without a request. `store`
//! has the objects and the rules of change, `updates` what the watch does to them, `config` the
//! settings.

pub(crate) mod store;
mod barrier;
mod completeness;
mod config;
mod index;
mod reflector;
mod scope;
mod status;
mod updates;

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::ClusterResourceScope;
use kube::{Api, Client};
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;

pub(crate) use barrier::{Shows, Unseen};
pub(crate) use completeness::{Complete, guarded};
pub use config::CacheConfig;
pub use index::Index;
pub(crate) use reflector::Watches;
pub use status::{CacheStatus, Degraded, SyncTimeout};

use crate::{Change, Kind, ObjectKey};
use scope::Scope;
use store::{Namespace, Store};

/// The objects of one kind, as last received from the API server. Clones are handles to the same
/// cache.
///
/// Made by [`Manager::cache`](crate::Manager::cache), which also runs its watch. Reads take a lock
/// for a moment and never wait for the network. Older versions of an object are ignored. The
/// exception is a third older list in a row, as after the restore of a backup.
///
/// # Panics
///
/// Reads panic in a run of a controller that reads the cache before its first list is complete: the
/// run would see that objects are gone. Declare what runs read, by a source or by
/// [`Controller::reads`](crate::Controller::reads): then they wait.
#[doc(alias = "Informer")]
#[doc(alias = "Store")]
#[doc(alias = "Lister")]
pub struct Cache<K> {
    shared: Arc<Shared<K>>,
    /// Of the sources of this handle.
    pub(crate) predicate: Option<Predicate<K>>,
}

pub(crate) type Predicate<K> = Arc<dyn Fn(&Change<K>) -> bool + Send + Sync>;

impl<K> Clone for Cache<K> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), predicate: self.predicate.clone() }
    }
}

impl<K> fmt::Debug for Cache<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("name", &self.shared.name)
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

type OnChange<K> = Arc<dyn Fn(&Change<K>) + Send + Sync>;

struct Subscriber<K> {
    alive: Arc<AtomicBool>,
    on_change: OnChange<K>,
}

/// Subscribers that know all objects, and subscribers that wait for them.
struct Subscribers<K> {
    greeted: Vec<Subscriber<K>>,
    waiting: Vec<Subscriber<K>>,
}

/// Identifies a cache while it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CacheId(usize);

pub(crate) struct Shared<K> {
    name: Arc<str>,
    client: Client,
    /// The path of the kind, in all namespaces or in one.
    url: String,
    /// One for each watch.
    scopes: Box<[Arc<Scope>]>,
    config: CacheConfig<K>,
    /// Why the cache cannot be watched.
    unfit: Option<String>,
    store: RwLock<Store<K>>,
    subscribers: Mutex<Subscribers<K>>,
    /// Signals that a subscriber waits to be greeted.
    arrived: Notify,
}

impl<K: Kind> Cache<K> {
    pub(crate) fn new(api: Api<K>, config: CacheConfig<K>) -> Self {
        let url = api.resource_url().to_owned();
        let path = url.trim_start_matches("/apis/").trim_start_matches("/api/");
        let is_of_cluster = TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>();
        let namespaces: Vec<Namespace> = match config.several() {
            Some(several) => several.iter().map(|namespace| Some(Arc::clone(namespace))).collect(),
            None => vec![api.namespace().filter(|it| !it.is_empty()).map(Into::into)],
        };
        let several = config.several().is_some();
        let scopes = namespaces.iter().cloned().map(|it| Arc::new(Scope::new(it, several)));
        let shared = Arc::new(Shared {
            name: config.name.clone().unwrap_or_else(|| path.into()),
            scopes: scopes.collect(),
            store: RwLock::new(Store::new(config.indexes.len(), namespaces)),
            subscribers: Mutex::new(Subscribers { greeted: Vec::new(), waiting: Vec::new() }),
            arrived: Notify::new(),
            unfit: config.check(is_of_cluster, api.namespace()).err(),
            url: url.clone(),
            client: api.into_client(),
            config,
        });
        Self { shared, predicate: None }
    }

    /// The path of the kind in all namespaces: `/api/v1/pods`.
    pub(crate) fn kind_path(&self) -> String {
        match self.shared.url.split_once("/namespaces/") {
            Some((group, rest)) => match rest.split_once('/') {
                Some((_, plural)) => format!("{group}/{plural}"),
                None => self.shared.url.clone(), // The kind Namespace.
            },
            None => self.shared.url.clone(),
        }
    }

    /// The scope of this namespace.
    fn scope_of(&self, namespace: Option<&str>) -> Option<&Arc<Scope>> {
        let mut scopes = self.shared.scopes.iter();
        scopes.find(|it| it.namespace.is_none() || it.namespace.as_deref() == namespace)
    }

    /// Returns the object of this name, as last seen.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.read().get(key)
    }

    /// Returns all objects, ordered by namespace and name.
    pub fn list(&self) -> Vec<Arc<K>> {
        self.read().list()
    }

    /// Returns the objects of one namespace, ordered by name. The cost grows with the objects
    /// returned, not with the cache.
    pub fn list_in(&self, namespace: &str) -> Vec<Arc<K>> {
        self.read().list_in(namespace)
    }

    /// Returns the objects with `value` in an index, ordered by namespace and name.
    ///
    /// # Panics
    ///
    /// If the index was not given to [`CacheConfig::index`] of this cache: an empty result would be
    /// wrong.
    #[doc(alias = "ByIndex")]
    #[doc(alias = "MatchingFields")]
    pub fn by_index(&self, index: &Index<K>, value: &str) -> Vec<Arc<K>> {
        let place = self.shared.config.indexes.iter().position(|known| known.is(index));
        let Some(place) = place else {
            panic!("the cache {} does not have this index: see CacheConfig::index", self.name())
        };
        self.read().by_index(place, value)
    }

    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.read().len()
    }

    /// Returns whether the cache has no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K> Cache<K> {
    /// Returns the name of the cache in logs, metrics and errors: that of [`CacheConfig::named`],
    /// or the kind's path below `/api` or `/apis`, for example `v1/persistentvolumeclaims`.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Why the cache cannot be watched as configured.
    pub(crate) fn unfit(&self) -> Option<&str> {
        self.shared.unfit.as_deref()
    }

    pub(crate) fn client(&self) -> &Client {
        &self.shared.client
    }

    /// Clones have the same id.
    pub(crate) fn id(&self) -> CacheId {
        CacheId(Arc::as_ptr(&self.shared).addr())
    }

    /// Returns the current state of the cache and its watch.
    pub fn status(&self) -> CacheStatus {
        let status = |scope: &Scope| scope.status.borrow().clone();
        if self.shared.config.several().is_none() {
            return self.shared.scopes.iter().map(|scope| status(scope)).next().unwrap_or_default();
        }
        let scopes = self.shared.scopes.iter();
        let named = |scope: &Arc<Scope>| Some((scope.namespace.clone()?, status(scope)));
        CacheStatus::sum(scopes.filter_map(named).collect())
    }

    /// Returns whether a first list was complete.
    #[doc(alias = "HasSynced")]
    pub fn is_synced(&self) -> bool {
        self.shared.scopes.iter().all(|scope| scope.status.borrow().synced)
    }

    /// Ends the pause of a failed watch, and restarts its back-off. Call it when the cause is
    /// fixed, for example after a permission was granted. Without it the watch retries within 30 s.
    ///
    /// A watch that runs continues, and the pause after its next failure is skipped.
    pub fn retry_now(&self) {
        self.shared.scopes.iter().for_each(|scope| scope.hurried.notify_one());
    }

    /// Waits without a time limit until a first list is complete. For a limit use
    /// [`await_synced_within`](Self::await_synced_within).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when the future is dropped.
    #[doc(alias = "WaitForCacheSync")]
    pub async fn await_synced(&self) {
        self.await_each(|status| status.synced).await;
    }

    /// Waits until the first list of each watch is complete or has failed.
    pub(crate) async fn await_settled(&self) {
        self.await_each(|status| status.synced || status.degraded.is_some()).await;
    }

    async fn await_each(&self, is_so: fn(&CacheStatus) -> bool) {
        for scope in &self.shared.scopes {
            // The sender lives as long as `self`.
            let _ = scope.status.subscribe().wait_for(is_so).await;
        }
    }

    /// Waits until a first list is complete, at most for `longest`.
    ///
    /// # Errors
    ///
    /// [`SyncTimeout`] after that time. It names the watch and its last error.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when the future is dropped.
    pub async fn await_synced_within(&self, longest: Duration) -> Result<(), SyncTimeout> {
        if tokio::time::timeout(longest, self.await_synced()).await.is_ok() {
            return Ok(());
        }
        let error = self.status().degraded.map(|degraded| degraded.error);
        Err(SyncTimeout { watch: Arc::clone(&self.shared.name), after: longest, error })
    }

    /// Calls `on_change` for every object held, then for every change, in order, until the returned
    /// subscription is dropped. The calls run in the watch's task. May be called at any time.
    pub(crate) fn subscribe(&self, on_change: OnChange<K>) -> Subscription {
        let alive = Arc::new(AtomicBool::new(true));
        let subscriber = Subscriber { alive: Arc::clone(&alive), on_change };
        self.shared.subscribers.lock().waiting.push(subscriber);
        self.shared.arrived.notify_one();
        Subscription { alive }
    }
}

/// Ends a subscription when dropped. An active call may still finish.
#[derive(Debug)]
pub(crate) struct Subscription {
    alive: Arc<AtomicBool>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.alive.store(false, Ordering::Release);
    }
}
