//! `Context`: one run on one object: its request, and the writes that it makes.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use kube::Resource;
use kube::api::Patch;
use kube::core::object::HasStatus;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::finalizers::Finalizers as _;
use super::json::merge_patch;
use super::writer::{TypedKind, Writer, is_of_cluster, kind};
use crate::{EventType, Failure, ObjectKey, Request};

/// One run of an [`ObjectReconciler`](crate::ObjectReconciler): its [`Request`], and its writes.
///
/// Each write names the controller as field manager, and returns the object as the server has it.
/// The next run of the key starts when the caches of the controller show the writes of this run, or
/// after 10 s. So a run that creates an object sees it the next time, and does not create another.
/// A cache shows only what its namespace and its selector cover. For a selector by fields or by a
/// set of labels only writes of objects that the cache has are waited for.
pub struct Context<K: TypedKind> {
    request: Request<ObjectKey>,
    /// The object as this run last read or wrote it.
    object: Mutex<Arc<K>>,
    writer: Arc<Writer>,
}

impl<K: TypedKind> Context<K> {
    pub(crate) fn new(request: Request<ObjectKey>, object: Arc<K>, writer: Arc<Writer>) -> Self {
        Self { request, object: Mutex::new(object), writer }
    }

    /// Returns the object as this run last read or wrote it.
    pub fn object(&self) -> Arc<K> {
        Arc::clone(&self.object.lock())
    }

    /// Returns whether the object of this run is the other's controller.
    #[doc(alias = "IsControlledBy")]
    pub fn controls<T: Resource>(&self, other: &T) -> bool {
        let uid = self.object.lock().meta().uid.clone();
        let mut owners = other.meta().owner_references.iter().flatten();
        owners.any(|owner| owner.controller == Some(true) && Some(&owner.uid) == uid.as_ref())
    }

    /// Makes an object that the object of this run owns as `child` says, by server-side apply.
    ///
    /// It gets the run's object as its controller, and its namespace if it names none. Fields of
    /// other managers are taken over, and so is an object of this name that is there. Nothing is
    /// sent if the run's key applied the same before, and if a cache of the controller
    /// ([`owns`](crate::Controller::owns)) shows no change of the object since: it returns the
    /// cache's object. So each child is applied once after a start.
    ///
    /// Items that others add to a keyed list, such as containers or ports, stay. If theirs and
    /// yours exclude each other, the server refuses the apply (422).
    ///
    /// # Errors
    ///
    /// A terminal failure if the object has no name, or if it may not have this owner: owner
    /// references do not cross namespaces. Otherwise the server's error.
    #[doc(alias = "CreateOrUpdate")]
    pub async fn apply<T: TypedKind>(&self, child: T) -> Result<T, Failure> {
        let child = self.owned(child)?;
        self.writer.apply(self.request.key(), &child).await
    }

    /// As [`apply`](Self::apply), without an owner: for objects that outlive this one, or that are
    /// in another namespace. Nobody deletes them: see
    /// [`Controller::finalizer`](crate::Controller::finalizer).
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply), without that of the owner.
    pub async fn apply_unowned<T: TypedKind>(&self, object: T) -> Result<T, Failure> {
        let object = self.placed(object)?;
        self.writer.apply(self.request.key(), &object).await
    }

    /// Creates an object that the object of this run owns. It may have a `generateName`: the next
    /// run sees it. If the answer is lost, the run fails, and the next may create another.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply). An object that exists is a 409, which is a conflict.
    #[doc(alias = "SetControllerReference")]
    pub async fn create<T: TypedKind>(&self, child: T) -> Result<T, Failure> {
        let child = self.owned(child)?;
        self.writer.create(self.request.key(), &child).await
    }

    /// Changes an object by a merge patch (RFC 7396). Name its `metadata.resourceVersion` in the
    /// patch to change no other version.
    ///
    /// # Errors
    ///
    /// The server's error, also if the object is gone.
    pub async fn patch<T: TypedKind>(&self, key: &ObjectKey, patch: &Value) -> Result<T, Failure> {
        let patched: T =
            self.writer.patch(self.request.key(), key, None, &Patch::Merge(patch)).await?;
        if key == self.request.key()
            && let Some(own) = (&patched as &dyn Any).downcast_ref::<K>()
        {
            *self.object.lock() = Arc::new(own.clone());
        }
        Ok(patched)
    }

    /// Deletes an object, if it still has its uid. An object that is gone is no error.
    ///
    /// # Errors
    ///
    /// The server's error.
    pub async fn delete<T: TypedKind>(&self, object: &T) -> Result<(), Failure> {
        self.writer.delete(self.request.key(), object).await
    }

    /// Records an Event about the run's object, and returns at once: see
    /// [`EventRecorder`](crate::EventRecorder). `reason` is one word in CamelCase.
    #[doc(alias = "Eventf")]
    pub fn event(&self, kind: EventType, reason: &str, note: &str) {
        self.writer.events().record(&*self.object(), kind, reason, "Reconcile", note);
    }

    /// Changes the status of the run's object, by a merge patch of the subresource `status`.
    /// Nothing is sent if `change` changes nothing.
    ///
    /// Conditions that `change` sets ([`Conditions`](crate::Conditions)) get the object's
    /// generation as their observed generation.
    ///
    /// For kinds that `kube::CustomResource` derives. A built-in kind does not have kube's
    /// `HasStatus`: write its status with `kube::Api::patch_status`. No run waits for that write,
    /// and its event is not own.
    ///
    /// # Errors
    ///
    /// The server's error. If the object has changed since the run read it, this is a 409, which is
    /// a conflict: the key runs again.
    ///
    /// # Panics
    ///
    /// If `change` panics.
    pub async fn update_status(&self, change: impl FnOnce(&mut K::Status)) -> Result<(), Failure>
    where
        K: HasStatus<Status: Default>,
    {
        let old = self.object();
        let mut new = K::clone(&old);
        change(new.status_mut().get_or_insert_default());
        let status = |object: &K| -> Result<Value, Failure> {
            Ok(serde_json::to_value(object).map_err(kube::Error::SerdeError)?["status"].take())
        };
        let (before, mut after) = (status(&old)?, status(&new)?);
        if before.is_null() && after.as_object().is_some_and(serde_json::Map::is_empty) {
            return Ok(()); // Neither says anything.
        }
        let generation = old.meta().generation;
        let held = before["conditions"].as_array().into_iter().flatten();
        let held: Vec<&Value> = held.collect();
        for condition in after["conditions"].as_array_mut().into_iter().flatten() {
            if !held.contains(&&*condition)
                && condition["observedGeneration"].is_null()
                && let (Some(generation), Some(condition)) = (generation, condition.as_object_mut())
            {
                condition.insert("observedGeneration".to_owned(), generation.into());
            }
        }
        let Some(difference) = merge_patch(&before, &after) else { return Ok(()) };
        let version = &old.meta().resource_version;
        let patch = json!({"metadata": {"resourceVersion": version}, "status": difference});
        self.write_own(Some("status"), &patch).await
    }

    /// Adds or removes a finalizer of the run's object. An object that is gone has none.
    pub(crate) async fn set_finalizer(&self, name: &str, is_set: bool) -> Result<(), Failure> {
        let Some(patch) = self.object().finalizer_patch(name, is_set) else { return Ok(()) };
        match self.write_own(None, &patch).await {
            Err(failure) if !is_set && failure.status().is_some_and(|it| it.code == 404) => Ok(()),
            outcome => outcome,
        }
    }

    async fn write_own(&self, subresource: Option<&str>, patch: &Value) -> Result<(), Failure> {
        let key = self.request.key();
        let written = self.writer.patch(key, key, subresource, &Patch::Merge(patch)).await?;
        *self.object.lock() = Arc::new(written);
        Ok(())
    }

    /// The object in its namespace: that of the run's object, if it names none.
    fn placed<T: TypedKind>(&self, mut object: T) -> Result<T, Failure> {
        let meta = object.meta_mut();
        if is_of_cluster::<T>() {
            meta.namespace = None;
        } else if meta.namespace.is_none() {
            meta.namespace = self.request.key().namespace().map(str::to_owned);
            if meta.namespace.is_none() {
                let kind = kind::<T>();
                return Err(Failure::terminal(format!(
                    "the {kind} names no namespace, and the object of the run has none: set metadata.namespace"
                )));
            }
        }
        Ok(object)
    }

    /// The object in its namespace, with its owner.
    fn owned<T: TypedKind>(&self, object: T) -> Result<T, Failure> {
        let mut object = self.placed(object)?;
        let owner = self.object();
        let meta = object.meta_mut();
        let namespace = self.request.key().namespace();
        if namespace.is_some() && namespace != meta.namespace.as_deref() {
            return Err(Failure::terminal(format!(
                "the {} {} cannot be owned by the {} {}: owner references do not cross namespaces; use \
                 Context::apply_unowned and Controller::finalizer",
                kind::<T>(),
                ObjectKey::from_meta(meta).map_or_else(String::new, |key| key.to_string()),
                kind::<K>(),
                self.request.key(),
            )));
        }
        if self.writer.is_unshown::<T>() {
            let kind = kind::<T>();
            tracing::warn!(
                kind,
                "no cache of this controller shows the objects that it owns: a deletion by others causes no run; add Controller::owns"
            );
        }
        let reference =
            owner.controller_owner_ref(&()).ok_or("the object of the run has no uid")?;
        let references = meta.owner_references.get_or_insert_default();
        references.retain(|held| held.uid != reference.uid);
        references.push(reference);
        Ok(object)
    }
}

/// A context is its run's request: `cx.key()`, `cx.attempt()`, `cx.cancelled()`.
impl<K: TypedKind> Deref for Context<K> {
    type Target = Request<ObjectKey>;

    fn deref(&self) -> &Request<ObjectKey> {
        &self.request
    }
}

impl<K: TypedKind> fmt::Debug for Context<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("request", &self.request).finish_non_exhaustive()
    }
}
