//! `Cache`: one kind of object, kept current by one watch, read without a request. The store it
//! holds and the rules by which it changes are in `store`; the watch is in `watch`; configuration
//! in `config`.

pub(crate) mod store;
mod config;

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use parking_lot::{Mutex, RwLock};
use tokio::sync::{Notify, watch};

pub use config::CacheConfig;

use crate::hostile::loggable;
use crate::watch::{Reader, WatchLoop};
use crate::{Change, ObjectKey};
use store::{Backwards, Entering, Relist, Store, Values};

/// What a type must be to be cached: any of k8s-openapi's kinds, a derived custom resource, a
/// `PartialObjectMeta` of one (then only metadata is asked for), a `DynamicObject`.
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

/// The objects of one kind as the API server last showed them. A handle: clones are the same cache.
///
/// Made by [`Manager::cache`](crate::Manager::cache), which also runs its watch. Reads take a lock
/// for a moment and never wait for the network. Within one uid an object never goes back to an
/// older version.
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

/// Subscribers that know the whole state, and those that still have to be told.
struct Subscribers<K> {
    greeted: Vec<Subscriber<K>>,
    waiting: Vec<Subscriber<K>>,
}

/// Tells caches apart while they live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CacheId(usize);

pub(crate) struct Shared<K> {
    name: Arc<str>,
    config: CacheConfig<K>,
    store: RwLock<Store<K>>,
    subscribers: Mutex<Subscribers<K>>,
    /// A subscriber waits to be greeted.
    arrived: Notify,
    /// The watch shall not wait out its pause.
    hurried: Notify,
    status: watch::Sender<CacheStatus>,
}

/// How a cache and its watch are.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CacheStatus {
    /// Whether a first list was complete. It stays so: a cache whose watch fails later is old, not
    /// empty.
    #[doc(alias = "HasSynced")]
    pub synced: bool,
    /// Why the watch is not running at the moment; `None` while it runs.
    pub degraded: Option<Degraded>,
    /// Objects held.
    pub objects: usize,
    /// Lists that were taken over.
    pub lists: u64,
    /// Requests and streams of the watch that failed.
    pub failures: u64,
    /// Objects that were there, but did not decode, or made an index panic. They are not held.
    pub undecodable: u64,
    /// Changes whose mapping to keys panicked.
    pub panics: u64,
}

/// Why a watch is not running.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Degraded {
    /// The last error.
    pub error: Arc<str>,
    /// Since when, by tokio's clock.
    pub since: Instant,
    /// Failures in a row.
    pub failures: u64,
}

/// A cache was not complete in time.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SyncTimeout {
    /// The watch at fault: the kind's path below `/api` or `/apis`.
    pub watch: Arc<str>,
    /// How long was waited.
    pub after: Duration,
    /// The watch's last error; `None` if it had no answer at all.
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

/// A cache was asked for an index it was not given.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct UnknownIndex {
    /// The cache.
    pub cache: Arc<str>,
    /// The name that was asked for.
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
            config,
        };
        let cache = Self { shared: Arc::new(shared) };
        let reader = Reader::new(api);
        (cache.clone(), WatchLoop::new(cache, reader))
    }

    /// The object of this name, as last seen.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.shared.store.read().get(key)
    }

    /// All objects, by namespace and name.
    pub fn list(&self) -> Vec<Arc<K>> {
        self.shared.store.read().list()
    }

    /// The objects of one namespace, by name. Costs what it returns, not what the cache holds.
    pub fn list_in(&self, namespace: &str) -> Vec<Arc<K>> {
        self.shared.store.read().list_in(namespace)
    }

    /// The objects that stand under `value` in an index, by namespace and name.
    ///
    /// # Errors
    ///
    /// [`UnknownIndex`] if the cache was not given that index: an empty answer would be a wrong
    /// one.
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
        Ok(self.shared.store.read().by_index(at, value))
    }

    /// How many objects are held.
    pub fn len(&self) -> usize {
        self.shared.store.read().len()
    }

    /// Whether no object is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K> Cache<K> {
    /// The watch's name in logs, metrics and errors: that of [`CacheConfig::named`], or the kind's
    /// path below `/api` or `/apis`, for example `v1/persistentvolumeclaims`.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Clones have one id.
    pub(crate) fn id(&self) -> CacheId {
        CacheId(Arc::as_ptr(&self.shared).addr())
    }

    /// How the cache and its watch are now.
    pub fn status(&self) -> CacheStatus {
        self.shared.status.borrow().clone()
    }

    /// Whether a first list was complete.
    #[doc(alias = "HasSynced")]
    pub fn is_synced(&self) -> bool {
        self.shared.status.borrow().synced
    }

    /// Has a watch that pauses after a failure try again now, with short pauses from there on: for
    /// whoever knows that what it failed for is mended, for example a permission that was
    /// granted. Otherwise it comes to try within 30 s by itself.
    ///
    /// A watch that runs goes on as it is; the pause after its next failure is left out.
    pub fn retry_now(&self) {
        self.shared.hurried.notify_one();
    }

    /// Waits until a first list is complete. Without an end: see
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

    /// Waits until a first list is complete, but no longer than this.
    ///
    /// # Errors
    ///
    /// [`SyncTimeout`], which names the watch and its last error.
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

    /// Calls `on_change` for every object held, then for every change, in order, from the watch's
    /// own task, for as long as the returned subscription lives. May be called at any time.
    pub(crate) fn subscribe(&self, on_change: OnChange<K>) -> Subscription {
        let alive = Arc::new(AtomicBool::new(true));
        let subscriber = Subscriber { alive: Arc::clone(&alive), on_change };
        self.shared.subscribers.lock().waiting.push(subscriber);
        self.shared.arrived.notify_one();
        Subscription { alive }
    }
}

/// Ends a subscription when dropped. A call that is under way may still come to its end.
#[derive(Debug)]
pub(crate) struct Subscription {
    alive: Arc<AtomicBool>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.alive.store(false, Ordering::Release);
    }
}

/// What the watch does to its cache. All of it runs in the one task of the watch, so subscribers
/// see changes in order; none of it calls them, an index or a transform under a lock.
impl<K: Kind> Cache<K> {
    pub(crate) fn config(&self) -> &CacheConfig<K> {
        &self.shared.config
    }

    /// Transforms and indexes an object that came in. An error if that panicked, or it has no name.
    pub(crate) fn prepare(
        &self,
        mut object: K,
    ) -> Result<Entering<K>, (Option<ObjectKey>, &'static str)> {
        let Some(key) = ObjectKey::of(&object) else { return Err((None, "it has no name")) };
        let config = &self.shared.config;
        let prepared = catch_unwind(AssertUnwindSafe(|| {
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

    /// The list is complete; see [`Store::commit`].
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
            false // a count: nobody waits for it
        });
    }

    /// Tells the subscribers that know the state before these changes.
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

    /// Tells newcomers of every object held; from then on they hear of changes. Not before the
    /// first list.
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

    /// Ready when the watch shall not wait any longer.
    pub(crate) fn hurried(&self) -> impl Future<Output = ()> + '_ {
        self.shared.hurried.notified()
    }

    /// Ready when a subscriber waits to be greeted.
    pub(crate) fn arrival(&self) -> impl Future<Output = ()> + '_ {
        self.shared.arrived.notified()
    }
}
