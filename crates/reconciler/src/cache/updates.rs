//! The watch's operations on its cache: lists, events, subscribers, failures.

use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tokio::task::coop::consume_budget;

use super::scope::Scope;
use super::store::{Backwards, Entering, Relist, Values};
use super::{Cache, CacheConfig, CacheStatus, Degraded, OnChange};
use crate::hostile::loggable;
use crate::{Change, ChangeKind, Kind, ObjectKey};

/// The operations of one watch on its cache. Those of all watches of a cache run in one task, so
/// subscribers see changes in order. None of them calls a subscriber, an index or a transform under
/// a lock.
#[derive(Clone)]
pub(crate) struct Feed<K> {
    cache: Cache<K>,
    scope: Arc<Scope>,
}

impl<K> fmt::Debug for Feed<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, namespace) = (&self.cache.shared.name, &self.scope.namespace);
        f.debug_struct("Feed").field("cache", name).field("namespace", namespace).finish()
    }
}

impl<K: Kind> Feed<K> {
    pub(super) fn new(cache: Cache<K>, scope: Arc<Scope>) -> Self {
        Self { cache, scope }
    }

    /// The name of the cache.
    pub(crate) fn name(&self) -> &str {
        self.cache.name()
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    pub(crate) fn config(&self) -> &CacheConfig<K> {
        &self.cache.shared.config
    }

    pub(crate) fn cache(&self) -> &Cache<K> {
        &self.cache
    }

    pub(crate) fn relist_object(&self, relist: &mut Relist<K>, entering: Entering<K>) {
        let store = self.cache.shared.store.read();
        let unused = relist.object(&store, entering);
        drop(store);
        drop(unused);
    }

    /// Stores a complete list; see [`Store::commit`](super::store::Store::commit). Returns the
    /// changes, for [`listed`](Self::listed).
    pub(crate) fn commit(
        &self,
        relist: Relist<K>,
        authoritative: bool,
    ) -> Result<Vec<Change<K>>, (Backwards, Relist<K>)> {
        self.cache.shared.store.write().commit(relist, authoritative)
    }

    /// Shows the changes of a complete list. Yields between them, as the mappings of many may take
    /// long.
    pub(crate) async fn listed(&self, changes: Vec<Change<K>>) {
        let told = self.told();
        if !told.is_empty() {
            for change in &changes {
                told.iter().for_each(|on_change| self.call(on_change, change));
                consume_budget().await;
            }
        }
        self.scope.status.send_modify(|status| {
            status.lists = status.lists.saturating_add(1);
            status.objects = after(status.objects, &changes);
            status.synced = true;
        });
        self.cache.shared.arrived.notify_one();
    }

    pub(crate) fn apply(&self, entering: Entering<K>) {
        let mut store = self.cache.shared.store.write();
        let changes = store.apply(entering);
        drop(store);
        self.changed(&changes);
    }

    pub(crate) fn delete(&self, meta: &ObjectMeta) {
        let Some(key) = ObjectKey::from_meta(meta) else { return };
        let mut store = self.cache.shared.store.write();
        let change = store.delete(&key, meta);
        drop(store);
        self.changed(change.as_slice());
    }

    fn changed(&self, changes: &[Change<K>]) {
        if !changes.is_empty() {
            let told = self.told();
            for change in changes {
                told.iter().for_each(|on_change| self.call(on_change, change));
            }
        }
        self.scope.status.send_if_modified(|status| {
            status.objects = after(status.objects, changes);
            false // no waiter needs the count
        });
    }

    /// The subscribers that know the state until now.
    fn told(&self) -> Vec<OnChange<K>> {
        let mut subscribers = self.cache.shared.subscribers.lock();
        subscribers.greeted.retain(|subscriber| subscriber.alive.load(Ordering::Acquire));
        subscribers.greeted.iter().map(|subscriber| Arc::clone(&subscriber.on_change)).collect()
    }

    /// Shows every object to the new subscribers, which then get the changes. Does nothing before
    /// the first list. No watch of the cache goes on meanwhile.
    pub(crate) async fn greet(&self) {
        if !self.cache.is_synced() {
            return;
        }
        let newcomers = std::mem::take(&mut self.cache.shared.subscribers.lock().waiting);
        if newcomers.is_empty() {
            return;
        }
        let objects = self.cache.list();
        for object in objects {
            let change = Change { initial: true, ..Change::appeared(object) };
            for newcomer in
                newcomers.iter().filter(|newcomer| newcomer.alive.load(Ordering::Acquire))
            {
                self.call(&newcomer.on_change, &change);
            }
            consume_budget().await;
        }
        self.cache.shared.subscribers.lock().greeted.extend(newcomers);
    }

    fn call(&self, on_change: &OnChange<K>, change: &Change<K>) {
        if catch_unwind(AssertUnwindSafe(|| on_change(change))).is_err() {
            let panics = self.count(|status| {
                status.panics = status.panics.saturating_add(1);
                status.panics
            });
            if panics.is_power_of_two() {
                let key = change.key().map(|key| loggable(&key.to_string()));
                tracing::error!(watch = %self.name(), namespace = self.scope.label(), ?key, panics, "a predicate or a mapping to keys panicked");
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
            tracing::warn!(watch = %self.name(), namespace = self.scope.label(), ?key, error, undecodable, "an object is left out");
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
            tracing::warn!(watch = %self.name(), namespace = self.scope.label(), %error, failures, "a watch fails");
        } else {
            tracing::debug!(watch = %self.name(), namespace = self.scope.label(), %error, failures, "a watch fails");
        }
    }

    pub(crate) fn healthy(&self) {
        let was = {
            let mut was = None;
            self.scope.status.send_if_modified(|status| {
                was = status.degraded.take();
                was.is_some()
            });
            was
        };
        if let Some(was) = was {
            tracing::info!(watch = %self.name(), namespace = self.scope.label(), failures = was.failures, "a watch runs again");
        }
    }

    fn count<R>(&self, change: impl FnOnce(&mut CacheStatus) -> R) -> R
    where
        R: Copy + Default,
    {
        let mut result = R::default();
        self.scope.status.send_modify(|status| result = change(status));
        result
    }

    /// Completes when the watch must end its pause.
    pub(crate) fn hurried(&self) -> impl Future<Output = ()> + '_ {
        self.scope.hurried.notified()
    }

    /// Completes when a subscriber waits to be greeted.
    pub(crate) fn arrival(&self) -> impl Future<Output = ()> + '_ {
        self.cache.shared.arrived.notified()
    }
}

impl<K: Kind> Cache<K> {
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
            let values: Values = config.indexes.iter().map(|index| index.values(&object)).collect();
            (object, values)
        }));
        match prepared {
            Ok((object, values)) => Ok(Entering { key, object: Arc::new(object), values }),
            Err(_) => Err((Some(key), "its transform or an index panicked")),
        }
    }
}

/// The number of objects after these changes.
fn after<K>(objects: usize, changes: &[Change<K>]) -> usize {
    changes.iter().fold(objects, |objects, change| match change.kind() {
        ChangeKind::Appeared => objects.saturating_add(1),
        ChangeKind::Vanished => objects.saturating_sub(1),
        ChangeKind::Changed => objects,
    })
}
