//! `Source`: names keys to a controller, from a cache through a mapping or from a stream.

pub mod predicate;
pub(crate) mod resync;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures::FutureExt as _;
use futures::stream::{BoxStream, Stream, StreamExt as _};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::coop::consume_budget;

use crate::cache::{Complete, Subscription};
use crate::change::Step;
use crate::queue::reasons::{Reasons, SourceNumber};
use crate::run::is_of_cluster;
use crate::{Cache, Change, Key, Kind, ObjectKey};

/// Names keys to a controller. Made by a [`Cache`] ([`objects`](Cache::objects),
/// [`owners`](Cache::owners), [`watches`](Cache::watches), [`trigger`](Cache::trigger)) or from a
/// stream.
#[doc(alias = "EventHandler")]
pub struct Source<Q> {
    pub(crate) name: Arc<str>,
    pub(crate) feed: Feed<Q>,
}

/// Accepts the keys of a change.
pub(crate) type Intake<Q> = Arc<dyn Fn(Q, Event<'_>) + Send + Sync>;

/// What a change tells about the keys that it names.
#[derive(Clone, Copy)]
pub(crate) struct Event<'a> {
    pub(crate) reasons: Reasons,
    /// Whether the change only shows an object that existed at the start.
    pub(crate) is_initial: bool,
    pub(crate) step: Option<Step<'a>>,
}

pub(crate) enum Feed<Q> {
    /// Attaches an intake to a cache until the subscription is dropped. Each term attaches once.
    Cache(Arc<dyn Complete>, Arc<dyn Fn(SourceNumber, Intake<Q>) -> Subscription + Send + Sync>),
    Stream(Arc<StreamFeed<Q>>),
}

/// A stream of keys, read by one term at a time.
pub(crate) struct StreamFeed<Q> {
    /// `None` after a panic: the state of the stream is unknown, so it is not polled again.
    stream: AsyncMutex<Option<BoxStream<'static, Q>>>,
}

impl<Q: Key> StreamFeed<Q> {
    /// Gives every key to `intake`, until the stream ends or panics. Calls `panicked` for each
    /// panic, with `true` if the stream itself panicked.
    pub(crate) async fn read(&self, intake: impl Fn(Q), panicked: impl Fn(bool)) {
        let mut held = self.stream.lock().await;
        while let Some(stream) = held.as_mut() {
            match AssertUnwindSafe(stream.next()).catch_unwind().await {
                Ok(Some(key)) => {
                    if catch_unwind(AssertUnwindSafe(|| intake(key))).is_err() {
                        panicked(false);
                    }
                    // A stream that is always ready must not block the runtime.
                    consume_budget().await;
                }
                Ok(None) => return,
                Err(_) => {
                    panicked(true);
                    let broken = held.take();
                    // Its destructor may panic too.
                    let _ = catch_unwind(AssertUnwindSafe(|| drop(broken)));
                }
            }
        }
    }
}

impl<Q: Key> Source<Q> {
    /// Creates a source from a stream of keys, in order. The stream is read only while the
    /// controller's workers run. A key that was read but has not run when a term ends is carried
    /// over into the next term.
    ///
    /// A stream that panics has ended. The panic is logged and counted among the controller's
    /// panics. The stream is named in
    /// [`ControllerReport::broken_sources`](crate::ControllerReport::broken_sources) and
    /// [`ControllerView::broken_sources`](crate::ControllerView::broken_sources).
    #[doc(alias = "Channel")]
    pub fn stream(name: impl Into<Arc<str>>, keys: impl Stream<Item = Q> + Send + 'static) -> Self {
        let feed = StreamFeed { stream: AsyncMutex::new(Some(keys.boxed())) };
        Self { name: name.into(), feed: Feed::Stream(Arc::new(feed)) }
    }

    /// Returns the source's name in [`Request::reasons`](crate::Request::reasons) and logs.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same source under another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }
}

impl<Q> fmt::Debug for Source<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let feed = match &self.feed {
            Feed::Cache(..) => "cache",
            Feed::Stream(_) => "stream",
        };
        f.debug_struct("Source").field("name", &self.name).field("feed", &feed).finish()
    }
}

impl<K: Kind> Cache<K> {
    /// Returns a handle to the same cache, whose sources name only changes for which `predicate`
    /// returns true: see [`predicate`] for common ones. A second predicate is
    /// asked after the first has returned true. Reads and waits see every object.
    ///
    /// The predicate is also asked for objects that exist at the start of the workers (`old` is
    /// `None`), for deletions (`new` is `None`), and for changes that a new list shows. It runs in
    /// the watch's task: keep it fast. If it panics, the change is counted and skipped.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # use reconciler::{Cache, ObjectKey, Source, predicate};
    /// # fn sources(maps: &Cache<ConfigMap>) -> [Source<ObjectKey>; 2] {
    /// let labelled = maps.when(predicate::labels_changed).objects();
    /// let mine = maps.when(|change| change.both().any(|map| map.data.is_some())).objects();
    /// # [labelled, mine]
    /// # }
    /// ```
    #[must_use]
    #[doc(alias = "WithPredicates")]
    #[doc(alias = "WithEventFilter")]
    pub fn when(&self, predicate: impl Fn(&Change<K>) -> bool + Send + Sync + 'static) -> Self {
        let mut handle = self.clone();
        handle.predicate = Some(match handle.predicate.take() {
            None => Arc::new(predicate),
            Some(first) => Arc::new(move |change| first(change) && predicate(change)),
        });
        handle
    }

    /// Creates a source from `map`, which returns keys for each change, and for each object that
    /// exists at the start.
    ///
    /// `map` sees every change, also a deletion while the watch was down. Use
    /// [`watches`](Self::watches) for objects that can move from one key to another: it maps both
    /// sides. `map` runs in the watch's task: keep it fast. If it panics, the change is counted and
    /// skipped.
    pub fn trigger<Q, M, I>(&self, map: M) -> Source<Q>
    where
        Q: Key,
        M: Fn(&Change<K>) -> I + Send + Sync + 'static,
        I: IntoIterator<Item = Q>,
    {
        self.source(map, |number, change| Reasons::change(number, change.kind()))
    }

    /// Creates a source with a function for the reasons of its keys.
    fn source<Q, M, I>(&self, map: M, reasons: fn(SourceNumber, &Change<K>) -> Reasons) -> Source<Q>
    where
        Q: Key,
        M: Fn(&Change<K>) -> I + Send + Sync + 'static,
        I: IntoIterator<Item = Q>,
    {
        let cache = self.clone();
        let map = Arc::new(map);
        let attach = move |number: SourceNumber, intake: Intake<Q>| {
            let (map, predicate) = (Arc::clone(&map), cache.predicate.clone());
            cache.subscribe(Arc::new(move |change: &Change<K>| {
                if predicate.as_ref().is_some_and(|passes| !passes(change)) {
                    return;
                }
                let (reasons, is_initial) = (reasons(number, change), change.initial);
                let event = Event { reasons, is_initial, step: change.step() };
                for key in map(change) {
                    intake(key, event);
                }
            }))
        };
        Source {
            name: self.name().into(),
            feed: Feed::Cache(Arc::new(self.clone()), Arc::new(attach)),
        }
    }

    /// Creates a source from `map`, which returns keys for an object before and after a change. An
    /// object whose label changes from x to y runs the keys of both. Otherwise as
    /// [`trigger`](Self::trigger).
    #[doc(alias = "EnqueueRequestsFromMapFunc")]
    #[doc(alias = "Watches")]
    pub fn watches<Q, M, I>(&self, map: M) -> Source<Q>
    where
        Q: Key,
        M: Fn(&K) -> I + Send + Sync + 'static,
        I: IntoIterator<Item = Q>,
    {
        self.trigger(move |change: &Change<K>| {
            let mut keys: Vec<Q> = Vec::new();
            for key in change.both().flat_map(|object| map(object)) {
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
            keys
        })
    }

    /// Creates a source that names each object that changes.
    #[doc(alias = "EnqueueRequestForObject")]
    #[doc(alias = "For")]
    pub fn objects(&self) -> Source<ObjectKey> {
        self.source(Change::key, |number, change| match change.is_of_status() {
            true => Reasons::status(number),
            false => Reasons::change(number, change.kind()),
        })
    }

    /// Creates a source that names the owner of each object that changes. The owner is the
    /// controller of kind `P` in the owner references. After a change of owner the source names
    /// both.
    ///
    /// The scope of `P` decides the key: a cluster-scoped owner has no namespace.
    #[doc(alias = "EnqueueRequestForOwner")]
    #[doc(alias = "Owns")]
    pub fn owners<P>(&self) -> Source<ObjectKey>
    where
        P: Resource<Scope: 'static>,
        P::DynamicType: Default,
    {
        let dynamic = P::DynamicType::default();
        let kind = P::kind(&dynamic).into_owned();
        let group = P::group(&dynamic).into_owned();
        let is_of_cluster = is_of_cluster::<P>();
        self.watches(move |object: &K| {
            let owner = owner(object.meta(), &group, &kind)?;
            Some(match object.meta().namespace.as_deref() {
                Some(namespace) if !is_of_cluster => ObjectKey::namespaced(namespace, owner),
                _ => ObjectKey::cluster(owner),
            })
        })
    }
}

/// The name of the object's controller, if it is of this kind, in any version.
fn owner<'a>(meta: &'a ObjectMeta, group: &str, kind: &str) -> Option<&'a str> {
    let owners = meta.owner_references.iter().flatten();
    let owner = owners
        .filter(|owner| owner.controller == Some(true) && owner.kind == kind)
        .find(|owner| owner.api_version.rsplit_once('/').map_or("", |(group, _)| group) == group)?;
    Some(&owner.name)
}
