//! How a delete goes, where kinds differ.

/// How the first delete of an object goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deletion {
    /// The object is removed, unless finalizers or a grace period hold it.
    Generic,
    /// The strategy marks the object, and a controller holds it until it has cleaned up.
    Cleanup,
    /// The strategy marks the object, and nothing else happens. Finalizers and options are looked
    /// at by the next delete.
    Mark,
}

/// What becomes of the dependents of a deleted object if the options of the delete do not say.
#[doc(alias = "GarbageCollectionPolicy")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dependents {
    /// The garbage collector deletes them.
    Delete,
    /// They stay, and the client gets this warning.
    Orphan(&'static str),
    /// There can be none: whatever the options say, the garbage collector gets no finalizer.
    Unsupported,
}

/// What the options of a delete say of the dependents.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Propagation<'a> {
    /// `propagationPolicy`.
    pub(crate) policy: Option<&'a str>,
    /// `orphanDependents`, which is older.
    pub(crate) orphans: Option<bool>,
}
