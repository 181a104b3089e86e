//! `Writer`: the writes of one controller, for one key at a time. It knows which caches read what
//! it writes.

use std::any::{Any, TypeId};
use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use k8s_openapi::ClusterResourceScope;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::Request;
use kube::{Client, Resource};
use parking_lot::{Mutex, RwLock};
use serde::Serialize;
use serde_json::Value;
use tokio::time::timeout;

use super::json;
use super::writes::{Applied, Writes};
use crate::cache::{Shows, Unseen};
use crate::change::Step;
use crate::metrics::ControllerMetrics;
use crate::{Cache, EventRecorder, Failure, Kind, ObjectKey};

/// The longest wait for an answer. kube waits for ever, API servers answer within 60 s
/// (`--request-timeout`).
const LONGEST_WAIT: Duration = Duration::from_secs(65);

/// A kind that is known at compile time: one of k8s-openapi, or a derived custom resource.
///
/// Implemented for every type that fits.
pub trait TypedKind: Kind + Resource<DynamicType = (), Scope: 'static> + Serialize {}

impl<T> TypedKind for T where T: Kind + Resource<DynamicType = (), Scope: 'static> + Serialize {}

/// Whether objects of the kind have no namespace.
pub(crate) fn is_of_cluster<T: Resource<Scope: 'static>>() -> bool {
    TypeId::of::<T::Scope>() == TypeId::of::<ClusterResourceScope>()
}

pub(crate) struct Writer {
    client: Client,
    /// Of applies, patches and creates: the controller's name.
    pub(crate) field_manager: Arc<str>,
    pub(crate) writes: Arc<Writes<ObjectKey>>,
    pub(crate) metrics: Arc<ControllerMetrics>,
    events: OnceLock<EventRecorder>,
    /// What runs read, by the path of the kind.
    caches: RwLock<HashMap<String, Vec<Arc<dyn Shows>>>>,
    /// Kinds without a cache that runs have made objects of.
    unshown: Mutex<HashSet<String>>,
    hasher: RandomState,
}

impl Writer {
    pub(crate) fn new(client: Client, field_manager: Arc<str>) -> Self {
        Self {
            client,
            field_manager,
            writes: Arc::new(Writes::new()),
            metrics: Arc::new(ControllerMetrics::new()),
            events: OnceLock::new(),
            caches: RwLock::default(),
            unshown: Mutex::default(),
            hasher: RandomState::new(),
        }
    }

    /// The recorder of the runs' Events. The first call starts its task, in a run.
    pub(crate) fn events(&self) -> &EventRecorder {
        self.events.get_or_init(|| {
            let (name, metrics) = (&self.field_manager, Arc::clone(&self.metrics));
            let dropped = move || metrics.events_dropped.up();
            let (recorder, task) = EventRecorder::new(self.client.clone(), name, name, dropped);
            tokio::spawn(task); // It ends with the recorder.
            recorder
        })
    }

    /// Runs wait until this cache shows their writes.
    pub(crate) fn read_by<T: Kind>(&self, cache: &Cache<T>) {
        let cache = cache.clone();
        self.caches.write().entry(cache.kind_path()).or_default().push(Arc::new(cache));
    }

    /// Whether no cache of the controller shows the kind; true once.
    pub(crate) fn is_unshown<T: TypedKind>(&self) -> bool {
        let path = path::<T>(None);
        !self.caches.read().contains_key(&path) && self.unshown.lock().insert(path)
    }

    /// The caches of the kind, also of its metadata.
    fn shows<T: TypedKind>(&self) -> Vec<Arc<dyn Shows>> {
        self.caches.read().get(&path::<T>(None)).cloned().unwrap_or_default()
    }

    /// The caches of whole objects.
    fn caches<T: TypedKind>(&self) -> Vec<Cache<T>> {
        let all = self.shows::<T>();
        all.iter().filter_map(|cache| (&**cache as &dyn Any).downcast_ref().cloned()).collect()
    }

    /// Notes a write of the run of `by`.
    fn wrote<T: TypedKind>(&self, by: &ObjectKey, object: &T) {
        let caches = self.shows::<T>();
        let unseen: Vec<Unseen> =
            caches.iter().filter_map(|cache| cache.written(object.meta())).collect();
        if !unseen.is_empty() {
            self.writes.note(by, unseen);
        }
    }

    /// The object as the run of `by` last wrote it, or as a cache has it.
    fn held<T: TypedKind>(&self, by: &ObjectKey, key: &ObjectKey) -> Option<Arc<T>> {
        let written = self.writes.answer(by, &(TypeId::of::<T>(), key.clone()));
        written.or_else(|| self.caches().iter().find_map(|cache: &Cache<T>| cache.get(key)))
    }

    /// Notes which event is that of a write: from the `old` version to the answer's. `said` is the
    /// patch of an object.
    fn answered<T: TypedKind>(&self, by: &ObjectKey, old: Option<&T>, said: &Value, answer: &T) {
        let caches = self.caches::<T>();
        let Some(cache) = caches.first() else { return };
        let Ok(entering) = cache.prepare(answer.clone()) else { return };
        let (key, new) = (entering.key, entering.object);
        let named = said["metadata"]["resourceVersion"].as_str();
        // A patch that names no version may change nothing, and then the answer shows the write of
        // another. That does not matter if the patch says all that changed.
        let is_partial = caches.iter().any(Cache::is_transformed);
        let says = |old: &T| !is_partial && says(said, old, &new);
        if named.is_some() || old.is_none_or(says) {
            let old = named.or_else(|| old?.meta().resource_version.as_deref());
            if let Some(step) = Step::new(old, new.meta()) {
                self.writes.wrote(by, step);
            }
        }
        self.writes.answered(by, (TypeId::of::<T>(), key), new);
    }

    pub(crate) async fn create<T: TypedKind>(
        &self,
        by: &ObjectKey,
        object: &T,
    ) -> Result<T, Failure> {
        let params = PostParams {
            field_manager: Some(self.field_manager.to_string()),
            ..PostParams::default()
        };
        let body = serde_json::to_vec(object).map_err(kube::Error::SerdeError)?;
        let request = collection::<T>(object.meta().namespace.as_deref()).create(&params, body);
        let request = request.map_err(kube::Error::BuildRequest)?;
        self.writes.announce(by);
        let created = answered(self.client.request(request)).await?;
        self.wrote(by, &created);
        self.answered(by, None, &Value::Null, &created);
        Ok(created)
    }

    /// Applies an object, unless this was applied last and the cache still shows the answer. What
    /// the object says is not enough: a member that another adds to an atomic list or map makes it
    /// another, and servers write quantities in their own way.
    pub(crate) async fn apply<T: TypedKind>(
        &self,
        by: &ObjectKey,
        object: &T,
    ) -> Result<T, Failure> {
        let key = ObjectKey::of(object)
            .ok_or_else(|| Failure::terminal(format!("the applied {} has no name", kind::<T>())))?;
        let wanted = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
        let id = (TypeId::of::<T>(), key.clone());
        let of_status: &[&str] = if wanted.get("status").is_none() { &["status"] } else { &[] };
        // A cache that leaves something out shows only its version.
        let caches = self.caches::<T>();
        let is_partial = caches.iter().any(Cache::is_transformed);
        let applied = |shown: &T| {
            let meta = shown.meta();
            // The generation tells of a write that another took back: the field is the other's.
            let answer = match meta.generation.filter(|_| !is_partial) {
                Some(generation) => self.hasher.hash_one((generation, written(shown, of_status)?)),
                None => self.hasher.hash_one(meta.resource_version.as_ref()?),
            };
            Some(Applied { wanted: self.hasher.hash_one(&wanted), answer })
        };
        if let Some(held) = caches.iter().find_map(|cache| cache.get(&key))
            && applied(&held).is_some_and(|applied| self.writes.was_applied(by, &id, applied))
        {
            return Ok(T::clone(&held));
        }
        let patched = self.patch(by, &key, None, &Patch::Apply(&wanted)).await?;
        // As a cache shows it.
        if let Some(applied) = self.writes.answer(by, &id).and_then(|answer| applied(&answer)) {
            self.writes.applied(by, id, applied);
        }
        Ok(patched)
    }

    /// Patches an object, or a subresource of it.
    pub(crate) async fn patch<T: TypedKind>(
        &self,
        by: &ObjectKey,
        key: &ObjectKey,
        subresource: Option<&str>,
        patch: &Patch<&Value>,
    ) -> Result<T, Failure> {
        let is_apply = matches!(patch, Patch::Apply(_));
        let manager = Some(self.field_manager.to_string());
        let params =
            PatchParams { field_manager: manager, force: is_apply, ..PatchParams::default() };
        let collection = collection::<T>(key.namespace());
        let request = match subresource {
            None => collection.patch(key.name(), &params, patch),
            Some(subresource) => {
                collection.patch_subresource(subresource, key.name(), &params, patch)
            }
        };
        let request = request.map_err(kube::Error::BuildRequest)?;
        if !is_apply {
            self.writes.unapply(by, &(TypeId::of::<T>(), key.clone()));
        }
        let held: Option<Arc<T>> = self.held(by, key);
        self.writes.announce(by);
        let patched = answered(self.client.request(request)).await?;
        self.wrote(by, &patched);
        if let Patch::Apply(said) | Patch::Merge(said) = patch {
            self.answered(by, held.as_deref(), said, &patched);
        }
        Ok(patched)
    }

    /// Deletes an object of this uid. An object that is gone is no error.
    pub(crate) async fn delete<T: TypedKind>(
        &self,
        by: &ObjectKey,
        object: &T,
    ) -> Result<(), Failure> {
        let Some(key) = ObjectKey::of(object) else { return Ok(()) };
        self.writes.unapply(by, &(TypeId::of::<T>(), key.clone()));
        self.writes.announce(by);
        let uid = object.meta().uid.clone();
        let params = match &uid {
            Some(uid) => DeleteParams::default().preconditions(kube::api::Preconditions {
                uid: Some(uid.clone()),
                resource_version: None,
            }),
            None => DeleteParams::default(),
        };
        let request = collection::<T>(key.namespace()).delete(key.name(), &params);
        let request = request.map_err(kube::Error::BuildRequest)?;
        match answered(self.client.request_status::<T>(request)).await {
            Ok(either) => match either.left() {
                // A finalizer or the garbage collector keeps it for a while.
                Some(kept) => self.wrote(by, &kept),
                None => {
                    let caches = self.shows::<T>();
                    let unseen = caches.iter().filter_map(|it| it.deleted(&key, uid.as_deref()));
                    self.writes.note(by, unseen.collect::<Vec<_>>());
                    if let Some(uid) = &uid {
                        self.writes.wrote(by, Step::deletion(uid));
                    }
                }
            },
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            // Another object has the name.
            Err(kube::Error::Api(status)) if status.code == 409 && uid.is_some() => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// The answer to a write. A write that stays without one may have been done.
async fn answered<T>(write: impl Future<Output = kube::Result<T>>) -> kube::Result<T> {
    match timeout(LONGEST_WAIT, write).await {
        Ok(answer) => answer,
        Err(_) => Err(kube::Error::Service(
            format!("the API server did not answer a write in {LONGEST_WAIT:?}").into(),
        )),
    }
}

/// Whether the patch says all that differs between two versions.
fn says<T: TypedKind>(patch: &Value, old: &T, new: &T) -> bool {
    let (old, new) = (written(old, &[]), written(new, &[]));
    old.is_some() && json::says(Some(patch), old.as_ref(), new.as_ref())
}

/// An object without what each write changes, and without these fields.
fn written<T: TypedKind>(object: &T, without: &[&str]) -> Option<Value> {
    let mut value = serde_json::to_value(object).ok()?;
    let meta = value.get_mut("metadata")?.as_object_mut()?;
    for of_each_write in ["resourceVersion", "generation"] {
        meta.remove(of_each_write);
    }
    let fields = value.as_object_mut()?;
    for field in without {
        fields.remove(*field);
    }
    Some(value)
}

fn collection<T: TypedKind>(namespace: Option<&str>) -> Request {
    Request::new(path::<T>(namespace))
}

fn path<T: TypedKind>(namespace: Option<&str>) -> String {
    T::url_path(&(), namespace.filter(|_| !is_of_cluster::<T>()))
}

/// `Deployment`.
pub(crate) fn kind<T: TypedKind>() -> String {
    T::kind(&()).into_owned()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    use kube::Api;
    use tokio::time::Instant;

    use super::*;
    use crate::CacheConfig;
    use crate::run::writes::Barrier;

    #[tokio::test]
    async fn a_kind_that_no_cache_shows_is_told_of_once() {
        let client = embedded_apiserver::EmbeddedApiServer::new().client();
        let writer = Writer::new(client.clone(), "test".into());
        writer.read_by(&Cache::<Secret>::new(Api::all(client), CacheConfig::new()));
        assert!(!writer.is_unshown::<Secret>());
        assert!(writer.is_unshown::<ConfigMap>());
        assert!(!writer.is_unshown::<ConfigMap>(), "once");
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_run_waits_for_the_deletion_of_what_this_run_made() {
        let client = embedded_apiserver::EmbeddedApiServer::new().client();
        let config = CacheConfig::new().namespaces(["default"]);
        let cache = Cache::<ConfigMap>::new(Api::all(client.clone()), config);
        let writer = Writer::new(client, "test".into());
        writer.read_by(&cache);
        let (by, mut map) = (ObjectKey::cluster("by"), ConfigMap::default());
        map.metadata.name = Some("m".to_owned());
        map.metadata.namespace = Some("default".to_owned());
        let made = writer.create(&by, &map).await.unwrap();
        writer.delete(&by, &made).await.unwrap();
        let is_open = || !matches!(writer.writes.begin(&by, Instant::now()), Barrier::Closed(_));
        assert!(!is_open());
        let feed = cache.feed_of("default");
        feed.apply(cache.prepare(made.clone()).ok().unwrap());
        feed.scope().has_read(made.metadata.resource_version.as_deref().unwrap());
        assert!(!is_open(), "the cache shows it");
        // As servers do that repeat the object's last version.
        feed.delete(&made.metadata);
        feed.scope().has_read(made.metadata.resource_version.as_deref().unwrap());
        assert!(is_open());
    }
}
