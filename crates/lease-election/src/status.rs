//! Status and Stats: what an elector reports about itself, and the counters behind it.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use crate::error::StoreError;
use crate::latency::Latency;
use crate::loss::Loss;
#[cfg(feature = "coordinated")]
use crate::standing::Candidacy;
use crate::version::Version;

/// What an elector is doing now.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Status {
    /// Whether this elector leads, by the clock (`leader_election_master_status`).
    pub leading: bool,
    /// The last holder seen, this elector included. For display.
    pub leader: Option<String>,
    /// Why the elector makes no progress: the last failure, if the last request failed. (As text it
    /// is cut to 256 bytes, with control characters escaped.)
    ///
    /// [`StoreError::Altered`] stays until a write is stored as it was sent.
    /// [`StoreError::Conflict`] appears after repeated conflicts on one version (a quota,
    /// admission), not after a lost race. It stays until a write succeeds or another version is
    /// seen.
    pub blocked: Option<StoreError>,
    /// Whether [`Maintenance`](crate::Maintenance) keeps it from leading.
    pub maintenance: bool,
    /// Whether it is still [warming up](crate::LeaderElector::warm_up).
    pub warming_up: bool,
    /// Whether the watch is open. Without it the elector polls.
    pub watching: bool,
    /// The error that ended the last watch or kept it from opening; `None` while the watch is open.
    pub unwatched: Option<StoreError>,
    /// The state of the LeaseCandidate; `None` outside coordinated election.
    #[cfg(feature = "coordinated")]
    pub candidacy: Option<Candidacy>,
}

/// Failed requests by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Failures {
    /// The lease had changed, or existed already. `MultiStore` also answers so when it completed an
    /// earlier write.
    pub conflict: u64,
    /// The server refused: permissions, validation, no such namespace.
    pub rejected: u64,
    /// The server was overloaded.
    pub too_many_requests: u64,
    /// No certain answer: time-outs, broken connections, server errors.
    pub unknown: u64,
    /// Anything else.
    pub other: u64,
}

impl Failures {
    fn count(&mut self, error: &StoreError) {
        let counter = match error {
            StoreError::Conflict => &mut self.conflict,
            StoreError::Rejected { .. } => &mut self.rejected,
            StoreError::TooManyRequests { .. } => &mut self.too_many_requests,
            StoreError::Unknown { .. } => &mut self.unknown,
            _ => &mut self.other,
        };
        *counter = counter.saturating_add(1);
    }

    /// The sum of all.
    #[must_use]
    pub fn total(&self) -> u64 {
        [self.rejected, self.too_many_requests, self.unknown, self.other]
            .iter()
            .fold(self.conflict, |sum, n| sum.saturating_add(*n))
    }
}

/// Ended terms by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Losses {
    /// The hold ran out.
    pub expired: u64,
    /// Another candidate took the lease.
    pub taken_over: u64,
    /// The Lease was deleted, or deleted and made again.
    pub deleted: u64,
    /// A foreign write: it emptied or changed the lease, or the server went back to an older state.
    pub foreign_write: u64,
    /// The work took longer to stop than the drain time-out.
    pub overran: u64,
    /// The store or the clock panicked, or the runtime went away.
    pub broken: u64,
}

/// Counters since the elector was made. They never decrease.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Terms begun.
    pub terms: u64,
    /// Terms that ended for another reason than the end of their work.
    pub losses: Losses,
    /// Renewals that succeeded.
    pub renewals: u64,
    /// The time of each renewal, from before it was sent to its answer. A renewal whose answer was
    /// lost does not count.
    pub renew_latency: Latency,
    /// How long the lease had been free before each term, as far as this elector saw: released,
    /// expired, missing, or granted to it. Includes the random wait before a take-over.
    pub take_over_latency: Latency,
    /// How long work took to end after a stop was requested, if it ended within the drain time-out
    /// and its term. Work that requested the stop itself and ended at once does not count.
    pub drain_latency: Latency,
    /// Reads of the lease.
    pub reads: u64,
    /// Writes that failed (`leader_election_slowpath_total`). client-go reads the lease after each;
    /// this elector does so where a read can tell more.
    #[doc(alias = "leader_election_slowpath_total")]
    pub slow_path: u64,
    /// Failed requests while leading.
    pub renew_failures: Failures,
    /// Failed requests while not leading.
    pub acquire_failures: Failures,
    /// Changes of the holder that this elector saw.
    pub transitions: u64,
    /// Leases released.
    pub releases: u64,
    /// Leases that were not released in time.
    pub failed_releases: u64,
    /// Times the watch was opened.
    pub watches: u64,
    /// Failures of the task that publishes the LeaseCandidate: it panicked, or its runtime shut
    /// down.
    pub publisher_failures: u64,
}

#[cfg(feature = "prometheus")]
impl Stats {
    /// Adds the counters of `other`.
    pub(crate) fn join(&mut self, other: &Self) {
        let add = |mine: &mut u64, more: u64| *mine = mine.saturating_add(more);
        for (mine, more) in [
            (&mut self.renew_failures, &other.renew_failures),
            (&mut self.acquire_failures, &other.acquire_failures),
        ] {
            let Failures { conflict, rejected, too_many_requests, unknown, other } = more;
            add(&mut mine.conflict, *conflict);
            add(&mut mine.rejected, *rejected);
            add(&mut mine.too_many_requests, *too_many_requests);
            add(&mut mine.unknown, *unknown);
            add(&mut mine.other, *other);
        }
        // Destructured, so that no new counter is forgotten here.
        let Self {
            terms,
            losses: Losses { expired, taken_over, deleted, foreign_write, overran, broken },
            renewals,
            renew_latency,
            take_over_latency,
            drain_latency,
            reads,
            slow_path,
            renew_failures: _,
            acquire_failures: _,
            transitions,
            releases,
            failed_releases,
            watches,
            publisher_failures,
        } = other;
        add(&mut self.terms, *terms);
        add(&mut self.losses.expired, *expired);
        add(&mut self.losses.taken_over, *taken_over);
        add(&mut self.losses.deleted, *deleted);
        add(&mut self.losses.foreign_write, *foreign_write);
        add(&mut self.losses.overran, *overran);
        add(&mut self.losses.broken, *broken);
        add(&mut self.renewals, *renewals);
        self.renew_latency.join(renew_latency);
        self.take_over_latency.join(take_over_latency);
        self.drain_latency.join(drain_latency);
        add(&mut self.reads, *reads);
        add(&mut self.slow_path, *slow_path);
        add(&mut self.transitions, *transitions);
        add(&mut self.releases, *releases);
        add(&mut self.failed_releases, *failed_releases);
        add(&mut self.watches, *watches);
        add(&mut self.publisher_failures, *publisher_failures);
    }
}

/// This many conflicts on one version of the Lease are no race: a lost race brings another version.
const CONFLICTS: u32 = 3;

/// The base of the last writes that met a conflict (`None`: no Lease), and their number in a row.
#[derive(Debug, Default)]
struct Conflicts {
    base: Option<Version>,
    met: u32,
}

/// The counters of one elector.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    counted: Mutex<(Stats, Status)>,
    conflicts: Mutex<Conflicts>,
}

impl Counters {
    fn with<R>(&self, change: impl FnOnce(&mut Stats, &mut Status) -> R) -> R {
        let mut held = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let (stats, status) = &mut *held;
        change(stats, status)
    }

    pub(crate) fn stats(&self) -> Stats {
        self.with(|stats, _| *stats)
    }

    /// The status without `leading`, `leader`, `maintenance` and `warming_up`, which other parts
    /// keep.
    pub(crate) fn status(&self) -> Status {
        self.with(|_, status| status.clone())
    }

    pub(crate) fn count(&self, counter: impl FnOnce(&mut Stats) -> &mut u64) {
        self.with(|stats, _| {
            let counter = counter(stats);
            *counter = counter.saturating_add(1);
        });
    }

    pub(crate) fn renewed(&self, took: Duration) {
        self.with(|stats, _| stats.renew_latency.note(took));
    }

    /// Counts a term, and how long its lease had been free.
    pub(crate) fn took_over(&self, vacant_for: Duration) {
        self.with(|stats, _| {
            stats.terms = stats.terms.saturating_add(1);
            stats.take_over_latency.note(vacant_for);
        });
    }

    pub(crate) fn drained(&self, took: Duration) {
        self.with(|stats, _| stats.drain_latency.note(took));
    }

    /// Counts a failure. Returns `true` if the server begins to alter records.
    pub(crate) fn failed(&self, leading: bool, error: &StoreError) -> bool {
        self.with(|stats, status| {
            let failures =
                if leading { &mut stats.renew_failures } else { &mut stats.acquire_failures };
            failures.count(error);
            let altered = matches!(status.blocked, Some(StoreError::Altered { .. }));
            let alters = matches!(error, StoreError::Altered { .. });
            // A lost race is no fault, and an error of every write outranks a single failure.
            if *error != StoreError::Conflict && (alters || !is_lasting(status.blocked.as_ref())) {
                status.blocked = Some(error.clone());
            }
            alters && !altered
        })
    }

    /// Notes a success; `written`: of a write.
    pub(crate) fn succeeded(&self, written: bool) {
        self.with(|_, status| {
            if written || !is_lasting(status.blocked.as_ref()) {
                status.blocked = None;
            }
        });
        if written {
            self.conflicts().met = 0;
        }
    }

    fn conflicts(&self) -> std::sync::MutexGuard<'_, Conflicts> {
        self.conflicts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a conflict on this version. Returns `true` when their number rules out a race.
    pub(crate) fn conflicted(&self, base: Option<&Version>) -> bool {
        let met = {
            let mut conflicts = self.conflicts();
            if conflicts.base.as_ref() != base {
                *conflicts = Conflicts { base: base.cloned(), met: 0 };
            }
            conflicts.met = conflicts.met.saturating_add(1);
            conflicts.met
        };
        if met >= CONFLICTS {
            self.with(|_, status| status.blocked = Some(StoreError::Conflict));
        }
        met == CONFLICTS
    }

    /// Notes the current version of the Lease: conflicts on another version may have been races.
    pub(crate) fn saw(&self, version: Option<&Version>) {
        let is_another = {
            let mut conflicts = self.conflicts();
            let is_another = conflicts.met > 0 && conflicts.base.as_ref() != version;
            if is_another {
                conflicts.met = 0;
            }
            is_another
        };
        if is_another {
            self.with(|_, status| {
                if status.blocked == Some(StoreError::Conflict) {
                    status.blocked = None;
                }
            });
        }
    }

    pub(crate) fn watching(&self, open: bool) {
        self.note_watch(open, None);
    }

    /// `error`: why the watch is not open.
    pub(crate) fn note_watch(&self, open: bool, error: Option<StoreError>) {
        self.with(|_, status| (status.watching, status.unwatched) = (open, error));
    }

    pub(crate) fn lost(&self, loss: &Loss) {
        self.with(|stats, _| {
            let losses = &mut stats.losses;
            let counter = match loss {
                Loss::Expired => &mut losses.expired,
                Loss::TakenOver { .. } => &mut losses.taken_over,
                Loss::Deleted | Loss::Replaced => &mut losses.deleted,
                Loss::Released | Loss::ForeignWrite | Loss::Rewound => &mut losses.foreign_write,
                Loss::Overran => &mut losses.overran,
                Loss::Broken => &mut losses.broken,
                Loss::Finished => return,
            };
            *counter = counter.saturating_add(1);
        });
    }
}

/// Whether every write meets this error, so that a successful read does not clear it.
fn is_lasting(blocked: Option<&StoreError>) -> bool {
    matches!(blocked, Some(StoreError::Altered { .. } | StoreError::Conflict))
}

#[cfg(test)]
mod tests;
