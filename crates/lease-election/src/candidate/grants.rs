//! Grants: what a candidate knows of the server's controller, where that elects or may have.

use jiff::Timestamp;

use super::Manner;
use crate::clock::Moment;
use crate::record::StoredLease;

/// What is known of the server's controller.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Grants {
    pub(super) manner: Manner,
    /// Since when the controller knows this candidate.
    pub(super) stands_from: Moment,
    /// Whether nobody was elected for so long that nobody is taken to elect.
    pub(super) unelected: bool,
    /// Since when no controller's hand is seen on the Lease, however often it changes, if none is.
    pub(super) untouched_from: Moment,
    /// Until then the one whose lease the controller took away may act, as far as this candidate
    /// has seen.
    pub(super) claim_not_before: Moment,
    /// The grant that is known, if somebody may have led before it whom the watch has not told of
    /// yet.
    pub(super) unproven: Option<Unproven>,
    /// The next event of the watch need not follow on what is known.
    pub(super) leaps: bool,
    /// The time in the last grant, and when that was seen: what the server's clock said.
    pub(super) servers: Option<(Timestamp, Moment)>,
    /// When the Lease was seen to go.
    pub(super) went: Moment,
}

/// A grant that was met, of which is not known yet what was before it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Unproven {
    /// What was known when it was met.
    pub(super) before: StoredLease,
    /// Until then one may act who led in between.
    pub(super) until: Moment,
}

impl Default for Grants {
    fn default() -> Self {
        Self {
            manner: Manner::Free,
            stands_from: Moment::default(),
            unelected: false,
            untouched_from: Moment::default(),
            claim_not_before: Moment::default(),
            unproven: None,
            leaps: false,
            servers: None,
            went: Moment::default(),
        }
    }
}
