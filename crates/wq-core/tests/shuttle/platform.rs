//! Platform: how a player of histories waits under shuttle.

pub(crate) use shuttle::future::block_on;

/// The scheduler varies how the calls of the threads interleave.
pub(crate) fn dawdle(_pauses: u64) {}
