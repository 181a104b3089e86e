//! `Outcome`: how the work on an item ended.

use std::time::{Duration, Instant};

/// How the work on an item ended; see [`ProcessingGuard::finish`](crate::ProcessingGuard::finish).
///
/// It replaces client-go's `NumRequeues`, `Forget`, `AddRateLimited`, `AddAfter` and `Done`.
///
/// | outcome | runs again | attempts |
/// | --- | --- | --- |
/// | `Success` | when it is added | forgotten |
/// | `Retry` | after the limiter's wait | one more |
/// | `RetryAfter(d)` | after `d` | unchanged |
/// | `RetryWith { delay, combine }` | after both, [combined](Combine) | one more |
/// | `RetryNotBefore(t)` | after the limiter's wait, not before `t` | one more |
/// | `GiveUp` | when it is added | forgotten |
///
/// - An attempt that ends before the back-off does not count: an event has started it. Its outcome
///   can move the retry, but only `RetryNotBefore` puts off the time from which failures count.
/// - An outcome cancels or replaces the retry of an earlier outcome. A retry that falls due during
///   the work runs the item once more, as in client-go.
/// - No outcome cancels a user's request (`add`, `add_after`, `add_rate_limited`), or a retry that
///   has merged with one.
/// - The queue has no retry limit. A worker compares
///   [`num_requeues`](crate::ProcessingGuard::num_requeues) with its own limit and finishes with
///   `GiveUp`.
/// - After shutdown a retry is refused, and [`finish`](crate::ProcessingGuard::finish) returns the
///   item. The refused retry counts nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// The work succeeded.
    Success,
    /// The work failed.
    Retry,
    /// The item runs again after this delay, and a failure after it counts. Use
    /// [`Combine::Override`] for an attempt that counts.
    RetryAfter(Duration),
    /// The work failed, with a delay of its own, such as a server's `Retry-After`.
    RetryWith {
        /// The caller's delay.
        delay: Duration,
        /// How it is combined with the limiter's wait.
        combine: Combine,
    },
    /// The work failed, and a retry before this instant is useless. Holds for this retry alone.
    RetryNotBefore(Instant),
    /// The work failed and is not retried.
    GiveUp,
}

/// How a caller's delay and the limiter's wait are combined.
///
/// For an attempt before its time, the rest of the last wait takes the place of the limiter's.
/// [`Sum`](Self::Sum) is then as [`Max`](Self::Max), so that events cannot add wait to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Combine {
    /// The shorter of the two, as in controller-runtime's priority queue. The attempt counts.
    Min,
    /// The longer of the two.
    Max,
    /// The sum of the two.
    Sum,
    /// The caller's delay alone. The attempt counts, and takes a token of a bucket.
    Override,
}
