//! `Outcome`: how the work on an item went, said once, at its end.

use std::time::{Duration, Instant};

/// How the work on an item ended; see [`ProcessingGuard::finish`](crate::ProcessingGuard::finish).
///
/// One value in place of client-go's four calls (`NumRequeues`, `Forget`, `AddRateLimited` or `AddAfter`, `Done`).
///
/// | outcome | runs again | the attempt |
/// | --- | --- | --- |
/// | `Success` | when it is added | all are forgotten |
/// | `Retry` | when the limiter says | counts |
/// | `RetryAfter(d)` | after `d` | does not count |
/// | `RetryWith { delay, combine }` | after the shorter, the longer or the sum of `delay` and the limiter's wait, or after `delay` | counts |
/// | `RetryNotBefore(t)` | when the limiter says, `t` at the earliest | counts |
/// | `GiveUp` | when it is added | all are forgotten |
///
/// An attempt that an event brought about before its time does not count: the next that counts is one after
/// the wait that was decided when an attempt counted last. A delay of its own (`RetryWith`) moves the retry
/// all the same, but not that time, so that a failing item gets its back-off under steady events too. A `t`
/// moves both, since attempts before it make no sense.
///
/// An outcome replaces the retry that an earlier outcome has asked for and that still waits: after `Success`
/// or `GiveUp` it does not come, after another retry only that one comes. A retry that falls due during the
/// work runs the item once more, as in client-go. What a user has asked for (`add`, `add_after`,
/// `add_rate_limited`) is never canceled, nor is a retry that has merged with it.
///
/// There is no limit of retries. A worker that gives up compares
/// [`num_requeues`](crate::ProcessingGuard::num_requeues) with its own, and finishes with `GiveUp`.
///
/// After shutdown a retry is refused, and the item [handed back](crate::ProcessingGuard::finish): it counts
/// nothing and replaces nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// It went well: the attempts are forgotten.
    Success,
    /// It failed: it runs again when the limiter says so, and the attempt counts.
    Retry,
    /// It is to run again after this time, whatever the limiter would say. The attempts stay as they are: neither one
    /// more, nor forgotten. A back-off that an event has interrupted is over by then: what fails after this time counts. For a failure that is to count there is [`Combine::Override`].
    RetryAfter(Duration),
    /// It failed, and knows a delay of its own, for example one that a server asked for: that and the limiter's are
    /// combined, and the attempt counts.
    RetryWith {
        /// The delay of its own.
        delay: Duration,
        /// What is made of the two.
        combine: Combine,
    },
    /// It failed, and it makes no sense to try before this instant: as [`Retry`](Self::Retry), but not before.
    /// What a user has asked for comes when it was asked for.
    RetryNotBefore(Instant),
    /// It failed, and is not to be tried again until somebody adds it. The attempts are forgotten.
    GiveUp,
}

/// What is made of a delay that the caller names and the one that the limiter says.
///
/// If an event brought the item back before its time, the limiter has nothing new to say, and what was left of its wait
/// stands for it; [`Sum`](Self::Sum) then is as [`Max`](Self::Max), so that events cannot add wait to wait. (An
/// [`Outcome`] counts both from its own end, and forgets what earlier ones have asked for.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Combine {
    /// The shorter of the two, as controller-runtime's priority queue does. The limiter's count goes up all the same.
    Min,
    /// The longer of the two.
    Max,
    /// Both, one after the other.
    Sum,
    /// The caller's alone: after exactly that time, as after a server's `Retry-After`. The limiter is asked all the same: the
    /// attempt counts, and a bucket gives a token away.
    Override,
}
