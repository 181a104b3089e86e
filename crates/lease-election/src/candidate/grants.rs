//! Grants: a candidate's knowledge of the API server's controller, where one elects or may have.

use jiff::Timestamp;

use super::Manner;
use crate::clock::Moment;
use crate::record::StoredLease;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Grants {
    pub(super) manner: Manner,
    /// Since when the controller knows this candidate.
    pub(super) stands_from: Moment,
    /// Whether the controller was silent for so long that the candidate concludes that none elects.
    pub(super) unelected: bool,
    /// Since when the Lease shows no sign of a controller, however often it changes. Valid only
    /// while it shows none.
    pub(super) untouched_from: Moment,
    /// The leader whose lease the controller took away may act until this moment, as far as this
    /// candidate has seen.
    pub(super) claim_not_before: Moment,
    /// Set while an unseen leader may have preceded the known grant: the watch has not told yet.
    pub(super) unproven: Option<Unproven>,
    /// The next event of the watch need not follow directly on the known version.
    pub(super) leaps: bool,
    /// The server's clock: the time in the last grant, and when this candidate saw it.
    pub(super) servers: Option<(Timestamp, Moment)>,
    /// When this candidate learned that the Lease was gone.
    pub(super) went: Moment,
}

/// What precedes a grant, as long as the watch has not proved it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Unproven {
    /// The state that was known before the grant.
    pub(super) before: StoredLease,
    /// A leader from in between may act until this moment.
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
