//! `ObjectReconciler`: the work of a controller on one object, and the adapter that makes it a
//! `Reconciler` of keys.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use super::context::Context;
use super::finalizers::Finalizers as _;
use super::writer::{TypedKind, Writer};
use crate::predicate::is_paused;
use crate::{Action, Cache, Failure, ObjectKey, Reconciler, Request};

/// Moves the actual state of one object towards its desired state.
///
/// The object is the cache's. A missing object has no run. An object that is being deleted has none
/// either, but [`cleanup`](Self::cleanup) if the controller has a
/// [finalizer](crate::Controller::finalizer): the garbage collector deletes what it owns. Otherwise
/// all that [`Reconciler`] says holds.
///
/// See the [crate's page](crate) for a program.
pub trait ObjectReconciler: Send + Sync + 'static {
    /// The kind of the objects.
    type Object: TypedKind;

    /// Runs once for one object.
    ///
    /// # Errors
    ///
    /// Any failure. `?` on an error retries the object as [`Failure`] describes.
    #[doc(alias = "Reconcile")]
    fn reconcile(
        &self,
        object: &Self::Object,
        cx: &Context<Self::Object>,
    ) -> impl Future<Output = Result<Action, Failure>> + Send;

    /// Undoes what the garbage collector cannot: runs once for an object that is being deleted and
    /// has the controller's finalizer. It may run again after it has completed. Without
    /// [`Controller::finalizer`](crate::Controller::finalizer) it never runs.
    ///
    /// # Errors
    ///
    /// Any failure. The finalizer stays, and `cleanup` runs again.
    fn cleanup(
        &self,
        object: &Self::Object,
        cx: &Context<Self::Object>,
    ) -> impl Future<Output = Result<Cleanup, Failure>> + Send {
        let _ = (object, cx);
        std::future::ready(Ok(Cleanup::Complete))
    }
}

/// How far a cleanup is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Cleanup {
    /// Nothing is left: the finalizer is removed.
    Complete,
    /// Something is left: the finalizer stays, and the cleanup runs again as the action says.
    Incomplete(Action),
}

/// An [`ObjectReconciler`] as a [`Reconciler`]. Made by
/// [`Controller::new`](crate::Controller::new).
pub struct ObjectAdapter<R: ObjectReconciler> {
    reconciler: R,
    pub(crate) cache: Cache<R::Object>,
    pub(crate) finalizer: Option<Arc<str>>,
    pub(crate) pause_annotation: Option<Arc<str>>,
    pub(crate) writer: Arc<Writer>,
}

impl<R: ObjectReconciler> ObjectAdapter<R> {
    pub(crate) fn new(reconciler: R, cache: Cache<R::Object>, writer: Writer) -> Self {
        Self {
            reconciler,
            cache,
            finalizer: None,
            pause_annotation: None,
            writer: Arc::new(writer),
        }
    }
}

impl<R: ObjectReconciler> Reconciler for ObjectAdapter<R> {
    type Key = ObjectKey;

    async fn reconcile(&self, request: Request<ObjectKey>) -> Result<Action, Failure> {
        let key = request.key().clone();
        let _run = self.writer.writes.run(&key);
        let Some(object) = self.cache.get(&key) else {
            self.writer.writes.forget(&key);
            return Ok(Action::await_change());
        };
        let meta = kube::Resource::meta(&*object);
        if self.pause_annotation.as_deref().is_some_and(|name| is_paused(meta, name)) {
            return Ok(Action::await_change());
        }
        let is_deleted = meta.deletion_timestamp.is_some();
        let finalizer = self.finalizer.as_deref();
        let has_finalizer = finalizer.is_some_and(|name| object.has_finalizer(name));
        let cx = Context::new(request, object, Arc::clone(&self.writer));
        match finalizer {
            Some(name) if is_deleted && has_finalizer => {
                match self.reconciler.cleanup(&cx.object(), &cx).await? {
                    Cleanup::Complete => cx.set_finalizer(name, false).await?,
                    Cleanup::Incomplete(action) => return Ok(action),
                }
                Ok(Action::await_change())
            }
            _ if is_deleted => Ok(Action::await_change()),
            name => {
                // Before the first effect: what a run makes, a cleanup can undo.
                if let Some(name) = name.filter(|_| !has_finalizer) {
                    cx.set_finalizer(name, true).await?;
                }
                self.reconciler.reconcile(&cx.object(), &cx).await
            }
        }
    }
}

impl<R: ObjectReconciler> fmt::Debug for ObjectAdapter<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectAdapter")
            .field("cache", &self.cache)
            .field("finalizer", &self.finalizer)
            .finish_non_exhaustive()
    }
}
