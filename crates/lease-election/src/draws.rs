//! Draws: reproducible random numbers from a seed, and waits made of them.

use std::time::Duration;

/// The next number of a splitmix64 sequence (Steele, Lea, Flood 2014).
pub(crate) fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A part of `whole`, less than all of it, chosen by `draw`.
pub(crate) fn fraction(whole: Duration, draw: u64) -> Duration {
    let nanos = whole.as_nanos().saturating_mul(u128::from(draw % 1024)) / 1024;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
