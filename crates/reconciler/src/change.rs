//! `Change`: the old and new state of one object, as sources see it.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;

use crate::ObjectKey;

/// One object before and after a change. At least one side is present.
///
/// A deletion while the watch was down is an ordinary change: `old` is the last known state. An
/// object that was deleted and re-created under its name gives two changes, a deletion and an
/// appearance.
#[derive(Debug)]
#[non_exhaustive]
pub struct Change<K> {
    /// The object as it was; `None` if it appeared.
    pub old: Option<Arc<K>>,
    /// The object as it is; `None` if it is gone.
    #[doc(alias = "tombstone")]
    #[doc(alias = "DeletedFinalStateUnknown")]
    pub new: Option<Arc<K>>,
    /// Whether this change shows a new subscriber an object that existed before.
    pub initial: bool,
    /// Whether the watch showed it. A list may show several writes as one change.
    pub(crate) is_event: bool,
}

/// One write of an object: its uid, and its version before and after. `old` is `None` if the write
/// created the object, and both are if it deleted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Step<'a> {
    uid: &'a str,
    old: Option<&'a str>,
    new: Option<&'a str>,
}

impl<'a> Step<'a> {
    /// `None` if nothing was written, or if the server did not name uid and version.
    pub(crate) fn new(old: Option<&'a str>, new: &'a ObjectMeta) -> Option<Self> {
        let (uid, new) = (new.uid.as_deref()?, new.resource_version.as_deref()?);
        (old != Some(new)).then_some(Self { uid, old, new: Some(new) })
    }

    /// The deletion of the object of this uid.
    pub(crate) fn deletion(uid: &'a str) -> Self {
        Self { uid, old: None, new: None }
    }
}

impl<K> Clone for Change<K> {
    fn clone(&self) -> Self {
        Self { old: self.old.clone(), new: self.new.clone(), ..*self }
    }
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChangeKind {
    /// The object is new to the cache.
    Appeared,
    /// The object has another version.
    Changed,
    /// The object is gone.
    Vanished,
}

impl<K> Change<K> {
    pub(crate) fn appeared(new: Arc<K>) -> Self {
        Self { old: None, new: Some(new), initial: false, is_event: false }
    }

    pub(crate) fn changed(old: Arc<K>, new: Arc<K>) -> Self {
        Self { old: Some(old), new: Some(new), initial: false, is_event: false }
    }

    pub(crate) fn vanished(old: Arc<K>) -> Self {
        Self { old: Some(old), new: None, initial: false, is_event: false }
    }

    /// Returns the kind of the change.
    pub fn kind(&self) -> ChangeKind {
        match (&self.old, &self.new) {
            (None, Some(_)) => ChangeKind::Appeared,
            (_, None) => ChangeKind::Vanished,
            (Some(_), Some(_)) => ChangeKind::Changed,
        }
    }

    /// Returns the newest known state: `new`, or the last known state of a deleted object.
    pub fn object(&self) -> Option<&Arc<K>> {
        self.new.as_ref().or(self.old.as_ref())
    }

    /// Returns the present sides, old first. Use it for mappings that follow an object from one
    /// owner to another.
    pub fn both(&self) -> impl Iterator<Item = &Arc<K>> {
        self.old.iter().chain(self.new.iter())
    }
}

impl<K: Resource> Change<K> {
    /// Returns the object's key; `None` only for an object without a name, which no cache holds.
    pub fn key(&self) -> Option<ObjectKey> {
        self.object().and_then(|object| ObjectKey::of(&**object))
    }

    /// The write that the change shows, if it shows one.
    pub(crate) fn step(&self) -> Option<Step<'_>> {
        if !self.is_event {
            return None;
        }
        let Some(new) = &self.new else {
            return Some(Step::deletion(self.old.as_ref()?.meta().uid.as_deref()?));
        };
        let old = match &self.old {
            Some(old) => Some(old.meta().resource_version.as_deref()?),
            None => None,
        };
        Step::new(old, new.meta())
    }

    /// Returns whether only the status changed, as far as a kind with a generation shows it.
    pub(crate) fn is_of_status(&self) -> bool {
        let (Some(old), Some(new)) = (&self.old, &self.new) else { return false };
        let (old, new) = (old.meta(), new.meta());
        new.generation.is_some()
            && old.generation == new.generation
            && old.labels == new.labels
            && old.annotations == new.annotations
            && old.finalizers == new.finalizers
            && old.owner_references == new.owner_references
            && old.deletion_timestamp == new.deletion_timestamp
    }
}

impl fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Appeared => "appeared",
            Self::Changed => "changed",
            Self::Vanished => "vanished",
        })
    }
}
