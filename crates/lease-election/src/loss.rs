//! Loss: why a term is over. Plain data, shared by the protocol that finds out and the guard that
//! tells.

/// Why a term is over.
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
    /// Somebody emptied the lease.
    Released,
    /// The Lease object is gone.
    Deleted,
    /// The Lease object was deleted and made again.
    Replaced,
    /// Somebody changed the record while it still names this identity: another process that uses
    /// it, or a person.
    ForeignWrite,
    /// The server went back to an older state of the Lease.
    Rewound,
    /// The work has ended, and with it the term.
    Finished,
    /// The work went on after a stop for longer than the drain time-out.
    Overran,
    /// The elector itself ended: its store or its clock panicked, or its runtime went away.
    Broken,
}
