//! Half: the two halves as far as they exist, and the writes that may be half made.

use std::cmp::Ordering;
use std::collections::VecDeque;

use crate::record::{Record, StoredLease};
use crate::version::compare_resource_versions;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Half {
    Primary,
    Secondary,
}

/// The two halves, as far as they exist.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Halves {
    pub(super) primary: Option<StoredLease>,
    pub(super) secondary: Option<StoredLease>,
}

/// A write that this store has sent, and that may be half made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Attempt {
    pub(super) record: Record,
    /// The halves that it replaces.
    pub(super) halves: Halves,
    /// Their joint record.
    pub(super) before: Record,
    /// The half that was sent first. The other was sent only if this one was made.
    pub(super) first: Half,
    /// How often its rest was tried.
    pub(super) tries: u32,
}

impl Half {
    pub(super) const BOTH: [Self; 2] = [Self::Primary, Self::Secondary];

    pub(super) const fn other(self) -> Self {
        match self {
            Self::Primary => Self::Secondary,
            Self::Secondary => Self::Primary,
        }
    }
}

impl Halves {
    pub(super) fn are_whole(&self) -> bool {
        self.primary.is_some() && self.secondary.is_some()
    }

    /// The newest of these writes of which one half is made, with that half.
    pub(super) fn half_made<'a>(
        &self,
        attempts: &'a VecDeque<Attempt>,
    ) -> Option<(&'a Attempt, Half)> {
        attempts.iter().rev().find_map(|attempt| Some((attempt, self.half_made_of(attempt)?)))
    }

    /// The half that is of this write, if the other is unchanged.
    fn half_made_of(&self, attempt: &Attempt) -> Option<Half> {
        // The mark alone says nothing: client-go keeps the annotations that it finds, beside a
        // record of its own.
        let is_of = |half| self.get(half).is_some_and(|lease| lease.record == attempt.record);
        // A label changes the version alone.
        let is_still = |half| match (self.get(half), attempt.halves.get(half)) {
            (Some(lease), Some(before)) => {
                lease.version.uid == before.version.uid && lease.record == before.record
            }
            (lease, before) => lease.is_none() && before.is_none(),
        };
        // The event of the second half may come before that of the first.
        Half::BOTH.into_iter().find(|half| is_of(*half) && is_still(half.other()))
    }

    /// Takes in a state of one half, unless a later one is known. Returns whether it was news.
    pub(super) fn see(&mut self, half: Half, lease: StoredLease) -> bool {
        let known = self.half(half);
        let is_later = known.as_ref().is_none_or(|known| {
            let order = compare_resource_versions(
                &lease.version.resource_version,
                &known.version.resource_version,
            );
            !matches!(order, Some(Ordering::Less | Ordering::Equal))
        });
        if is_later {
            *known = Some(lease);
        }
        is_later
    }

    pub(super) fn forget(&mut self, half: Half) {
        *self.half(half) = None;
    }

    pub(super) const fn get(&self, half: Half) -> Option<&StoredLease> {
        match half {
            Half::Primary => self.primary.as_ref(),
            Half::Secondary => self.secondary.as_ref(),
        }
    }

    pub(super) fn half(&mut self, half: Half) -> &mut Option<StoredLease> {
        match half {
            Half::Primary => &mut self.primary,
            Half::Secondary => &mut self.secondary,
        }
    }
}
