//! Platform: how a player of histories waits under shuttle.

pub(crate) use shuttle::future::block_on;

/// The scheduler shifts what the threads do against each other.
pub(crate) fn dawdle(_pauses: u64) {}
