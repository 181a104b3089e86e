//! `Outcome`: how the work on an item went, said once, at its end.

use std::time::{Duration, Instant};

/// How the work on an item ended; see [`ProcessingGuard::finish`](crate::ProcessingGuard::finish).
///
/// One value in place of client-go's four calls (`NumRequeues`, `Forget`, `AddRateLimited` or `AddAfter`, `Done`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// It went well: the attempts are forgotten.
    Success,
    /// It failed: it runs again when the limiter says so, and the attempt counts.
    Retry,
    /// It is to run again after this time, whatever the limiter would say. The attempts stay as they are: neither one
    /// more, nor forgotten.
    RetryAfter(Duration),
    /// It failed, and it makes no sense to try before this instant: as [`Retry`](Self::Retry), but not before. What waits of
    /// the item already waits so long too; only an add without a delay brings it back earlier.
    RetryNotBefore(Instant),
    /// It failed, and is not to be tried again until somebody adds it. The attempts are forgotten.
    GiveUp,
}
