//! Deeds: the reads and writes that a candidate asks for, and the news that their answers bring.

use std::time::Duration;

use jiff::Timestamp;

use crate::clock::Moment;
use crate::loss::Loss;
use crate::record::Record;
use crate::version::{FenceToken, Version};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Purpose {
    Acquire,
    Renew,
    Release,
}

/// A write request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Write {
    pub(crate) serial: u64,
    pub(crate) purpose: Purpose,
    /// The version that the write is conditional on; `None` creates.
    pub(crate) base: Option<Version>,
    pub(crate) record: Record,
    /// The instant before the write was sent: its hold counts from here.
    pub(crate) sent: Moment,
    /// The server said that it did not apply the write.
    pub(super) refused: bool,
}

/// A read in flight, with the candidate's count of changes when it was sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Read {
    pub(crate) changes: u64,
    pub(crate) sent: Moment,
    /// The candidate reads because it heard nothing for a while, not because of a known change.
    pub(crate) routine: bool,
}

/// The next action for the driver.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Action {
    Read,
    Write(Purpose),
    Wait(Moment),
}

/// The meaning of an input.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[must_use]
pub(crate) enum News {
    Nothing,
    Acquired(Hold),
    /// The new end of the term.
    Renewed(Moment),
    /// The term ended.
    Ended(Loss),
    /// The lease was released.
    Released,
    #[cfg(feature = "coordinated")]
    /// The API server's controller asks this leader to yield to another candidate.
    Unpreferred,
}

/// How this candidate may get the lease.
#[cfg(feature = "coordinated")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Manner {
    /// By the ordinary rule: no controller elects.
    Free,
    /// By a grant of the API server's controller. `stands`: the controller knows this candidate.
    /// `impatient`: after a long silence of the controller this candidate elects alone.
    Elected { stands: bool, impatient: bool },
    /// This candidate sees no controller, but another candidate may see one.
    Alone,
}

/// The hold of the lease: what the protocol knows of a term.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Hold {
    pub(crate) fence: FenceToken,
    pub(crate) acquire_time: Timestamp,
    /// How long the lease was vacant, as far as this candidate saw, when it learned that it leads.
    pub(crate) vacant_for: Duration,
    /// When the last successful write was sent.
    pub(crate) sent: Moment,
    /// `sent` plus the hold.
    pub(crate) until: Moment,
    /// Whether a renewal succeeded.
    pub(crate) renewed: bool,
}
