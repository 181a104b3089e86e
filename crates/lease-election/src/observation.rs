//! Observation: what one candidate knows of the Lease and since when, by its own clock. Others'
//! clocks never enter.

use std::time::Duration;

use crate::clock::Moment;
use crate::record::StoredLease;
use crate::version::Version;

/// What a candidate knows of the Lease.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each elector, and a box would stand in every pattern"
)]
pub enum Observation {
    /// Not read yet.
    Unknown,
    /// There is no Lease.
    Absent {
        /// From when on one may be made: later than now if the Lease of a live holder was deleted.
        free_at: Moment,
    },
    /// There is one.
    Present {
        /// Its last known version.
        lease: StoredLease,
        /// When this candidate first saw this record. A change of labels or annotations makes a
        /// new version, but no new record.
        since: Moment,
        /// Whether this elector wrote the record itself, in a term or an attempt that is over:
        /// then nobody acts under it.
        mine: bool,
        /// This candidate's random wait on top of an expiry.
        jitter: Duration,
    },
}

impl Observation {
    /// The version to watch from or to write on.
    pub(crate) fn version(&self) -> Option<&Version> {
        match self {
            Self::Present { lease, .. } => Some(&lease.version),
            _ => None,
        }
    }

    /// Who holds the lease; `None` if nobody does, or if it is not known.
    pub(crate) fn holder(&self) -> Option<&str> {
        match self {
            Self::Present { lease, .. } if !lease.record.is_free() => Some(&lease.record.holder),
            _ => None,
        }
    }
}
