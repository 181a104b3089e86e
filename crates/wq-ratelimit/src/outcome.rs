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
/// | `Park` | when it is added or [released](crate::RateLimitingQueue::release) | stays as it is |
/// | `GiveUp` | when it is added | all are forgotten |
///
/// What counts an attempt is parked instead once the builder's [`retry_limit`](crate::Builder::retry_limit) is reached. An
/// attempt that an event brought about before its time does not count: the next that counts is one after the wait that was
/// decided when an attempt counted last. A delay of its own (`RetryWith`) moves the retry all the same, but not that
/// time, so that a failing item gets its back-off under steady events too; a `t` moves both, since attempts before it make
/// no sense. One whose retry is taken out of the queue (`cancel`, `remove`), and one that is parked, has no back-off any more: also
/// where it is in hand, unless its guard [cancels](crate::ProcessingGuard::cancel).
///
/// A retry that an earlier outcome has asked for, and that waits still because an event brought the item here, is replaced by
/// what this one says: it does not come out after `Success`, `Park` or `GiveUp`, nor before `d` or `t`. That also goes for one
/// that fell due during the work, whoever has seen that. What a user has asked for (`add`, `add_after`, `add_rate_limited`) is
/// never taken back, nor a retry that it has joined.
///
/// After shutdown a retry is refused, and the item [handed back](crate::ProcessingGuard::finish), whichever outcome asks for it: it
/// counts nothing and replaces nothing, so that one which fell due before is still handed out. `Success`, `GiveUp` and `Park`
/// mean what they mean before. (A retry that meets the shutdown at this very moment may be refused after it has replaced an
/// earlier one.)
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
    /// It failed, and it makes no sense to try before this instant: as [`Retry`](Self::Retry), but not before. What waits of
    /// the item already, also for a user, waits so long too; only an add without a delay brings it back earlier.
    RetryNotBefore(Instant),
    /// It failed, and nothing will change by itself: it waits, [listed](crate::RateLimitingQueue::parked), for the next add
    /// or to be [released](crate::RateLimitingQueue::release), however long that takes. The attempts stay as they are.
    Park,
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
