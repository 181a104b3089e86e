//! `Source`: what names keys to a controller: a cache through a mapping, a stream, a handle.

use std::any::TypeId;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures::FutureExt as _;
use futures::stream::{BoxStream, Stream, StreamExt as _};
use k8s_openapi::ClusterResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::coop::consume_budget;

use crate::cache::{CacheId, Subscription};
use crate::reasons::{Reasons, SourceNumber};
use crate::{Cache, Change, Key, Kind, ObjectKey};

/// What names keys to a controller. Made by a [`Cache`] ([`objects`](Cache::objects),
/// [`owners`](Cache::owners), [`trigger`](Cache::trigger)) or from a stream.
#[doc(alias = "EventHandler")]
pub struct Source<Q> {
    pub(crate) name: Arc<str>,
    pub(crate) feed: Feed<Q>,
}

/// Takes in keys, with the reason and whether they only tell of what was there at the start.
pub(crate) type Intake<Q> = Arc<dyn Fn(Q, Reasons, bool) + Send + Sync>;

pub(crate) enum Feed<Q> {
    /// Attaches an intake to a cache until the subscription is dropped; as often as there are
    /// terms.
    Cache(CacheId, Arc<dyn Fn(SourceNumber, Intake<Q>) -> Subscription + Send + Sync>),
    Stream(Arc<StreamFeed<Q>>),
}

/// A stream of keys, read by one term at a time.
pub(crate) struct StreamFeed<Q> {
    /// `None`: it panicked. Nobody knows what state that left it in, so it is not asked again.
    stream: AsyncMutex<Option<BoxStream<'static, Q>>>,
}

impl<Q: Key> StreamFeed<Q> {
    /// Gives every key to `intake`, until the stream ends or panics. `panicked` is told of each
    /// panic, and whether it is the end.
    pub(crate) async fn read(&self, intake: impl Fn(Q), panicked: impl Fn(bool)) {
        let mut held = self.stream.lock().await;
        while let Some(stream) = held.as_mut() {
            match AssertUnwindSafe(stream.next()).catch_unwind().await {
                Ok(Some(key)) => {
                    if catch_unwind(AssertUnwindSafe(|| intake(key))).is_err() {
                        panicked(false);
                    }
                    // A stream that is always ready must not keep the runtime to itself.
                    consume_budget().await;
                }
                Ok(None) => return,
                Err(_) => {
                    panicked(true);
                    let broken = held.take();
                    // What is left of it may panic once more.
                    let _ = catch_unwind(AssertUnwindSafe(|| drop(broken)));
                }
            }
        }
    }
}

impl<Q: Key> Source<Q> {
    /// The keys of a stream, in order. It is read only while the controller's workers run; a key
    /// that was read and not yet worked on when a term of leadership ends is carried over into
    /// the next.
    ///
    /// A stream that panics has ended: that is logged, counted among the controller's panics, and
    /// named in [`ControllerReport::broken_sources`](crate::ControllerReport::broken_sources)
    /// and [`ControllerView::broken_sources`](crate::ControllerView::broken_sources).
    #[doc(alias = "Channel")]
    pub fn stream(name: impl Into<Arc<str>>, keys: impl Stream<Item = Q> + Send + 'static) -> Self {
        let feed = StreamFeed { stream: AsyncMutex::new(Some(keys.boxed())) };
        Self { name: name.into(), feed: Feed::Stream(Arc::new(feed)) }
    }

    /// The source's name in [`Request::reasons`](crate::Request::reasons) and logs.
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
    /// A source that names the keys `map` makes of each change, and of each object there at the
    /// start.
    ///
    /// Every change is shown, whatever its origin: also a deletion that happened while the watch
    /// was away. An object can move from one key to another: [`watches`](Self::watches) maps
    /// both sides. `map` runs in the watch's own task: keep it quick. If it panics, the change
    /// is counted and passed over.
    pub fn trigger<Q, M, I>(&self, map: M) -> Source<Q>
    where
        Q: Key,
        M: Fn(&Change<K>) -> I + Send + Sync + 'static,
        I: IntoIterator<Item = Q>,
    {
        self.source(map, |number, change| Reasons::change(number, change.kind()))
    }

    /// A source with its way to tell why it names keys.
    fn source<Q, M, I>(&self, map: M, reasons: fn(SourceNumber, &Change<K>) -> Reasons) -> Source<Q>
    where
        Q: Key,
        M: Fn(&Change<K>) -> I + Send + Sync + 'static,
        I: IntoIterator<Item = Q>,
    {
        let cache = self.clone();
        let map = Arc::new(map);
        let attach = move |number: SourceNumber, intake: Intake<Q>| {
            let map = Arc::clone(&map);
            cache.subscribe(Arc::new(move |change: &Change<K>| {
                for key in map(change) {
                    intake(key, reasons(number, change), change.initial);
                }
            }))
        };
        Source { name: self.name().into(), feed: Feed::Cache(self.id(), Arc::new(attach)) }
    }

    /// A source that names the keys `map` makes of an object, before a change and after it: an
    /// object whose label changes from x to y runs both. Otherwise as
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

    /// A source that names each object that changes.
    #[doc(alias = "EnqueueRequestForObject")]
    #[doc(alias = "For")]
    pub fn objects(&self) -> Source<ObjectKey> {
        self.source(Change::key, |number, change| match change.is_of_status() {
            true => Reasons::status(number),
            false => Reasons::change(number, change.kind()),
        })
    }

    /// A source that names the owner of each object that changes: the controller of kind `P` in its
    /// owner references. After a change of owner it names both.
    ///
    /// The scope of `P` decides the key: that of a cluster-scoped owner has no namespace.
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
        let is_of_cluster = TypeId::of::<P::Scope>() == TypeId::of::<ClusterResourceScope>();
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
