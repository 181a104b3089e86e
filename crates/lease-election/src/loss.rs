//! Loss: why a term ended; the protocol finds it out, and the guard reports it.

/// Why a term ended.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Loss {
    /// The hold ran out without a successful renewal.
    Expired,
    /// Another candidate holds the lease.
    TakenOver {
        /// Its identity.
        by: String,
    },
    /// Another writer emptied the lease.
    Released,
    /// The Lease object was deleted.
    Deleted,
    /// The Lease object was deleted and made again.
    Replaced,
    /// Another writer changed the record, which still names this identity: a process that uses it
    /// too, or a person.
    ForeignWrite,
    /// The server returned to an older state of the Lease.
    Rewound,
    /// The work ended, and with it the term.
    Finished,
    /// After a stop the work took longer than the drain time-out.
    Overran,
    /// The elector itself failed: its store or its clock panicked, or its runtime ended.
    Broken,
}
