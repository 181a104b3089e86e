//! Controllers of objects: `new`, and the sources that know what the controller reads.

use std::sync::Arc;
use std::time::Duration;

use super::Controller;
use crate::run::Writer;
use crate::source::resync::Resync;
use crate::{Cache, Kind, ObjectAdapter, ObjectKey, ObjectReconciler};

impl<R: ObjectReconciler> Controller<ObjectAdapter<R>> {
    /// Creates a controller of the objects of a cache, which run when they change. The name
    /// labels its metrics and logs, and names its writes: one word, unique in its manager.
    ///
    /// Here, in [`owns`](Self::owns) and in [`watches`](Self::watches), [`Cache::when`] selects the
    /// changes: `&foos.when(predicate::spec_or_deletion)`.
    #[doc(alias = "For")]
    pub fn new(name: impl Into<Arc<str>>, objects: &Cache<R::Object>, reconciler: R) -> Self {
        let name = name.into();
        let writer = Writer::new(objects.client().clone(), Arc::clone(&name));
        writer.read_by(objects);
        let adapter = ObjectAdapter::new(reconciler, objects.clone(), writer);
        let metrics = Arc::clone(&adapter.writer.metrics);
        let writer = Arc::clone(&adapter.writer);
        let mut controller = Self::keyed(name, adapter).source(objects.objects());
        controller.metrics = metrics;
        controller.writes = Some(Arc::clone(&writer.writes));
        controller.writer = Some(writer);
        controller
    }

    /// Runs an object when an object changes that it owns, as controller.
    ///
    /// Runs wait until the cache shows what they wrote: see [`Context`](crate::Context).
    #[doc(alias = "Owns")]
    pub fn owns<T: Kind>(self, owned: &Cache<T>) -> Self {
        self.waits_for(owned).source(owned.owners::<R::Object>())
    }

    /// Runs the objects that `map` returns when an object changes, for the object before and after
    /// the change. Runs wait for the cache as with [`owns`](Self::owns). For a cache of another API
    /// server use [`source`](Self::source) and [`Cache::watches`].
    #[doc(alias = "Watches")]
    pub fn watches<T, I>(
        self,
        cache: &Cache<T>,
        map: impl Fn(&T) -> I + Send + Sync + 'static,
    ) -> Self
    where
        T: Kind,
        I: IntoIterator<Item = ObjectKey>,
    {
        self.waits_for(cache).source(cache.watches(map))
    }

    /// Puts this finalizer, such as `example.com/foo`, on each object before its first run, and
    /// removes it when [`cleanup`](ObjectReconciler::cleanup) is complete. Several controllers may
    /// each have their own on one object.
    ///
    /// To restrict it to some objects, give the controller a cache with a selector
    /// ([`CacheConfig::labels`](crate::CacheConfig::labels)): other objects have no run. Let no
    /// object leave the selector before its `cleanup`, because then nobody removes the finalizer. A
    /// controller of keys chooses each object by itself, with [`Finalizers`](crate::Finalizers).
    #[doc(alias = "AddFinalizer")]
    pub fn finalizer(mut self, name: impl Into<Arc<str>>) -> Self {
        if let Some(adapter) = Arc::get_mut(&mut self.reconciler) {
            adapter.finalizer = Some(name.into());
        }
        self
    }

    /// Sets the interval after which each object runs again though nothing has changed: at least
    /// 1 s. Off by default.
    ///
    /// It finds changes outside of the cluster, such as a bucket that somebody deletes by hand. The
    /// cache misses no change inside of it, so no controller needs a resync for those.
    ///
    /// - Each object of the controller's cache runs once an interval, up to a tenth of the interval
    ///   sooner or later, at random. [`Request::reasons`](crate::Request::reasons) show
    ///   [`Reason::Resynced`](crate::Reason::Resynced).
    /// - Changes pass these runs, as they pass the objects of the start.
    /// - A failing object keeps its retry and its attempts, and a parked one stays parked.
    /// - A predicate of the controller's objects ([`Cache::when`]) is asked as at the start.
    ///
    /// A controller of keys ([`keyed`](Self::keyed)) does not know its keys. Give it a
    /// [`Source::stream`](crate::Source::stream) that names them.
    #[doc(alias = "SyncPeriod")]
    #[doc(alias = "resync_period")]
    pub fn resync(mut self, every: Duration) -> Self {
        self.resync = Some(Resync::new(every, self.reconciler.cache.clone()));
        self
    }

    /// Sets whether events of own writes run no object. By default they run it again, unless its
    /// run failed. With `true` a run must do all its steps, or request the next run
    /// ([`Action::requeue`](crate::Action::requeue)).
    ///
    /// An event is own if it shows a write of a run of the same object through its
    /// [`Context`](crate::Context), and nothing else. These are never own:
    ///
    /// - deletions that take effect later, when others have removed their finalizers;
    /// - changes of a kind of which the controller has no cache of whole objects;
    /// - changes that a new list shows, not the watch;
    /// - writes without an answer;
    /// - patches and applies that changed more than they say, as beside the write of another.
    ///
    /// Other objects and other controllers see an ordinary change.
    pub fn ignore_own_writes(mut self, ignores: bool) -> Self {
        self.policy.ignores_own_writes = ignores;
        self
    }

    /// Pauses each object that has this annotation, such as `example.com/paused`, with any value
    /// but `false`: neither [`reconcile`](ObjectReconciler::reconcile) nor
    /// [`cleanup`](ObjectReconciler::cleanup) runs for it. The object runs when the annotation is
    /// removed.
    ///
    /// A paused object that is deleted stays until then, if it has the controller's finalizer.
    #[doc(alias = "ResourceNotPaused")]
    pub fn pause_annotation(mut self, name: impl Into<Arc<str>>) -> Self {
        if let Some(adapter) = Arc::get_mut(&mut self.reconciler) {
            adapter.pause_annotation = Some(name.into());
        }
        self
    }

    fn waits_for<T: Kind>(self, cache: &Cache<T>) -> Self {
        self.reconciler.writer.read_by(cache);
        self
    }
}
