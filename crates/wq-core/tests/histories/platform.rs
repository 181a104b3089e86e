//! Platform: how a player waits and pauses on real threads. Shuttle has another such module for the
//! same players.

pub(crate) use pollster::block_on;

/// Varies how the calls of the threads interleave.
pub(crate) fn dawdle(pauses: u64) {
    (0..pauses).for_each(|_| std::hint::spin_loop());
}
