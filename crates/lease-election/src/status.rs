//! Status and Stats: what an elector can tell about itself, and the counters behind it. Plain data
//! out; nothing here decides.

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
    /// Who was last seen to hold the lease, this elector included. For display.
    pub leader: Option<String>,
    /// Why the elector gets nowhere: the last failure, if the last request failed.
    /// [`StoreError::Altered`] stays until a write is stored as it was sent. So does
    /// [`StoreError::Conflict`], which is here when writes on one and the same version met one
    /// again and again (a quota, admission; a race that is lost is none), and goes too when
    /// another version is seen. (As text it is cut to 256 bytes, with control characters escaped.)
    pub blocked: Option<StoreError>,
    /// Whether it is kept from leading ([`Maintenance`](crate::Maintenance)).
    pub maintenance: bool,
    /// Whether it is not ready to lead yet
    /// ([`LeaderElector::warm_up`](crate::LeaderElector::warm_up)).
    pub warming_up: bool,
    /// Whether the watch is open; without it the elector polls.
    pub watching: bool,
    /// Why the watch ended or did not open the last time, if by an error; `None` while it is open.
    pub unwatched: Option<StoreError>,
    /// How the candidate of a coordinated election stands with the server; `None` in any other.
    #[cfg(feature = "coordinated")]
    pub candidacy: Option<Candidacy>,
}

/// Failed requests by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Failures {
    /// The lease had changed, or existed already; or a write of two stores made what was left of
    /// an earlier one, which a read tells.
    pub conflict: u64,
    /// The server said no: permissions, validation, no such namespace.
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
    /// Somebody wrote the lease who should not: emptied it, changed it, or set the server back.
    pub foreign_write: u64,
    /// The work took longer to stop than the drain time-out.
    pub overran: u64,
    /// The store or the clock panicked, or the runtime went away.
    pub broken: u64,
}

/// Counters since the elector was made. They never go back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Terms begun.
    pub terms: u64,
    /// Terms that ended otherwise than by the end of their work.
    pub losses: Losses,
    /// Renewals that succeeded.
    pub renewals: u64,
    /// How long they took, each from before it was sent to its answer. (One whose answer was lost
    /// is known to have succeeded, and not how long it took.)
    pub renew_latency: Latency,
    /// How long the lease had been anybody's, as far as this elector saw (given back, run out,
    /// missing), or granted to it, when it led. The random wait before a take-over is part of
    /// it.
    pub take_over_latency: Latency,
    /// How long work took to end that was asked to, of that which did so within the drain time-out
    /// and before its term was lost. (Not of work that asked for the end itself, and ended
    /// with that.)
    pub drain_latency: Latency,
    /// Reads of the lease.
    pub reads: u64,
    /// Writes that failed (`leader_election_slowpath_total`): client-go reads the lease after
    /// each, this elector where a read can tell more.
    #[doc(alias = "leader_election_slowpath_total")]
    pub slow_path: u64,
    /// Failed requests while leading.
    pub renew_failures: Failures,
    /// Failed requests while not leading.
    pub acquire_failures: Failures,
    /// Changes of the holder seen.
    pub transitions: u64,
    /// Leases given back.
    pub releases: u64,
    /// Leases that could not be given back in time.
    pub failed_releases: u64,
    /// Times the watch was opened.
    pub watches: u64,
    /// Times that whoever keeps up the LeaseCandidate of a coordinated election panicked, or ended
    /// with its runtime.
    pub publisher_failures: u64,
}

#[cfg(feature = "prometheus")]
impl Stats {
    /// The sums of both.
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
        // Taken apart, so that a counter which is added later cannot be forgotten here.
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

/// So many conflicts on one version of the Lease are no races: who loses one finds another version.
const CONFLICTS: u32 = 3;

/// The version on condition of which the last writes were sent that met a conflict, `None` for no
/// Lease, and how many in a row.
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

    /// The status but for `leading`, `leader`, `maintenance` and `warming_up`, which are not kept
    /// here.
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

    /// A term begins on a lease that had been anybody's for so long.
    pub(crate) fn took_over(&self, vacant_for: Duration) {
        self.with(|stats, _| {
            stats.terms = stats.terms.saturating_add(1);
            stats.take_over_latency.note(vacant_for);
        });
    }

    pub(crate) fn drained(&self, took: Duration) {
        self.with(|stats, _| stats.drain_latency.note(took));
    }

    /// Counts a failure. Whether it is the first of a server that alters records.
    pub(crate) fn failed(&self, leading: bool, error: &StoreError) -> bool {
        self.with(|stats, status| {
            let failures =
                if leading { &mut stats.renew_failures } else { &mut stats.acquire_failures };
            failures.count(error);
            let altered = matches!(status.blocked, Some(StoreError::Altered { .. }));
            let alters = matches!(error, StoreError::Altered { .. });
            // A lost race is the other's success, not a fault; and what is wrong with every write
            // is more than a failure.
            if *error != StoreError::Conflict && (alters || !is_lasting(status.blocked.as_ref())) {
                status.blocked = Some(error.clone());
            }
            alters && !altered
        })
    }

    /// A request succeeded; `written`: it was a write.
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

    /// A write on condition of this version met a conflict. Whether it is the first that says that
    /// none will be taken.
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

    /// This version of the Lease is what there is: conflicts on another may have been races.
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

    /// And why not, if by an error.
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

/// Whether it is wrong with the writes, and no read that succeeds says that it is mended.
fn is_lasting(blocked: Option<&StoreError>) -> bool {
    matches!(blocked, Some(StoreError::Altered { .. } | StoreError::Conflict))
}

#[cfg(test)]
mod tests;
