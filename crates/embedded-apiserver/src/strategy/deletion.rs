//! The parts of a delete that differ between kinds.

/// The effect of the first delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deletion {
    /// The object is removed, unless finalizers or a grace period hold it.
    Generic,
    /// The strategy marks the object, and a controller holds it until it has cleaned up.
    Cleanup,
    /// The strategy marks the object. The next delete reads finalizers and options.
    Mark,
}

/// The default for the dependents of a deleted object.
#[doc(alias = "GarbageCollectionPolicy")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dependents {
    /// The garbage collector deletes them.
    Delete,
    /// Dependents are orphaned, with this warning if there is one.
    Orphan(Option<&'static str>),
    /// The kind has no dependents: the garbage collector's finalizers are never set.
    Unsupported,
}

/// The options of a delete for dependents.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Propagation<'a> {
    /// `propagationPolicy`.
    pub(crate) policy: Option<&'a str>,
    /// `orphanDependents`, deprecated.
    pub(crate) orphans: Option<bool>,
}
