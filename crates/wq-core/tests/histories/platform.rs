//! Platform: how a player waits and dawdles on real threads. The same players play under shuttle, with another of these.

pub(crate) use pollster::block_on;

/// Shifts what the threads do against each other.
pub(crate) fn dawdle(pauses: u64) {
    (0..pauses).for_each(|_| std::hint::spin_loop());
}
