//! Half: one lease of the two, both as far as they are there, and the writes of which perhaps one
//! half was made. Pure.

use std::cmp::Ordering;
use std::collections::VecDeque;

use crate::record::{Record, StoredLease};
use crate::version::compare_resource_versions;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Half {
    Primary,
    Secondary,
}

/// The two halves as far as they are there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Halves {
    pub(super) primary: Option<StoredLease>,
    pub(super) secondary: Option<StoredLease>,
}

/// A write of this store that was sent, of which perhaps only one half was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Attempt {
    pub(super) record: Record,
    /// What it was to replace.
    pub(super) halves: Halves,
    /// What that said as a whole.
    pub(super) before: Record,
    /// The half that was sent first: unless that was made the other was not sent.
    pub(super) first: Half,
    /// How often what it has left to do was tried.
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

    /// The newest of these writes of which one half is made, and that half.
    pub(super) fn half_made<'a>(
        &self,
        attempts: &'a VecDeque<Attempt>,
    ) -> Option<(&'a Attempt, Half)> {
        attempts.iter().rev().find_map(|attempt| Some((attempt, self.half_made_of(attempt)?)))
    }

    /// The half that is of this write, if the other is as it was before.
    fn half_made_of(&self, attempt: &Attempt) -> Option<Half> {
        // The mark alone says nothing: client-go keeps the annotations that it finds, ours among
        // them, beside a record of its own.
        let is_of = |half| self.get(half).is_some_and(|lease| lease.record == attempt.record);
        // A label makes a new version of what it was before.
        let is_still = |half| match (self.get(half), attempt.halves.get(half)) {
            (Some(lease), Some(before)) => {
                lease.version.uid == before.version.uid && lease.record == before.record
            }
            (lease, before) => lease.is_none() && before.is_none(),
        };
        // Whichever is written first, the event of the other may come before.
        Half::BOTH.into_iter().find(|half| is_of(*half) && is_still(half.other()))
    }

    /// Takes in a state of one half, unless a later one is known. Whether it was news.
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
