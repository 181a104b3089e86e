//! `Cache`: the objects of one kind, kept current by one watch and read without a request. `store`
//! has the objects and the rules of change, `watch` the watch, `config` the settings.

pub(crate) mod store;
mod barrier;
mod completeness;
mod config;

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, Client};
use parking_lot::{Mutex, RwLock};
use tokio::sync::{Notify, watch};

pub(crate) use barrier::Unseen;
pub(crate) use completeness::{Complete, guarded};
pub use config::CacheConfig;

use crate::hostile::loggable;
use crate::watch::{Reader, WatchLoop};
use crate::{Change, ObjectKey};
use store::{Backwards, Entering, Relist, Store, Values};

/// A type that can be cached: a kind of k8s-openapi, a derived custom resource, a `DynamicObject`,
/// or a `PartialObjectMeta`. For the last only metadata is requested.
///
/// Implemented for every type that fits.
pub trait Kind:
    kube::Resource + Clone + serde::de::DeserializeOwned + fmt::Debug + Send + Sync + 'static
{
}

impl<T> Kind for T where
    T: kube::Resource + Clone + serde::de::DeserializeOwned + fmt::Debug + Send + Sync + 'static
{
}

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
}

impl<K> Clone for Cache<K> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<K> fmt::Debug for Cache<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("name", &self.shared.name)
            .field("status", &*self.shared.status.borrow())
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
    /// The one that the cache is limited to.
    namespace: Option<String>,
    config: CacheConfig<K>,
    /// All events up to this version have been read.
    newest: watch::Sender<u64>,
    store: RwLock<Store<K>>,
    subscribers: Mutex<Subscribers<K>>,
    /// Signals that a subscriber waits to be greeted.
    arrived: Notify,
    /// Signals the watch to end its pause.
    hurried: Notify,
    status: watch::Sender<CacheStatus>,
}

/// The state of a cache and its watch.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CacheStatus {
    /// Whether a first list was complete. It stays true: if the watch fails later, the cache is
    /// stale, not empty.
    #[doc(alias = "HasSynced")]
    pub synced: bool,
    /// Why the watch does not run now; `None` while it runs.
    pub degraded: Option<Degraded>,
    /// The number of objects held.
    pub objects: usize,
    /// Complete lists that the cache has taken over.
    pub lists: u64,
    /// Failed requests and streams of the watch.
    pub failures: u64,
    /// Objects that did not decode, had no name, or made a transform or an index panic. Each
    /// occurrence counts. The cache keeps the last version that it could store.
    pub undecodable: u64,
    /// Changes whose mapping to keys panicked.
    pub panics: u64,
}

/// Why a watch does not run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Degraded {
    /// The last error.
    pub error: Arc<str>,
    /// When the failures began, by tokio's clock.
    pub since: Instant,
    /// Failures in a row.
    pub failures: u64,
}

/// A cache was not complete in time.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SyncTimeout {
    /// The cache's [name](Cache::name).
    pub watch: Arc<str>,
    /// How long the wait lasted.
    pub after: Duration,
    /// The watch's last error; `None` if no request has failed.
    pub error: Option<Arc<str>>,
}

impl fmt::Display for SyncTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { watch, after, error } = self;
        write!(f, "the watch of {watch} was not complete after {after:?}: ")?;
        match error {
            Some(error) => write!(f, "{error}"),
            None => f.write_str("no answer came; check that the API server can be reached"),
        }
    }
}

impl std::error::Error for SyncTimeout {}

/// A cache has no index of the requested name.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct UnknownIndex {
    /// The cache's name.
    pub cache: Arc<str>,
    /// The requested name.
    pub index: String,
}

impl fmt::Display for UnknownIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cache, index } = self;
        write!(f, "the cache of {cache} has no index {index:?}: declare it with CacheConfig::index")
    }
}

impl std::error::Error for UnknownIndex {}

impl<K: Kind> Cache<K> {
    pub(crate) fn new(api: Api<K>, config: CacheConfig<K>) -> (Self, WatchLoop<K>) {
        let path = api.resource_url().trim_start_matches("/apis/").trim_start_matches("/api/");
        let shared = Shared {
            name: config.name.clone().unwrap_or_else(|| path.into()),
            store: RwLock::new(Store::new(config.indexes.len())),
            subscribers: Mutex::new(Subscribers { greeted: Vec::new(), waiting: Vec::new() }),
            arrived: Notify::new(),
            hurried: Notify::new(),
            status: watch::Sender::new(CacheStatus::default()),
            client: api.clone().into_client(),
            namespace: api.namespace().map(str::to_owned),
            newest: watch::Sender::new(0),
            config,
        };
        let cache = Self { shared: Arc::new(shared) };
        let reader = Reader::new(api);
        (cache.clone(), WatchLoop::new(cache, reader))
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
    /// # Errors
    ///
    /// [`UnknownIndex`] if the cache has no such index: an empty result would be wrong.
    #[doc(alias = "ByIndex")]
    #[doc(alias = "MatchingFields")]
    pub fn by_index(&self, index: &str, value: &str) -> Result<Vec<Arc<K>>, UnknownIndex> {
        let Some(at) = self.shared.config.indexes.iter().position(|(name, _)| &**name == index)
        else {
            return Err(UnknownIndex {
                cache: Arc::clone(&self.shared.name),
                index: loggable(index),
            });
        };
        Ok(self.read().by_index(at, value))
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

    pub(crate) fn client(&self) -> &Client {
        &self.shared.client
    }

    /// Clones have the same id.
    pub(crate) fn id(&self) -> CacheId {
        CacheId(Arc::as_ptr(&self.shared).addr())
    }

    /// Returns the current state of the cache and its watch.
    pub fn status(&self) -> CacheStatus {
        self.shared.status.borrow().clone()
    }

    /// Returns whether a first list was complete.
    #[doc(alias = "HasSynced")]
    pub fn is_synced(&self) -> bool {
        self.shared.status.borrow().synced
    }

    /// Ends the pause of a failed watch, and restarts its back-off. Call it when the cause is
    /// fixed, for example after a permission was granted. Without it the watch retries within 30 s.
    ///
    /// A watch that runs continues, and the pause after its next failure is skipped.
    pub fn retry_now(&self) {
        self.shared.hurried.notify_one();
    }

    /// Waits without a time limit until a first list is complete. For a limit use
    /// [`await_synced_within`](Self::await_synced_within).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when the future is dropped.
    #[doc(alias = "WaitForCacheSync")]
    pub async fn await_synced(&self) {
        let mut status = self.shared.status.subscribe();
        // The sender lives as long as `self`.
        let _ = status.wait_for(|status| status.synced).await;
    }

    /// Waits until a first list is complete or has failed.
    pub(crate) async fn await_settled(&self) {
        let mut status = self.shared.status.subscribe();
        let _ = status.wait_for(|status| status.synced || status.degraded.is_some()).await;
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
        let error = self
            .shared
            .status
            .borrow()
            .degraded
            .as_ref()
            .map(|degraded| Arc::clone(&degraded.error));
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

/// The watch's operations on its cache. All run in the watch's task, so subscribers see changes in
/// order. None of them calls a subscriber, an index or a transform under a lock.
impl<K: Kind> Cache<K> {
    pub(crate) fn config(&self) -> &CacheConfig<K> {
        &self.shared.config
    }

    /// Transforms and indexes a received object. Returns an error if that panics, or if the object
    /// has no name.
    pub(crate) fn prepare(
        &self,
        mut object: K,
    ) -> Result<Entering<K>, (Option<ObjectKey>, &'static str)> {
        let Some(key) = ObjectKey::of(&object) else { return Err((None, "it has no name")) };
        let config = &self.shared.config;
        let prepared = catch_unwind(AssertUnwindSafe(|| {
            if !config.keeps_managed_fields {
                object.meta_mut().managed_fields = None;
            }
            if let Some(transform) = &config.transform {
                transform(&mut object);
            }
            let values: Values = config
                .indexes
                .iter()
                .map(|(_, values)| values(&object).into_boxed_slice())
                .collect();
            (object, values)
        }));
        match prepared {
            Ok((object, values)) => Ok(Entering { key, object: Arc::new(object), values }),
            Err(_) => Err((Some(key), "its transform or an index panicked")),
        }
    }

    pub(crate) fn relist_object(&self, relist: &mut Relist<K>, entering: Entering<K>) {
        let store = self.shared.store.read();
        let unused = relist.object(&store, entering);
        drop(store);
        drop(unused);
    }

    /// Stores a complete list; see [`Store::commit`].
    pub(crate) fn commit(
        &self,
        relist: Relist<K>,
        authoritative: bool,
    ) -> Result<(), (Backwards, Relist<K>)> {
        let mut store = self.shared.store.write();
        let changes = store.commit(relist, authoritative)?;
        let objects = store.len();
        drop(store);
        self.deliver(&changes);
        self.shared.status.send_modify(|status| {
            status.lists = status.lists.saturating_add(1);
            status.objects = objects;
            status.synced = true;
        });
        self.greet();
        Ok(())
    }

    pub(crate) fn apply(&self, entering: Entering<K>) {
        let mut store = self.shared.store.write();
        let changes = store.apply(entering);
        let objects = store.len();
        drop(store);
        self.changed(&changes, objects);
    }

    pub(crate) fn delete(&self, meta: &ObjectMeta) {
        let Some(key) = ObjectKey::from_meta(meta) else { return };
        let mut store = self.shared.store.write();
        let change = store.delete(&key, meta);
        let objects = store.len();
        drop(store);
        self.changed(change.as_slice(), objects);
    }

    fn changed(&self, changes: &[Change<K>], objects: usize) {
        self.deliver(changes);
        self.shared.status.send_if_modified(|status| {
            status.objects = objects;
            false // no waiter needs the count
        });
    }

    /// Calls the subscribers that know the state before these changes.
    fn deliver(&self, changes: &[Change<K>]) {
        if changes.is_empty() {
            return;
        }
        let told: Vec<OnChange<K>> = {
            let mut subscribers = self.shared.subscribers.lock();
            subscribers.greeted.retain(|subscriber| subscriber.alive.load(Ordering::Acquire));
            subscribers.greeted.iter().map(|subscriber| Arc::clone(&subscriber.on_change)).collect()
        };
        for change in changes {
            for on_change in &told {
                self.call(on_change, change);
            }
        }
    }

    /// Shows every object to the new subscribers, which then get the changes. Does nothing before
    /// the first list.
    pub(crate) fn greet(&self) {
        if !self.is_synced() {
            return;
        }
        let newcomers = std::mem::take(&mut self.shared.subscribers.lock().waiting);
        if newcomers.is_empty() {
            return;
        }
        let objects = self.list();
        for object in objects {
            let change = Change { old: None, new: Some(object), initial: true };
            for newcomer in
                newcomers.iter().filter(|newcomer| newcomer.alive.load(Ordering::Acquire))
            {
                self.call(&newcomer.on_change, &change);
            }
        }
        self.shared.subscribers.lock().greeted.extend(newcomers);
    }

    fn call(&self, on_change: &OnChange<K>, change: &Change<K>) {
        if catch_unwind(AssertUnwindSafe(|| on_change(change))).is_err() {
            let panics = self.count(|status| {
                status.panics = status.panics.saturating_add(1);
                status.panics
            });
            if panics.is_power_of_two() {
                let key = change.key().map(|key| loggable(&key.to_string()));
                tracing::error!(watch = %self.name(), ?key, panics, "a mapping from an object to keys panicked");
            }
        }
    }

    pub(crate) fn skipped(&self, key: Option<&ObjectKey>, error: &str) {
        let undecodable = self.count(|status| {
            status.undecodable = status.undecodable.saturating_add(1);
            status.undecodable
        });
        if undecodable.is_power_of_two() {
            let key = key.map(|key| loggable(&key.to_string()));
            let error = loggable(error);
            tracing::warn!(watch = %self.name(), ?key, error, undecodable, "an object is left out");
        }
    }

    pub(crate) fn failed(&self, error: &str) {
        let error: Arc<str> = loggable(error).into();
        let since = tokio::time::Instant::now().into_std();
        let failures = self.count(|status| {
            status.failures = status.failures.saturating_add(1);
            let degraded = status.degraded.get_or_insert_with(|| Degraded {
                error: Arc::clone(&error),
                since,
                failures: 0,
            });
            degraded.error = Arc::clone(&error);
            degraded.failures = degraded.failures.saturating_add(1);
            degraded.failures
        });
        if failures.is_power_of_two() {
            tracing::warn!(watch = %self.name(), %error, failures, "a watch fails");
        } else {
            tracing::debug!(watch = %self.name(), %error, failures, "a watch fails");
        }
    }

    pub(crate) fn healthy(&self) {
        let was = {
            let mut was = None;
            self.shared.status.send_if_modified(|status| {
                was = status.degraded.take();
                was.is_some()
            });
            was
        };
        if let Some(was) = was {
            tracing::info!(watch = %self.name(), failures = was.failures, "a watch runs again");
        }
    }

    fn count<R>(&self, change: impl FnOnce(&mut CacheStatus) -> R) -> R
    where
        R: Copy + Default,
    {
        let mut result = R::default();
        self.shared.status.send_modify(|status| result = change(status));
        result
    }

    /// Completes when the watch must end its pause.
    pub(crate) fn hurried(&self) -> impl Future<Output = ()> + '_ {
        self.shared.hurried.notified()
    }

    /// Completes when a subscriber waits to be greeted.
    pub(crate) fn arrival(&self) -> impl Future<Output = ()> + '_ {
        self.shared.arrived.notified()
    }
}
