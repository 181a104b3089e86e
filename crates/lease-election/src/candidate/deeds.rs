//! Deeds: the reads and writes that a candidate asks for, and the news that their answers bring.

use std::time::Duration;

use jiff::Timestamp;

use crate::clock::Moment;
use crate::loss::Loss;
use crate::record::Record;
use crate::version::{FenceToken, Version};

/// What a write is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Purpose {
    Acquire,
    Renew,
    Release,
}

/// A write as it is sent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Write {
    pub(crate) serial: u64,
    pub(crate) purpose: Purpose,
    /// The version it is conditional on; `None` creates.
    pub(crate) base: Option<Version>,
    pub(crate) record: Record,
    /// The instant before it was sent: from here its hold counts.
    pub(crate) sent: Moment,
    /// The server said that it did not apply it.
    pub(super) refused: bool,
}

/// A read that is under way: what was known when it was sent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Read {
    pub(crate) changes: u64,
    pub(crate) sent: Moment,
    /// Sent because nothing had been heard for a while, not because something is known to have
    /// changed.
    pub(crate) routine: bool,
}

/// What to do now.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Action {
    Read,
    Write(Purpose),
    Wait(Moment),
}

/// What an input meant.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[must_use]
pub(crate) enum News {
    Nothing,
    Acquired(Tenure),
    /// The term goes on until then.
    Renewed(Moment),
    /// The term is over.
    Ended(Loss),
    /// The lease was given back.
    Released,
    #[cfg(feature = "coordinated")]
    /// The server's controller asks this elector to make way for another.
    Unpreferred,
}

/// How the lease may be got.
#[cfg(feature = "coordinated")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Manner {
    /// By the ordinary rule. Nobody else elects.
    Free,
    /// By a grant of the server's controller. `stands`: it knows this candidate; `impatient`: where
    /// nobody is elected for long, this one goes alone.
    Elected { stands: bool, impatient: bool },
    /// There is no controller, but another candidate may see one.
    Alone,
}

/// A term, as the protocol sees it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Tenure {
    pub(crate) fence: FenceToken,
    pub(crate) acquire_time: Timestamp,
    /// How long the lease had been anybody's, as far as was seen, when it was known to be this
    /// one's.
    pub(crate) vacant_for: Duration,
    /// When the last successful write was sent.
    pub(crate) sent: Moment,
    /// `sent` and the hold.
    pub(crate) until: Moment,
    /// Whether a renewal succeeded.
    pub(crate) renewed: bool,
}
