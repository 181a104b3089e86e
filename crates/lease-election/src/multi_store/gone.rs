//! Gone: what is remembered of a half that was there. Whoever led under it may act for a lease
//! after its deletion. Pure.

use std::collections::VecDeque;

use super::half::{Attempt, Half, Halves};
use crate::record::{Record, StoredLease};

/// What is remembered of both halves.
#[derive(Default, Debug)]
pub(super) struct Gone {
    primary: Trace,
    secondary: Trace,
}

#[derive(Default, Debug)]
struct Trace {
    /// What it said when it was last there; `None` if it has not been there since it was found
    /// missing.
    seen: Option<Record>,
    /// What it said before it went, until that has been waited for.
    last: Option<Record>,
    /// How often it went. Part of the version while it is missing, because "none" comes back and a
    /// version does not.
    times: u64,
}

impl Gone {
    /// Takes in both halves as they are told, and forgets the attempts that may no longer count.
    pub(super) fn see(&mut self, halves: &Halves, attempts: &mut VecDeque<Attempt>) {
        for (half, lease) in
            [(Half::Primary, &halves.primary), (Half::Secondary, &halves.secondary)]
        {
            match lease {
                Some(lease) => self.found(half, lease, attempts),
                None => self.missing(half, attempts),
            }
        }
    }

    /// The half is there.
    pub(super) fn found(
        &mut self,
        half: Half,
        lease: &StoredLease,
        attempts: &mut VecDeque<Attempt>,
    ) {
        let trace = self.of_mut(half);
        trace.seen = Some(lease.record.clone());
        trace.last = None;
        // Another made what was missing: that it is missing again will not mean that it is as it
        // was.
        attempts.retain(|attempt| !attempt.makes(half) || lease.record == attempt.record);
    }

    /// The half is not there, or was deleted.
    pub(super) fn missing(&mut self, half: Half, attempts: &mut VecDeque<Attempt>) {
        let trace = self.of_mut(half);
        if let Some(record) = trace.seen.take() {
            trace.last = Some(record);
            trace.times += 1;
            attempts.retain(|attempt| !attempt.makes(half));
        }
    }

    /// The half was in the way of this create, unseen: if it is missing when it is looked for, it
    /// went; and what an earlier create makes of it then does not count.
    pub(super) fn in_the_way(
        &mut self,
        half: Half,
        create: &Record,
        attempts: &mut VecDeque<Attempt>,
    ) {
        self.of_mut(half).seen.get_or_insert_default();
        attempts.retain(|attempt| !attempt.makes(half) || *create == attempt.record);
    }

    /// Who asks to make this half has waited for what was there.
    pub(super) fn waited(&mut self, half: Half) {
        self.of_mut(half).last = None;
    }

    /// What the half said before it went, if that has not been waited for, and which time it was.
    pub(super) fn last(&self, half: Half) -> Option<(&Record, u64)> {
        let trace = self.of(half);
        trace.last.as_ref().map(|record| (record, trace.times))
    }

    pub(super) fn times(&self, half: Half) -> u64 {
        self.of(half).times
    }

    fn of(&self, half: Half) -> &Trace {
        match half {
            Half::Primary => &self.primary,
            Half::Secondary => &self.secondary,
        }
    }

    fn of_mut(&mut self, half: Half) -> &mut Trace {
        match half {
            Half::Primary => &mut self.primary,
            Half::Secondary => &mut self.secondary,
        }
    }
}
