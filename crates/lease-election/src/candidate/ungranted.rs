//! Ungranted: the rules about grants in a build without coordinated election, which has none.
//! What another's controller writes there is an edit of the Lease (A7).

use jiff::Timestamp;

use super::News;
use super::state::Candidate;
use crate::clock::Moment;
use crate::decide::{Step, decide};
use crate::record::{Marks, Record, StoredLease};
use crate::version::Version;

impl Candidate {
    pub(super) fn step(&self, now: Moment) -> Step {
        decide(&self.known.observation, &self.config, now)
    }

    pub(super) fn claim_from(&self) -> Moment {
        Moment::default()
    }

    pub(crate) fn watch_from(&self) -> Option<&Version> {
        self.known.observation.version()
    }

    pub(crate) fn marks(&self) -> Marks {
        Marks::All
    }

    pub(super) fn declines_grant(&self) -> Option<bool> {
        None
    }

    pub(super) fn claim(&self, _held: &Record, _wall: Timestamp) -> Option<Record> {
        None
    }

    pub(super) fn keep_notes(&self, _held: &Record, released: Record) -> Record {
        released
    }

    pub(super) fn servers_time(&self, _now: Moment) -> Option<Timestamp> {
        None
    }

    pub(super) fn noted(&mut self, _now: Moment, _lease: StoredLease) -> News {
        News::Nothing
    }

    pub(super) fn is_coordinated(&self) -> bool {
        false
    }

    pub(super) fn is_elected(&self) -> bool {
        false
    }

    pub(crate) fn is_granted(&self) -> bool {
        false
    }

    pub(crate) fn is_unpreferred(&self) -> bool {
        false
    }

    pub(crate) fn may_decline(&self, _now: Moment) -> bool {
        false
    }

    pub(super) fn differs_in_notes(&self, _one: &Record, _other: &Record) -> bool {
        false
    }

    pub(super) fn take_leap(&mut self) -> bool {
        false
    }

    pub(crate) fn opened(&mut self, _leaps: bool) {}

    pub(super) fn told(&mut self, _lease: &StoredLease, _leapt: bool) {}

    pub(super) fn note_successor(&mut self, _now: Moment, _lease: &StoredLease) {}

    pub(super) fn note_end(&mut self, _now: Moment) {}
}
